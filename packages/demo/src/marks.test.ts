import { describe, expect, it } from "vitest";
import { answeredMark, isUnfair, judgeLease, judgePerProcess, judgeShared } from "./marks.ts";
import { figures } from "./test-support.ts";

const SHAPE = { limit: 70, periodMs: 1000, burst: 20 };

const JUDGING = { shape: SHAPE, workers: 4, offeredPerSecond: 400, seconds: 10, earlier: [] };

describe("a shared limit", () => {
  it.each([
    [720, true],
    [721, false],
    [713, true],
    [712, false],
  ])("that admitted %i of a bound of 720 holds: %s", (admitted, holds) => {
    const marks = judgeShared(figures({ admitted }), JUDGING);
    expect(marks).toHaveLength(2);
    expect(marks.every((mark) => mark.held)).toBe(holds);
  });

  it("may stay 3 below a small bound, though that is more than 1 %", () => {
    const small = (admitted: number) => judgeShared(figures({ admitted, bound: 100 }), JUDGING);
    expect(small(97).every((mark) => mark.held)).toBe(true);
    expect(small(96).every((mark) => mark.held)).toBe(false);
  });

  it("need not be used up by a demand that is not clearly above it", () => {
    const marks = judgeShared(figures({ admitted: 400 }), { ...JUDGING, offeredPerSecond: 86 });
    expect(marks.map((mark) => mark.held)).toEqual([true]);
  });
});

describe("leases", () => {
  const exact = figures({ mode: "exact", callsPerDecision: 0.3 });
  const texts = (change: Parameters<typeof figures>[0], earlier = [exact], judging = {}) =>
    judgeLease(figures(change), { ...JUDGING, earlier, ...judging }).map(({ held, text }) => `${held} ${text}`);

  it("must hold what a shared limit holds, and need fewer calls than exact", () => {
    expect(texts({ callsPerDecision: 0.29 })).toEqual([
      expect.stringMatching(/^true admitted 720, never above/),
      expect.stringMatching(/^true admitted 720, at least/),
      "true 0.29 calls per decision, fewer than the 0.3 of exact",
    ]);
    expect(texts({ callsPerDecision: 0.3 }).at(-1)).toMatch(/^false 0.3 calls/);
    expect(texts({ admitted: 721 })[0]).toMatch(/^false/);
  });

  it("are compared with nothing when exact did not run, or ran on a machine too busy", () => {
    expect(texts({ callsPerDecision: 0.5 }, [])).toHaveLength(2);
    expect(texts({ callsPerDecision: 0.5 }, [figures({ mode: "exact", requestP99Ms: 101 })])).toHaveLength(2);
  });

  it.each([
    ["4000/s of a limit of 5000/s", 4000, { limit: 5000, periodMs: 1000, burst: 1000 }, true],
    ["less than 40 decisions a lease", 3000, { limit: 5000, periodMs: 1000, burst: 1000 }, false],
    ["less than 40 tokens a lease", 4000, { limit: 3000, periodMs: 1000, burst: 1000 }, false],
    ["a burst that fills faster than a lease drains", 4000, { limit: 5000, periodMs: 1000, burst: 400 }, false],
  ])("may need at most 0.05 calls where they are large: %s", (_title, offeredPerSecond, shape, isJudged) => {
    const run = { bound: 51_000, admitted: 50_990 };
    const few = texts({ ...run, callsPerDecision: 0.05 }, [], { shape, offeredPerSecond });
    const many = texts({ ...run, callsPerDecision: 0.051 }, [], { shape, offeredPerSecond });
    expect(few.filter((text) => text.includes("leases are large"))).toHaveLength(isJudged ? 1 : 0);
    expect(many.some((text) => text.startsWith("false"))).toBe(isJudged);
    expect(few.some((text) => text.startsWith("false"))).toBe(false);
  });
});

describe("workers that count alone", () => {
  it.each([
    [2736, true],
    [2735, false],
    [2880, true],
    [2881, false],
  ])("and admit %i with a bound of 720 show the leak: %s", (admitted, shown) => {
    const marks = judgePerProcess(figures({ admitted }), JUDGING);
    expect(marks.every((mark) => mark.held)).toBe(shown);
  });

  it("are judged by what was to be offered, however long a busy machine took over it", () => {
    const late = figures({ admitted: 900, offered: 3000, spanMs: 15_000 });
    expect(judgePerProcess(late, JUDGING).map((mark) => mark.held)).toContain(false);
  });

  it("are not judged when the demand could not fill all their buckets", () => {
    expect(judgePerProcess(figures({ admitted: 900 }), { ...JUDGING, offeredPerSecond: 345 })).toEqual([]);
  });
});

describe("the mark that every request was answered", () => {
  it("names what came instead", () => {
    expect(answeredMark(figures({})).held).toBe(true);
    const mark = answeredMark(figures({ failures: { 500: 2, ECONNRESET: 1 } }));
    expect(mark.held).toBe(false);
    expect(mark.text).toContain("2 x 500, 1 x ECONNRESET");
  });
});

describe("isUnfair", () => {
  const late = { p50Ms: 1, p99Ms: 11, maxMs: 20 };
  const judged = (change: Parameters<typeof figures>[0]) => {
    const run = figures(change);
    return isUnfair(run, [answeredMark(run), ...judgeShared(run, JUDGING)]);
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
