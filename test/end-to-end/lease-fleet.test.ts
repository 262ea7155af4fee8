import type { LimiterStats } from "spillway";
import { describe, expect, it } from "vitest";
import { FLUSHED_SCRIPTS, STOPPED_REDIS, STOPPED_WORKERS } from "../fleet/fleet-faults.ts";
import { type FleetMarks, rowOf, shortfallsOf } from "../fleet/fleet-row.ts";
import { type FleetPlan, type FleetRun, type FleetWorkerReport, playFleet } from "../fleet/fleet-run.ts";

/** `npm run chaos` asks for more, of longer runs. */
const CALM: FleetMarks = { used: 0.97, callsPerDecision: 0.08 };
const UNDER_FAULTS: FleetMarks = { used: 0.85, callsPerDecision: 0.08 };
const SEED = 20_240_611;

describe("four processes that share one limit by leases", () => {
  it("go nowhere over it, waste little of it and make few calls", async () => {
    await expectHeld({ workload: "uniform 2r", seconds: 3, seed: SEED }, CALM);
  });

  it("do so while they themselves are stopped, scripts are forgotten and the load moves", async () => {
    const faults = [STOPPED_WORKERS, FLUSHED_SCRIPTS];
    await expectHeld({ workload: "moving hot spot", seconds: 4, seed: SEED, faults }, UNDER_FAULTS);
  });

  it("do so while Redis is stopped now and then, too", async () => {
    const faults = [STOPPED_REDIS, STOPPED_WORKERS, FLUSHED_SCRIPTS];
    await expectHeld({ workload: "uniform 2r", seconds: 4, seed: SEED, faults }, UNDER_FAULTS);
  });

  it.each(["one hot", "moving hot spot"] as const)(
    "do so where Redis is stopped each second, of a load: %s",
    async (workload) => {
      await expectHeld({ workload, seconds: 4, seed: SEED, faults: [STOPPED_REDIS] }, UNDER_FAULTS);
    },
  );

  it("are told from four with a limit each", async () => {
    const row = rowOf(await playFleet({ workload: "uniform 2r", seconds: 1, seed: SEED, apart: true }), CALM);
    // All of 4,000 go in, where one limit lets in 400 and 2,000 a second.
    expect(row.over).toBeGreaterThan(400);
    expect(row.broken).toContainEqual(expect.stringMatching(/tokens over by the store and its leases$/));
  });
});

async function expectHeld(plan: FleetPlan, marks: FleetMarks): Promise<void> {
  const row = rowOf(await playFleet(plan), marks);
  if (row.noise !== undefined) console.info(`${row.name}: ${row.noise}; held to the bound alone.`);
  expect(shortfallsOf(row)).toEqual([]);
}

describe("the judge of a fleet", () => {
  it("finds one token too many, wherever it came from", () => {
    const leasedMs = Array(300).fill(1_000);
    const served = Array(100).fill(1_000);
    expect(judged([{ leasedMs }, { served }])).toMatchObject({ over: 0, overByStore: 0, broken: [] });
    expect(judged([{ leasedMs }, { served: [...served, 1_000] }])).toMatchObject({ over: 1, overByStore: 1 });
    expect(judged([{ leasedMs }, { served }, { aloneMs: [1_000] }])).toMatchObject({
      over: 1,
      overByStore: 0,
      broken: [],
    });
    expect(judged([{ aloneMs: Array(401).fill(1_000) }])).toMatchObject({ overAlone: 1 });
  });

  it("puts what the server tells on the clock of the machine, and allows for what it does not know of it", () => {
    const leasedMs = Array(400).fill(1_000);
    // Two tokens come in in a millisecond.
    expect(judged([{ leasedMs }, { served: [1_000.5] }]).over).toBe(0);
    expect(judged([{ leasedMs }, { served: [1_000.4] }]).over).toBeCloseTo(0.2, 6);
    expect(judged([{ leasedMs }, { served: [1_000.4] }], 0.06)).toMatchObject({
      over: 0,
      doubt: expect.closeTo(0.244, 6),
    });
  });

  it("measures what is used by what one bucket would let in of the same asks, but for those to a silent store", () => {
    const askedMs = Array.from({ length: 4_001 }, (_, ms) => ms / 4);
    const leasedMs = askedMs.slice(0, 1_200);
    const { used, asked } = judged([{ askedMs, leasedMs }]);
    expect([used, asked]).toEqual([expect.closeTo(1_200 / 2_400, 3), expect.closeTo(1, 3)]);
    // A bucket that nobody asks for 0.3 s is full after 0.2 s.
    const silent = judged([{ askedMs, leasedMs }], 0, [{ fromMs: 500, toMs: 800 }]);
    expect([silent.used, silent.asked]).toEqual([expect.closeTo(1_200 / 2_200, 2), expect.closeTo(2_200 / 2_400, 2)]);
  });

  it("holds a run to its marks only where the machine let it run", () => {
    const short = { askedMs: Array.from({ length: 4_001 }, (_, ms) => ms / 4) };
    expect(shortfallsOf(judged([short]))).toEqual(["0.00 % used; the mark is 97.00 %"]);
    expect(shortfallsOf(judged([short], 0, [], { lateMs: 50, idle: 0.5 }))).toEqual([]);
    expect(shortfallsOf(judged([short], 0, [], { lateMs: 1, idle: 0.1 }))).toEqual([]);
    expect(shortfallsOf(judged([{ ...short, wrong: ["crash"] }], 0, [], { lateMs: 50, idle: 0 }))).toEqual(["crash"]);
  });
});

interface Told {
  readonly askedMs?: number[];
  readonly leasedMs?: number[];
  readonly aloneMs?: number[];
  /** On the machine's clock. */
  readonly served?: number[];
  readonly wrong?: string[];
}

/** The row of a run in which the server's clock is a minute ahead. */
function judged(
  told: readonly Told[],
  errorMs = 0,
  silences: FleetRun["silences"] = [],
  machine: FleetRun["machine"] = { lateMs: 1, idle: 0.5 },
): ReturnType<typeof rowOf> {
  const reports = told.map(({ askedMs = [], leasedMs = [], aloneMs = [], served = [], wrong = [] }) => ({
    askedMs: Float64Array.from(askedMs),
    leasedMs: Float64Array.from(leasedMs),
    aloneMs: Float64Array.from(aloneMs),
    servedUs: Float64Array.from(served, (ms) => (ms + 60_000) * 1000),
    unanswered: 0,
    staleReadings: 0,
    wrong,
    stats: { sources: { backstop: 0, open: 0, closed: 0 } } as LimiterStats,
  })) satisfies FleetWorkerReport[];
  const plan: FleetPlan = { workload: "uniform 2r", seconds: 1, seed: 1 };
  return rowOf(
    { plan, reports, silences, machine, clock: { offsetMs: 60_000, errorMs }, scriptCalls: 0, lastingKeys: [] },
    CALM,
  );
}
