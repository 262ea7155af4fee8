import type { AdmissionOptions } from "@spillway/admission";
import { describe, expect, it } from "vitest";
import { percentile } from "../../bench/experiments/load/load-tally.ts";
import { type FloodPlan, flood } from "../../bench/experiments/load/virtual-flood.ts";

const WORK_MS = 100;
const SLOTS = 8;
/** 80 requests a second. */
const CAPACITY = (SLOTS / WORK_MS) * 1000;

const base = { seconds: 10, workMs: () => WORK_MS, patienceMs: 1000 } satisfies Partial<FloodPlan>;
/** As a service without admission: a semaphore with an endless line. */
const unprotected: AdmissionOptions = {
  ...{ slots: SLOTS, lineMs: Infinity, lineItems: 1_000_000, waitMs: Infinity },
  order: "fifo",
};
const protectedBy = (options: AdmissionOptions): AdmissionOptions => ({ slots: SLOTS, guessMs: WORK_MS, ...options });

/**
 * How many callers a service without protection answers in time: the k-th starts in round ceil(k / slots), and came (k - 1) / rate
 * after the first.
 */
function lastInTime(perSecond: number, patienceMs: number): number {
  let k = 0;
  while (Math.ceil((k + 1) / SLOTS) * WORK_MS - (k * 1000) / perSecond < patienceMs) k++;
  return k;
}

describe("without protection, a flood above capacity leaves next to nothing", () => {
  it.each([
    [120, 216],
    [160, 144],
    [240, 112],
  ])(
    "%s a second: %s answers in time, as the model says, and the service works on for nobody",
    async (perSecond, expected) => {
      const result = await flood({ ...base, admission: unprotected, perSecond });
      expect(lastInTime(perSecond, base.patienceMs)).toBe(expected);
      expect(Math.abs(result.ok - expected)).toBeLessThanOrEqual(SLOTS);
      expect(result.wasted / (result.wasted + result.ok)).toBeGreaterThan(0.8);
      expect(result.left).toBeGreaterThan((perSecond - CAPACITY) * base.seconds * 0.95);
    },
  );

  it("at capacity all is well", async () => {
    const result = await flood({ ...base, admission: unprotected, perSecond: CAPACITY });
    expect([result.ok, result.timedOut]).toEqual([800, 0]);
    expect(percentile(result.okMs, 0.99)).toBeLessThanOrEqual(160);
  });

  it("a line of 2,000 requests is none: a bound in items is no bound in time", async () => {
    const admission: AdmissionOptions = { ...unprotected, lineItems: 2000 };
    const result = await flood({ ...base, admission, perSecond: 240 });
    expect(result.ok).toBeLessThanOrEqual(120);
  });
});

describe("with a line of 200 ms, which is 16 requests", () => {
  it.each([240, 480, 2000])("%s a second: 816 answers, all in time, whatever is offered", async (perSecond) => {
    const result = await flood({ ...base, admission: protectedBy({ lineMs: 200, order: "fifo" }), perSecond });
    expect(Math.abs(result.ok - 816)).toBeLessThanOrEqual(2);
    expect(result).toMatchObject({ timedOut: 0, wasted: 0, peakWaiting: 16 });
    expect(result.ok + result.shed).toBe(result.offered);
    expect(percentile(result.okMs, 0.99)).toBeLessThanOrEqual(WORK_MS + 200 + 10);
  });

  it.each([240, 480])(
    "%s a second in adaptive order: the same goodput, and most answers as if there were no flood",
    async (perSecond) => {
      const result = await flood({ ...base, admission: protectedBy({ lineMs: 200 }), perSecond });
      expect(result.ok).toBeGreaterThanOrEqual(CAPACITY * base.seconds * 0.99);
      expect(result).toMatchObject({ timedOut: 0, wasted: 0 });
      expect(percentile(result.okMs, 0.5)).toBeLessThanOrEqual(1.3 * WORK_MS);
      expect(percentile(result.okMs, 0.99)).toBeLessThanOrEqual(WORK_MS + 150);
    },
  );

  it("learns in the first moments how long work takes, when it guessed wrong", async () => {
    const result = await flood({ ...base, admission: { slots: SLOTS, guessMs: 10, order: "fifo" }, perSecond: 240 });
    expect(result).toMatchObject({ timedOut: 0, wasted: 0 });
    expect(result.ok).toBeGreaterThanOrEqual(800);
  });
});

describe("below capacity, with arrivals at random", () => {
  it.each([
    [0.8, 0.999],
    [0.9, 0.985],
  ])("at %s of it the adaptive order serves nearly all, although the line often stands", async (part, least) => {
    let [served, offered] = [0, 0];
    for (let seed = 1; seed <= 5; seed++) {
      const plan = { ...base, seconds: 30, perSecond: CAPACITY * part, seed };
      const result = await flood({ ...plan, admission: protectedBy({}) });
      served += result.ok;
      offered += result.offered;
    }
    expect(served / offered).toBeGreaterThan(least);
  });
});

describe("a line of 2,000, with rules of its own", () => {
  const huge = (order: AdmissionOptions["order"]): AdmissionOptions => ({
    ...unprotected,
    lineItems: 2000,
    order: order ?? "fifo",
  });

  it("collapses when callers who hang up leave it, and nothing else: each next one is served just too late", async () => {
    const result = await flood({ ...base, admission: huge("fifo"), perSecond: 240, hangsUp: true });
    expect(result.ok).toBeLessThanOrEqual(120);
    expect(result.wasted).toBeGreaterThan(600);
  });

  it("stands when who cannot be served in time is not served", async () => {
    const result = await flood({ ...base, admission: huge("fifo"), perSecond: 240, tellsDeadline: true });
    expect(result.ok).toBeGreaterThanOrEqual(860);
    expect(result).toMatchObject({ timedOut: 0, wasted: 0 });
  });

  it("stands when who came last is served first", async () => {
    expect((await flood({ ...base, admission: huge("lifo"), perSecond: 240 })).ok).toBeGreaterThanOrEqual(840);
  });
});

describe("work that gets four times slower, offered 0.8 of the capacity before", () => {
  const slowdown: Omit<FloodPlan, "admission"> = {
    ...{ perSecond: 64, seconds: 8, patienceMs: 1000 },
    workMs: (nowMs) => (nowMs > 3000 ? 200 : 50),
  };
  /** 192 before, and 4 slots at 200 ms each from then on. */
  const MOST = 192 + (5 * 4 * 1000) / 200;

  it.each(["fifo", "adaptive"] as const)("in %s order is answered in time, by the wait limit", async (order) => {
    const result = await flood({ ...slowdown, admission: { slots: 4, lineMs: 500, waitMs: 300, order } });
    expect(result).toMatchObject({ timedOut: 0, wasted: 0 });
    expect(result.ok).toBeGreaterThanOrEqual(MOST * 0.98);
    expect(percentile(result.okMs, 0.99)).toBeLessThanOrEqual(order === "fifo" ? 510 : 400);
  });
});

describe("load that steps from 1 x to 4 x and to 0.7 x of the capacity", () => {
  it("never falls below 95 % of it for a quarter of a second, and is whole again within a second", async () => {
    const perSecond = (second: number): number => (second < 5 ? 80 : second < 10 ? 320 : 56);
    const result = await flood({ ...base, seconds: 15, admission: protectedBy({}), perSecond });
    const steep = result.okByQuarter.slice(22, 40);
    expect(Math.min(...steep)).toBeGreaterThanOrEqual(0.95 * 20);
    expect(result.okByQuarter.slice(44, 60)).toEqual(Array(16).fill(14));
    expect(result).toMatchObject({ timedOut: 0, wasted: 0 });
  });
});

describe("C19 b: a service that stands still for 10 s and comes back", () => {
  /** Work that begins in the stall ends with it. */
  const workMs = (nowMs: number): number => (nowMs >= 5000 && nowMs < 15_000 ? 15_000 - nowMs + 50 : 50);

  it.each(["fifo", "lifo", "adaptive"] as const)(
    "in %s order starts nothing stale and is back within a second",
    async (order) => {
      const result = await flood({
        ...{ perSecond: 100, seconds: 25, patienceMs: 2000, hangsUp: true, workMs },
        admission: { slots: 10, lineMs: 1000, lineItems: 50, waitMs: 500, order },
      });
      expect(result.peakWaiting).toBeLessThanOrEqual(50);
      expect(result.longestLineWaitMs).toBeLessThanOrEqual(500);
      expect(result.begunForNobody).toBe(0);
      for (const quarter of result.okByQuarter.slice(64, 100)) expect(quarter).toBeGreaterThanOrEqual(0.9 * 25);
    },
  );
});
