import { type DemoStore, freshName, openDemoStore } from "./demo-store.ts";
import { GeneratorProcess } from "./generator-process.ts";
import { RedisCallCounter } from "./redis-calls.ts";
import type { DemoParts, Opening } from "./run-demo.ts";
import { directRoute, openBreakableRoute, type StoreRoute } from "./store-route.ts";
import { WorkerFleet } from "./worker-fleet.ts";

/** Opens what the demo runs on here: Redis where a mode needs it, the load generator, and `node:cluster` workers. */
export async function openWorkers(opening: Opening): Promise<DemoParts> {
  const { options, progress, signal, onClose, onLost } = opening;
  const store = opening.modes.some((mode) => mode.needsRedis) ? await openStore(opening) : undefined;
  signal.throwIfAborted();
  const counter = store === undefined ? undefined : await RedisCallCounter.connect(store.url, onLost);
  if (counter !== undefined) onClose(async () => counter.close());
  const routes = store === undefined ? new Map<string, StoreRoute>() : await openRoutes(opening, store.url);
  const generator = new GeneratorProcess(signal, onLost);
  onClose(() => generator.stop());
  progress.say(`starting ${options.workers} workers`);
  const settings = {
    modes: options.modes,
    policy: { name: "demo", limit: options.limit, period: options.periodMs, burst: options.burst },
    workers: options.workers,
    prefix: `spillway-demo:${freshName()}`,
    redisUrls: Object.fromEntries([...routes].map(([mode, route]) => [mode, route.url])),
  };
  const fleet = await WorkerFleet.start(settings, signal, onLost);
  onClose(() => fleet.stop());
  return { fleet, generator, counter, store, routes };
}

async function openStore({ progress, onClose }: Opening): Promise<DemoStore> {
  progress.say("opening Redis");
  const store = await openDemoStore((line) => progress.note(line));
  onClose(() => store.close());
  return store;
}

async function openRoutes({ modes, onClose }: Opening, storeUrl: string): Promise<Map<string, StoreRoute>> {
  const routes = new Map<string, StoreRoute>();
  for (const { name, needsRedis, outage } of modes) {
    if (!needsRedis) continue;
    const route = outage === undefined ? directRoute(storeUrl) : await openBreakableRoute(storeUrl, outage);
    onClose(() => route.close());
    routes.set(name, route);
  }
  return routes;
}
