import { constants, setPriority } from "node:os";
import { poissonArrivals } from "./arrivals.ts";
import type { FromGenerator, LoadPlan, ToGenerator } from "./generator-messages.ts";
import type { LoadTally } from "./load-result.ts";
import { prepareRequest } from "./one-request.ts";
import { runOneByOne, runOpenLoop } from "./open-loop.ts";
import { leaveSignalsToPrimary } from "./signals.ts";

const PROGRESS_EVERY_MS = 200;

/** The load generator: a process of its own, so that the servers' work does not delay what it sends. */
function main(): void {
  leaveSignalsToPrimary();
  preferThisProcess();
  process.on("disconnect", () => process.exit());
  process.on("message", (message: ToGenerator) => {
    const work = message.type === "warm" ? warm(message.url, message.apiKey, message.count) : run(message.plan);
    work.catch((error: unknown) => {
      send({ type: "failed", message: error instanceof Error ? error.message : String(error) });
    });
  });
}

/** It works little and must do it on time. Only some users may ask for that, so it is no more than an attempt. */
function preferThisProcess(): void {
  try {
    setPriority(constants.priority.PRIORITY_HIGH);
  } catch {
    // It then runs late when the machine is busy, and reports so.
  }
}

async function warm(url: string, apiKey: string, count: number): Promise<void> {
  const answersPerWorker: Record<string, number> = {};
  for (const { worker } of await runOneByOne(prepareRequest(new URL(url), { "x-api-key": apiKey }), count))
    answersPerWorker[worker] = (answersPerWorker[worker] ?? 0) + 1;
  send({ type: "warmed", answersPerWorker });
}

async function run(plan: LoadPlan): Promise<void> {
  const dueMs = poissonArrivals(plan.seed, plan.ratePerSecond, plan.seconds);
  const request = prepareRequest(new URL(plan.url), { "x-api-key": plan.apiKey });
  let current: LoadTally | undefined;
  let startMs = 0;
  const timer = setInterval(() => {
    if (current === undefined) return;
    const elapsedMs = performance.now() - startMs;
    send({ type: "progress", progress: { elapsedMs, offered: current.offered, admitted: current.admitted } });
  }, PROGRESS_EVERY_MS);
  try {
    const tally = await runOpenLoop(request, dueMs, plan.seconds, (started) => {
      current = started;
      startMs = performance.now();
      send({ type: "started" });
    });
    send({ type: "finished", result: tally.result() });
  } finally {
    clearInterval(timer);
  }
}

function send(message: FromGenerator): void {
  process.send?.(message);
}

main();
