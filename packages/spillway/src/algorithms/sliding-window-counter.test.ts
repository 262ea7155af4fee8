import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type SlidingWindowCounterShape,
  type SlidingWindowCounterState,
  slidingWindowCounter,
} from "./sliding-window-counter.ts";
import { anyPartUpTo, anyScale, Counted, DAY_US, ExactBucket, SECOND_US, START_US } from "./test-support.ts";

const MINUTE_US = 60 * SECOND_US;

function shapeOf(limit: number, periodUs: number): SlidingWindowCounterShape {
  return { kind: "sliding-window-counter", limit, periodUs };
}

function counterOf(limit: number, periodUs: number): Counted<SlidingWindowCounterShape, SlidingWindowCounterState> {
  return new Counted(slidingWindowCounter, shapeOf(limit, periodUs));
}

const anyShape = fc
  .tuple(anyScale(1, 1e12), anyScale(1000, 366 * DAY_US))
  .map(([limit, periodUs]) => shapeOf(limit, periodUs));
/** Gaps in parts of the period, costs in parts of the limit. */
const anyPart = fc.oneof(fc.constantFrom(0, 1e-6, 0.01, 0.25, 0.5, 0.999999, 1, 1.5, 2, 2.5), anyPartUpTo(2.2));
const anyCalls = fc.array(fc.tuple(anyPart, anyPart), { maxLength: 30, size: "max" });

describe("a sliding window counter", () => {
  it("counts the previous window by the part that the last period still covers, rounded up", () => {
    const counter = counterOf(100, MINUTE_US);
    expect(counter.take(50)).toBe(true);
    // A quarter into the next window three quarters of the 50 count.
    counter.after(75 * SECOND_US);
    expect([counter.remaining, counter.take(62), counter.take(1)]).toEqual([62, true, false]);
    expect([counter.after(599_999).remaining, counter.after(1).remaining]).toEqual([0, 1]);
  });

  it("equals the estimate in exact arithmetic at every step, for any policy and any calls", () => {
    fc.assert(
      fc.property(anyShape, anyCalls, (shape, calls) => {
        const counter = new Counted(slidingWindowCounter, shape);
        for (const [gap, part] of calls) {
          counter.after(Math.floor(gap * shape.periodUs));
          const { startUs, previous, current } = counter.state;
          const overlapUs = BigInt(startUs + shape.periodUs - counter.nowUs);
          const estimate = BigInt(current) * BigInt(shape.periodUs) + BigInt(previous) * overlapUs;
          const cost = Math.floor(part * shape.limit);
          const fits = estimate + BigInt(cost) * BigInt(shape.periodUs) <= BigInt(shape.limit) * BigInt(shape.periodUs);
          expect(counter.take(cost)).toBe(cost === 0 || fits);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("admits in no time T more than limit x (1 + T / period): never what a bucket with that burst would refuse", () => {
    fc.assert(
      fc.property(anyShape, anyCalls, (shape, calls) => {
        const counter = new Counted(slidingWindowCounter, shape);
        const bucket = new ExactBucket({ ...shape, burst: shape.limit }, START_US);
        for (const [gap, part] of calls) {
          counter.after(Math.floor(gap * shape.periodUs));
          bucket.advance(counter.nowUs);
          const cost = Math.floor(part * shape.limit);
          if (!counter.take(cost)) continue;
          expect(bucket.fits(cost)).toBe(true);
          bucket.charge(cost);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("admits up to twice the limit in a period, less one token, where the first window was used at its end", () => {
    const counter = counterOf(100, MINUTE_US);
    counter.take(0);
    counter.after(MINUTE_US - 1);
    let admitted = counter.takeEach(200);
    for (let us = 0; us < MINUTE_US - 1; us += 100_000) admitted += counter.after(100_000).takeEach(200);
    expect(admitted).toBe(199);
  });

  it("admits a caller that comes back alone after the wait that it was told, and not 1 us before", () => {
    fc.assert(
      fc.property(anyShape, anyCalls, (shape, calls) => {
        const counter = new Counted(slidingWindowCounter, shape);
        for (const [gap, part] of calls) {
          const cost = Math.floor(part * shape.limit);
          const waitUs = counter.after(Math.floor(gap * shape.periodUs)).waitUs(cost);
          if (counter.take(cost)) expect(waitUs).toBe(0);
          else if (cost > shape.limit) expect(waitUs).toBe(Number.POSITIVE_INFINITY);
          else {
            expect(waitUs).toBeGreaterThan(0);
            expect(waitUs).toBeLessThanOrEqual(2 * shape.periodUs);
            expect([counter.fitsAfter(waitUs - 1, cost), counter.fitsAfter(waitUs, cost)]).toEqual([false, true]);
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  it("starts with the first request, and again with the first one after two periods without any", () => {
    const counter = counterOf(10, MINUTE_US);
    counter.take(10);
    expect(counter.state.startUs).toBe(START_US);
    expect(counter.after(119 * SECOND_US).state).toMatchObject({ startUs: START_US + MINUTE_US, previous: 10 });
    expect(counter.after(150 * SECOND_US).state).toMatchObject({
      startUs: START_US + 269 * SECOND_US,
      previous: 0,
      current: 0,
    });
  });

  it("never admits a cost above the limit, offers no wait for it and takes nothing (C06 a)", () => {
    const counter = counterOf(10, SECOND_US);
    expect([counter.take(11), counter.waitUs(11), counter.remaining]).toEqual([false, Number.POSITIVE_INFINITY, 10]);
    // Equal to the limit: until the window is neither current nor previous (C06 c).
    expect([counter.take(10), counter.waitUs(10)]).toEqual([true, 2 * SECOND_US]);
    expect(counter.after(2 * SECOND_US).take(10)).toBe(true);
  });

  it("takes nothing for cost 0 and always admits it", () => {
    const counter = counterOf(1, SECOND_US);
    counter.adjust(-2);
    expect([counter.take(0), counter.waitUs(0), counter.state.current]).toEqual([true, 0, 2]);
  });

  it("lasts a year, and 1 ms, and 1,500.5 ms, to the microsecond (C08)", () => {
    for (const periodUs of [366 * DAY_US, 1000, 1_500_500]) {
      const counter = counterOf(6, periodUs);
      expect(counter.take(6)).toBe(true);
      // One of the six is no more counted once a sixth of the next window is over, rounded up.
      const waitUs = periodUs + Math.ceil(periodUs / 6);
      expect([counter.after(50).take(1), counter.waitUs(1)]).toEqual([false, waitUs - 50]);
      expect([counter.after(waitUs - 51).take(1), counter.after(1).take(1)]).toEqual([false, true]);
    }
  });

  it("comes back evenly: 10 in each 100 ms after the first, under one request each 5 ms (C08 b)", () => {
    const counter = counterOf(10, 100_000);
    const slices: number[] = [];
    for (let ms = 0; ms < 3000; ms += 5) {
      const slice = Math.floor(ms / 100);
      slices[slice] = (slices[slice] ?? 0) + (counter.at(START_US + ms * 1000).take(1) ? 1 : 0);
    }
    for (const admitted of slices.slice(1)) {
      expect(admitted).toBeGreaterThanOrEqual(8);
      expect(admitted).toBeLessThanOrEqual(11);
    }
  });

  it("is kept until neither window counts, and 1 to 2 ms more", () => {
    const counter = counterOf(6, MINUTE_US);
    expect(counter.expiryMs).toBe(120_001);
    expect(counter.after(17_300_001).expiryMs).toBe(102_701);
    counter.take(1);
    expect(counter.after(MINUTE_US).expiryMs).toBe(102_701);
  });
});

describe("a sliding window counter whose clock is stepped (C02)", () => {
  it("keeps its counts through a step back, and tells no wait above two periods", () => {
    const counter = counterOf(10, 10 * SECOND_US);
    expect(counter.take(3)).toBe(true);
    expect(counter.at(START_US - 2 * DAY_US).take(1)).toBe(true);
    expect([counter.remaining, counter.take(6)]).toEqual([6, true]);
    expect(counter.waitUs(10)).toBe(20 * SECOND_US);
    expect(counter.at(START_US + SECOND_US).take(1)).toBe(true);
    expect(counter.remaining).toBe(9);
  });

  it("pulls a start 60 s ahead back", () => {
    const counter = counterOf(10, 10 * SECOND_US);
    Object.assign(counter.state, { startUs: START_US + MINUTE_US, previous: 4, current: 3 });
    expect([counter.after(0).take(3), counter.take(1), counter.remaining]).toEqual([true, false, 0]);
    expect(counter.waitUs(10)).toBe(20 * SECOND_US);
  });
});

describe("refunds and penalties of a sliding window counter", () => {
  it("undo what was taken last, whatever is asked after", () => {
    fc.assert(
      fc.property(anyShape, anyCalls, (shape, calls) => {
        const counter = new Counted(slidingWindowCounter, shape);
        for (const [gap, part] of calls) {
          counter.after(Math.floor(gap * shape.periodUs));
          const before = { ...counter.state };
          const cost = Math.floor(part * shape.limit);
          if (!counter.take(cost) || part < 0.5) continue;
          counter.adjust(cost);
          expect(counter.state).toEqual(before);
        }
      }),
      { numRuns: 100 },
    );
  });

  it("give back no more than was taken: of this window first, then of the one before", () => {
    const counter = counterOf(10, SECOND_US);
    counter.take(8);
    counter.after(1.5 * SECOND_US).take(4);
    expect(counter.remaining).toBe(2);
    counter.adjust(6);
    expect([counter.remaining, counter.state.previous, counter.state.current]).toEqual([7, 6, 0]);
    counter.adjust(100);
    expect([counter.remaining, counter.state.previous, counter.state.current]).toEqual([10, 0, 0]);
  });

  it("reach one limit deep", () => {
    const counter = counterOf(10, SECOND_US);
    counter.take(8);
    counter.after(1.5 * SECOND_US).adjust(-13);
    expect([counter.remaining, counter.state.current]).toEqual([0, 13]);
    counter.adjust(-Number.MAX_SAFE_INTEGER);
    expect(counter.state.current).toBe(16);
    counter.adjust(12);
    expect(counter.remaining).toBe(2);
  });

  it("reset empties both windows and keeps their place", () => {
    const counter = counterOf(10, SECOND_US);
    counter.take(10);
    counter.after(1.2 * SECOND_US).reset();
    expect([counter.remaining, counter.state.startUs]).toEqual([10, START_US + SECOND_US]);
  });
});

describe("a sliding window counter under a changed policy (C09)", () => {
  it("admits at once after the limit was raised (b)", () => {
    const counter = counterOf(1, 100 * MINUTE_US);
    expect([counter.take(1), counter.take(1)]).toEqual([true, false]);
    expect(counter.under(shapeOf(10, 100 * MINUTE_US)).take(1)).toBe(true);
    expect(counter.remaining).toBe(8);
  });

  it("holds no more than the new limit at once, and no wait is longer than two of the new periods (c)", () => {
    const counter = counterOf(1000, 100 * SECOND_US);
    counter.take(100);
    counter.after(SECOND_US).under(shapeOf(10, 10 * SECOND_US));
    expect([counter.take(1), counter.remaining, counter.waitUs(10)]).toEqual([false, 0, 19 * SECOND_US]);
  });
});
