import { describe, expect, it } from "vitest";
import { answeredMark, isUnfair, judgePerProcess, judgeShared } from "./marks.ts";
import type { RunFigures } from "./measure.ts";

const SHAPE = { limit: 70, periodMs: 1000, burst: 20 };

function run(change: Partial<RunFigures>): RunFigures {
  const bound = 720;
  const admitted = change.admitted ?? bound;
  return {
    mode: "any",
    offered: 4000,
    admitted,
    refused: 4000 - admitted,
    failures: {},
    bound,
    ratio: admitted / bound,
    spanMs: 10_000,
    storeCalls: 0,
    callsPerDecision: 0,
    perWorker: [],
    decisionP50Ms: 0,
    decisionP99Ms: 0,
    requestP50Ms: 0,
    requestP99Ms: 0,
    degraded: 0,
    offeredPerSecond: [],
    admittedPerSecond: [],
    storeCallsPerSecond: [],
    scheduleError: { p50Ms: 0, p99Ms: 0, maxMs: 0 },
    ...change,
  };
}

describe("a shared limit", () => {
  it.each([
    [720, true],
    [721, false],
    [713, true],
    [712, false],
  ])("that admitted %i of a bound of 720 holds: %s", (admitted, holds) => {
    const marks = judgeShared(run({ admitted }), SHAPE, 4);
    expect(marks).toHaveLength(2);
    expect(marks.every((mark) => mark.held)).toBe(holds);
  });

  it("may stay 3 below a small bound, though that is more than 1 %", () => {
    const small = (admitted: number) => judgeShared(run({ admitted, bound: 100 }), SHAPE, 4);
    expect(small(97).every((mark) => mark.held)).toBe(true);
    expect(small(96).every((mark) => mark.held)).toBe(false);
  });

  it("need not be used up by a demand that is not clearly above it", () => {
    const marks = judgeShared(run({ admitted: 400, offered: 800 }), SHAPE, 4);
    expect(marks.map((mark) => mark.held)).toEqual([true]);
  });
});

describe("workers that count alone", () => {
  it.each([
    [2736, true],
    [2735, false],
    [2880, true],
    [2881, false],
  ])("and admit %i with a bound of 720 show the leak: %s", (admitted, shown) => {
    const marks = judgePerProcess(run({ admitted }), SHAPE, 4);
    expect(marks.every((mark) => mark.held)).toBe(shown);
  });

  it("are not judged when the demand could not fill all their buckets", () => {
    expect(judgePerProcess(run({ admitted: 900, offered: 3000 }), SHAPE, 4)).toEqual([]);
  });
});

describe("the mark that every request was answered", () => {
  it("names what came instead", () => {
    expect(answeredMark(run({})).held).toBe(true);
    const mark = answeredMark(run({ failures: { 500: 2, ECONNRESET: 1 } }));
    expect(mark.held).toBe(false);
    expect(mark.text).toContain("2 x 500, 1 x ECONNRESET");
  });
});

describe("isUnfair", () => {
  const late = { p50Ms: 1, p99Ms: 11, maxMs: 20 };
  const judged = (change: Partial<RunFigures>) => {
    const figures = run(change);
    return isUnfair(figures, [answeredMark(figures), ...judgeShared(figures, SHAPE, 4)]);
  };

  it("excuses a missed floor when requests left late or answers came late, and only then", () => {
    expect(judged({ admitted: 700, scheduleError: late })).toBe(true);
    expect(judged({ admitted: 700, requestP99Ms: 101 })).toBe(true);
    expect(judged({ admitted: 700 })).toBe(false);
    expect(judged({ admitted: 720, scheduleError: late })).toBe(false);
  });

  it("never excuses an admission above the bound, nor a request without an answer", () => {
    expect(judged({ admitted: 721, scheduleError: late })).toBe(false);
    expect(judged({ admitted: 700, scheduleError: late, failures: { ECONNRESET: 1 } })).toBe(false);
  });
});
