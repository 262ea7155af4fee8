import { type ClusterStoreServer, serveClusterStore } from "spillway";
import { type ManualClock, manualClock } from "spillway/testing";
import { afterAll, beforeAll, describe, it } from "vitest";
import type { BucketAddress, Store } from "../../packages/spillway/src/stores/store.ts";
import { type AskableWorker, forkWorker } from "../integration/cluster-workers.ts";
import type { Mood } from "./plans.ts";
import { requireModel, STEPS } from "./run-model.ts";
import { SUITES, setups } from "./setups.ts";
import type { Driver } from "./world.ts";

/** A monotonic clock does not go back, and nothing of another's is in the primary's memory. */
const MOODS: readonly Mood[] = ["busy", "idle"];

let server: ClusterStoreServer;
let worker: AskableWorker;
let clock: ManualClock;
let opened = 0;
beforeAll(async () => {
  clock = manualClock();
  server = serveClusterStore({ clock, maxKeys: 100 });
  worker = await forkWorker();
  await worker.ask("open", { name: "model" });
});
afterAll(async () => {
  worker?.worker.process.kill("SIGKILL");
  await worker?.exited;
  await server?.close();
});

/** The worker's store, with keys that no other run has. */
function storeOfRun(run: number): Store {
  const call = async (method: string, ...args: unknown[]): Promise<never> => {
    const { result, error } = (await worker.ask("call", { name: "model", method, args })) as {
      result?: unknown;
      error?: { message: string };
    };
    if (error !== undefined) throw new Error(error.message);
    return result as never;
  };
  const own = <T extends BucketAddress>(address: T): T => ({ ...address, key: `${run}:${address.key}` });
  return {
    name: "cluster",
    take: ({ buckets, runs }) => call("take", { buckets: buckets.map(own), runs }),
    peek: (addresses) => call("peek", addresses.map(own)),
    adjust: (adjustments) => call("adjust", adjustments.map(own)),
    block: (addresses, durationUs) => call("block", addresses.map(own), durationUs),
    reset: (addresses) => call("reset", addresses.map(own)),
    close: async () => {},
  };
}

function open(): Driver {
  return {
    store: storeOfRun(++opened),
    prefix: "cluster",
    expires: false,
    nowUs: () => Math.round(clock.wallMs() * 1000),
    move: (us) => clock.advance(us / 1000),
  };
}

describe("clusterStore, asked by a worker, equals the model in replies", () => {
  it.each(SUITES)("%s", { timeout: 300_000 }, (name, algorithm, leases) =>
    requireModel({
      name: `cluster store, ${name}`,
      setups: setups(algorithm),
      plans: { leases, moods: MOODS },
      open,
      steps: Math.ceil(STEPS / 4),
    }),
  );
});
