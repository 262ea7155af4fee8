import { describe, expect, it } from "vitest";
import { outageRuns, stallRuns } from "../../bench/simulator/outages.ts";
import { simulate } from "../../bench/simulator/simulation.ts";
import { ShareLedger } from "../../packages/spillway/src/stores/share-ledger.ts";

const BASE = { limitPerSecond: 1000, burst: 200, roundTripMs: 1, lease: { maxDrainMs: 50 } } as const;
const runs = [1, 2].flatMap((seed) => outageRuns({ ...BASE, seed }, false));
const stalls = [1, 2].flatMap((seed) => stallRuns({ ...BASE, seed, seconds: 20 }, false));

/** What must be used of the limit while the store is away, by what the load does. */
function leastUsed(workload: string): number {
  if (workload.startsWith("uniform")) return 0.95;
  // Nobody can be told any more that the load has moved: what follows demand stays where it was.
  if (workload.includes("moves in it")) return 0.3;
  // Two seconds, in which the beats that say so may be lost.
  if (workload.includes("moves 2 s before") && workload.includes("losses")) return 0;
  return workload.includes("losses") ? 0.7 : 0.8;
}

describe("real limiters whose store is away for a while, on a virtual clock", () => {
  it.each(runs.map((run) => ({ ...run, title: `${run.workload.name}, ${run.replicas} processes, seed ${run.seed}` })))(
    "$title: never above the limit, and little of it is wasted",
    async (options) => {
      const ledger = new ShareLedger();
      const result = await simulate(options, (beat, nowMs) => ledger.allot(beat, nowMs));
      expect(result.over).toBe(0);
      expect(result.outage?.used).toBeGreaterThan(leastUsed(options.workload.name));
      if (options.wordFaults === undefined) expect(result.outage?.backMs).toBeLessThan(2500);
    },
  );
});

/** What must be used of the limit, by what the load does and what becomes of calls meanwhile. */
function leastUsedInStalls(workload: string): number {
  if (workload.endsWith("losses")) return 0.4;
  // Who has just got all the load is held to the small share that it had.
  if (workload.includes("at 50")) return 0.6;
  if (workload.includes("at 850")) return 0.9;
  if (workload.endsWith("deaf")) return workload.startsWith("uniform") ? 0.97 : 0.93;
  return 0.98;
}

describe("real limiters whose store stands still 0.2 s of each second, on a virtual clock", () => {
  it.each(stalls.map((run) => ({ ...run, title: `${run.workload.name}, seed ${run.seed}` })))(
    "$title: never above the limit, and little of it is wasted",
    async (options) => {
      const ledger = new ShareLedger();
      const result = await simulate(options, (beat, nowMs) => ledger.allot(beat, nowMs));
      expect(result.over).toBe(0);
      expect(result.utilisation).toBeGreaterThan(leastUsedInStalls(options.workload.name));
    },
  );
});
