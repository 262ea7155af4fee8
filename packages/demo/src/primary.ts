import cluster from "node:cluster";
import { CallSampler } from "./call-counter.ts";
import { ClusterCallCounter } from "./cluster-calls.ts";
import type { DemoParts, Opening } from "./demo-parts.ts";
import { type DemoStore, freshName, openDemoStore } from "./demo-store.ts";
import { GeneratorProcess } from "./generator-process.ts";
import type { Mode } from "./modes.ts";
import type { DemoOptions } from "./options.ts";
import { RedisCallCounter } from "./redis-calls.ts";
import { runnableModes } from "./runnable-modes.ts";
import { directRoute, openBreakableRoute, type StoreRoute } from "./store-route.ts";
import { WorkerFleet } from "./worker-fleet.ts";
import type { FromWorker, WorkerSettings } from "./worker-messages.ts";
import type { StoreAccess } from "./worker-stores.ts";

/** Told what workers say once they serve. Workers count from 0. */
export type OnWorkerMessage = (worker: number, message: FromWorker) => void;

/** Opens what the demo runs on here: a store where a mode shares one, the load generator, and `node:cluster` workers. */
export async function openWorkers(opening: Opening, onMessage?: OnWorkerMessage): Promise<DemoParts> {
  const { options, progress, signal, onClose, onLost } = opening;
  const store = opening.modes.some((mode) => mode.sharesStore) ? await openStore(opening) : undefined;
  signal.throwIfAborted();
  const choice = runnableModes(opening.modes, store);
  const calls = store === undefined ? undefined : new CallSampler(await openCounter(store, onLost));
  if (calls !== undefined) onClose(async () => calls.close());
  const routes = await openRoutes(choice.modes, store, onClose);
  const generator = new GeneratorProcess(signal, onLost);
  onClose(() => generator.stop());
  progress.say(`starting ${options.workers} workers`);
  const fleet = await WorkerFleet.start(settingsOf(options, choice.modes, accessTo(store, routes)), signal, {
    onLost,
    onMessage: (worker, message) => {
      if (message.type === "state" && !signal.aborted) progress.note(describeChange(worker, message.change));
      onMessage?.(worker, message);
    },
  });
  onClose(() => fleet.stop());
  return { fleet, generator, calls, store, routes, choice };
}

/** In words for the user. */
export function describeChange(
  worker: number,
  { mode, state, reason }: Extract<FromWorker, { type: "state" }>["change"],
): string {
  const who = `${mode}: worker ${worker + 1}`;
  return state === "away" ? `${who} decides by its share (${reason})` : `${who} is with the store again`;
}

async function openStore({ options, progress, onClose }: Opening): Promise<DemoStore> {
  progress.say("opening the store");
  const store = await openDemoStore(options.store, (line) => progress.note(line));
  onClose(() => store.close());
  return store;
}

async function openCounter({ url }: DemoStore, onLost: Opening["onLost"]) {
  return url === undefined ? new ClusterCallCounter(cluster) : await RedisCallCounter.connect(url, onLost);
}

async function openRoutes(
  modes: readonly Mode[],
  store: DemoStore | undefined,
  onClose: Opening["onClose"],
): Promise<Map<string, StoreRoute>> {
  const routes = new Map<string, StoreRoute>();
  for (const { name, sharesStore, outage } of modes) {
    if (store?.url === undefined || !sharesStore) continue;
    const route = outage === undefined ? directRoute(store.url) : await openBreakableRoute(store.url, outage);
    onClose(() => route.close());
    routes.set(name, route);
  }
  return routes;
}

function accessTo(store: DemoStore | undefined, routes: ReadonlyMap<string, StoreRoute>): StoreAccess {
  if (store === undefined) return { kind: "none" };
  if (store.url === undefined) return { kind: "embedded" };
  const urls = Object.fromEntries([...routes].map(([mode, route]) => [mode, route.url]));
  return { kind: "redis", urls, prefix: `spillway-demo:${freshName()}` };
}

function settingsOf(options: DemoOptions, modes: readonly Mode[], store: StoreAccess): WorkerSettings {
  const { limit, periodMs, burst, workers, serve } = options;
  return {
    modes: modes.map(({ name }) => name),
    policy: { limit, period: periodMs, burst },
    workers,
    store,
    live: serve,
  };
}
