import { describe, expect, it } from "vitest";
import type { LoadResult } from "./load-result.ts";
import { boundOf, measure } from "./measure.ts";

const SHAPE = { limit: 70, periodMs: 1000, burst: 20 };
const DECISIONS = {
  count: 4000,
  degraded: 3,
  sources: { store: 3997, backstop: 3 },
  time: { p50Ms: 0.4, p99Ms: 1.2, maxMs: 3 },
};

function load(change: Partial<LoadResult> = {}): LoadResult {
  return {
    offered: 4000,
    statuses: { 200: 720, 429: 3280 },
    failures: {},
    spanMs: 10_000,
    admittedPerSecond: [90, 70],
    offeredPerSecond: [400, 400],
    admittedPerWorker: { 12: 400, 11: 320 },
    answersPerWorker: { 11: 2000, 12: 2000 },
    latency: { p50Ms: 1.5, p99Ms: 6, maxMs: 20 },
    scheduleError: { p50Ms: 0.5, p99Ms: 2, maxMs: 5 },
    decisions: DECISIONS,
    outage: undefined,
    ...change,
  };
}

const CALLS = { total: 1000, perSecond: [500, 500.4567] };

describe("boundOf", () => {
  it("is burst + rate x time for any period", () => {
    expect(boundOf(SHAPE, 10_000)).toBe(720);
    expect(boundOf({ limit: 30, periodMs: 60_000, burst: 5 }, 10_000)).toBe(10);
  });
});

describe("measure", () => {
  it("counts admissions at the load generator and compares them with the bound", () => {
    expect(measure("exact", SHAPE, ["11", "12"], load(), CALLS)).toMatchObject({
      mode: "exact",
      offered: 4000,
      admitted: 720,
      refused: 3280,
      bound: 720,
      ratio: 1,
      storeCalls: 1000,
      callsPerDecision: 0.25,
      degraded: 3,
      decisionP99Ms: 1.2,
      requestP50Ms: 1.5,
      requestP99Ms: 6,
      storeCallsPerSecond: [500, 500.457],
      sources: { store: 3997, backstop: 3 },
      outage: null,
    });
  });

  it("lists workers in their own order, with 0 for one that admitted nothing", () => {
    expect(measure("exact", SHAPE, ["11", "12", "13"], load(), CALLS).perWorker).toEqual([320, 400, 0]);
  });

  it("takes every answer but 200 and 429 for a failure, together with requests that got none", () => {
    const odd = load({ statuses: { 200: 1, 429: 2, 500: 3 }, failures: { ECONNRESET: 4 } });
    expect(measure("exact", SHAPE, [], odd, CALLS).failures).toEqual({ 500: 3, ECONNRESET: 4 });
  });

  it("has no calls per decision without decisions", () => {
    const none = load({ decisions: { ...DECISIONS, count: 0 } });
    expect(measure("exact", SHAPE, [], none, CALLS).callsPerDecision).toBe(0);
  });

  it("lists when each worker was away from the store, and what that allows", () => {
    const outage = {
      fromMs: 4000,
      toMs: 7000,
      offered: 1200,
      admitted: 215,
      degraded: 1190,
      decisionTime: { p50Ms: 0.04, p99Ms: 0.5, maxMs: 1 },
      away: { 12: { fromMs: 4001, toMs: 7500 }, 11: { fromMs: 4000, toMs: 7000 } },
    };
    expect(measure("outage", SHAPE, ["11", "12", "13"], load({ outage }), CALLS).outage).toEqual({
      fromSecond: 4,
      toSecond: 7,
      offered: 1200,
      admitted: 215,
      degraded: 1190,
      decisionP50Ms: 0.04,
      decisionP99Ms: 0.5,
      awayPerWorker: [{ fromMs: 4000, toMs: 7000 }, { fromMs: 4001, toMs: 7500 }, null],
    });
  });
});
