import type { SimulationOptions } from "./simulation.ts";
import { WORKLOADS, type Workload } from "./workloads.ts";

const FROM_SECOND = 10;
const AFTER_SECONDS = 5;
const WARM_MS = 3000;
/** What goes wrong with beats and reports all the time, and with calls and probes when the store comes back. */
const LOSSES = { lostRequest: 0.05, lostReply: 0.05, doubled: 0.05 };

function find(name: string, as: string, load: number): Workload {
  return { ...(WORKLOADS.find((workload) => workload.name === name) as Workload), name: as, load };
}

/** All have some load at first; then one has it all, and from `atMs` on the next. */
function hotUntil(name: string, atMs: number): Workload {
  return {
    name,
    load: 1.5,
    replicaAt: (nowMs, replicas, random) => (nowMs < WARM_MS ? Math.floor(random() * replicas) : nowMs < atMs ? 0 : 1),
  };
}

/** As a fleet of four real processes is tried: from all alike, from one alone, from another one each second. */
const STALLED_LOADS = ["uniform 2r", "one hot", "moving hot spot"];
const FLEET = { limitPerSecond: 2000, burst: 400, replicas: 4, toldReplicas: 4 };
/** How long after the hot spot has moved the store stands still; after the last of these it moves meanwhile. */
const AFTER_MOVE_MS = [300, 50, 550, 850];
const STILL_MS = 200;

/**
 * Runs in which the store stands still 0.2 s of each second. None in which load moves while what is sent is lost: who has just got
 * it has made too few calls then to know that others left the store alone, as the guarantees state.
 */
export function stallRuns(base: Omit<SimulationOptions, "workload" | "replicas">, quick: boolean): SimulationOptions[] {
  return STALLED_LOADS.flatMap((load) =>
    (quick || !load.startsWith("moving") ? AFTER_MOVE_MS.slice(0, 1) : AFTER_MOVE_MS).flatMap((firstMs) => {
      const stalls = { firstMs: 1000 + firstMs, everyMs: 1000, lastMs: STILL_MS };
      const run = (what: string, more: Partial<SimulationOptions>): SimulationOptions => {
        const name = `${load}, 0.2 s of each still at ${firstMs}${what}`;
        return { ...base, ...FLEET, stalls, workload: find(load, name, 2), ...more };
      };
      if (firstMs + STILL_MS > 1000) return [run("", {})];
      return [
        run("", {}),
        run(", deaf", { stalls: { ...stalls, isDeaf: true } }),
        run(", losses", { faults: LOSSES, stalls: { ...stalls, isDeaf: true } }),
      ];
    }),
  );
}

/** Runs in which the store answers nobody for a while. */
export function outageRuns(
  base: Omit<SimulationOptions, "workload" | "replicas" | "seconds">,
  quick: boolean,
): SimulationOptions[] {
  const runs: SimulationOptions[] = [];
  for (const replicas of quick ? [4] : [4, 8]) {
    for (const lasting of quick ? [5] : [5, 20]) {
      const fromMs = 1000 * FROM_SECOND;
      const outage = { fromMs, toMs: fromMs + 1000 * lasting };
      const seconds = FROM_SECOND + lasting + AFTER_SECONDS;
      const loads = [
        find("uniform 2r", "uniform 2r", 2),
        find("zipf", "zipf 1.5r", 1.5),
        hotUntil("one hot 1.5r", Number.POSITIVE_INFINITY),
        hotUntil("hot spot moves 2 s before", fromMs - 2000),
        hotUntil("hot spot moves in it", fromMs + 500 * lasting),
      ];
      for (const load of loads) {
        const workload = { ...load, name: `${load.name}, outage ${lasting} s` };
        runs.push({ ...base, workload, replicas, seconds, outage });
        const hurt = { ...workload, name: `${workload.name}, losses` };
        runs.push({ ...base, workload: hurt, replicas, seconds, outage, wordFaults: LOSSES, returnFaults: LOSSES });
      }
    }
  }
  return runs;
}
