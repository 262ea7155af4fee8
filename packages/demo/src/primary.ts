import { type DemoStore, freshName, openDemoStore } from "./demo-store.ts";
import { GeneratorProcess } from "./generator-process.ts";
import { RedisCallCounter } from "./redis-calls.ts";
import type { DemoParts, Opening } from "./run-demo.ts";
import { WorkerFleet } from "./worker-fleet.ts";

/** Opens what the demo runs on here: Redis where a mode needs it, the load generator, and `node:cluster` workers. */
export async function openWorkers(opening: Opening): Promise<DemoParts> {
  const { options, progress, signal, onClose, onLost } = opening;
  const store = opening.modes.some((mode) => mode.needsRedis) ? await openStore(opening) : undefined;
  signal.throwIfAborted();
  const counter = store === undefined ? undefined : await RedisCallCounter.connect(store.url, onLost);
  if (counter !== undefined) onClose(async () => counter.close());
  const generator = new GeneratorProcess(signal, onLost);
  onClose(() => generator.stop());
  progress.say(`starting ${options.workers} workers`);
  const settings = {
    modes: options.modes,
    policy: { name: "demo", limit: options.limit, period: options.periodMs, burst: options.burst },
    workers: options.workers,
    prefix: `spillway-demo:${freshName()}`,
    redisUrl: store?.url,
  };
  const fleet = await WorkerFleet.start(settings, signal, onLost);
  onClose(() => fleet.stop());
  return { fleet, generator, counter, store };
}

async function openStore({ progress, onClose }: Opening): Promise<DemoStore> {
  progress.say("opening Redis");
  const store = await openDemoStore((line) => progress.note(line));
  onClose(() => store.close());
  return store;
}
