// A service in a process of its own, told over IPC what to be. It ends with the process that started it.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { ServicePlan, ServiceReply, ServiceRequest, ServiceStats } from "./plan.ts";
import { preferThisProcess } from "./prefer.ts";
import { type RunningService, startService } from "./servers.ts";
import { StallWatch } from "./stall-watch.ts";
import { Worker } from "./worker.ts";

let worker: Worker | undefined;
let service: RunningService | undefined;
let stalls: StallWatch | undefined;

async function perform(request: ServiceRequest): Promise<ServiceReply> {
  switch (request.ask) {
    case "listen":
      return { port: await listen(request.plan) };
    case "slow":
      if (worker !== undefined) worker.slowness = request.factor;
      return {};
    case "stall": {
      const untilMs = performance.now() + request.ms;
      while (performance.now() < untilMs);
      return {};
    }
    case "collect":
      setFlagsFromString("--expose-gc");
      (runInNewContext("gc") as () => void)();
      return {};
    case "stats":
      return { stats: stats() };
  }
}

async function listen(plan: ServicePlan): Promise<number> {
  worker = new Worker(plan.work);
  if (plan.work.kind === "sleep") stalls = new StallWatch();
  service = await startService(plan, worker);
  return service.port;
}

function stats(): ServiceStats {
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed } = process.memoryUsage();
  return {
    ...{ finished: worker?.finished ?? 0, forNobody: worker?.forNobody ?? 0 },
    ...{ waiting: worker?.waiting ?? 0, peakWaiting: worker?.peakWaiting ?? 0 },
    ...{ rssBytes: rss, heapBytes: heapUsed, cpuMs: (user + system) / 1000 },
    stalledMs: stalls?.stalledMs ?? 0,
    admission: service?.admission?.stats(),
  };
}

preferThisProcess();
process.on("message", (request: ServiceRequest) => {
  perform(request).then(
    (reply) => process.send?.(reply),
    (error: unknown) => process.send?.({ error: String(error) } satisfies ServiceReply),
  );
});
process.on("disconnect", () => process.exit());
process.on("SIGINT", () => {}); // The lab's process decides.
