import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type SlidingWindowLogShape, type SlidingWindowLogState, slidingWindowLog } from "./sliding-window-log.ts";
import { anyPartUpTo, anyScale, Counted, DAY_US, SECOND_US, START_US } from "./test-support.ts";

const MINUTE_US = 60 * SECOND_US;

function shapeOf(limit: number, periodUs: number): SlidingWindowLogShape {
  return { kind: "sliding-window-log", limit, periodUs };
}

function logOf(limit: number, periodUs: number): Counted<SlidingWindowLogShape, SlidingWindowLogState> {
  return new Counted(slidingWindowLog, shapeOf(limit, periodUs));
}

/** Every token that was taken, and nothing else. */
class AllTaken {
  readonly #taken: { readonly us: number; readonly tokens: number }[] = [];

  note(us: number, tokens: number): void {
    this.#taken.push({ us, tokens });
  }

  /** In the period that ends with `us`. */
  within(us: number, periodUs: number): number {
    let sum = 0;
    for (const taken of this.#taken) if (taken.us > us - periodUs && taken.us <= us) sum += taken.tokens;
    return sum;
  }
}

const anyShape = fc
  .tuple(anyScale(1, 10_000), anyScale(1000, 366 * DAY_US))
  .map(([limit, periodUs]) => shapeOf(limit, periodUs));
/** Gaps in parts of the period; many of none, since tokens of one instant are one entry. */
const anyGap = fc.oneof(fc.constantFrom(0, 0, 1e-6, 0.01, 0.1, 0.5, 0.999999, 1, 1.5), anyPartUpTo(0.3));
/** Costs in parts of the limit, small ones above all. */
const anyPart = fc.oneof(fc.constantFrom(0, 0.01, 0.1, 0.5, 1, 1.1), anyPartUpTo(0.2), anyPartUpTo(0.02));
const anyCalls = fc.array(fc.tuple(anyGap, anyPart), { maxLength: 60, size: "max" });
const costOf = (part: number, { limit }: SlidingWindowLogShape): number => Math.ceil(part * limit);

describe("a sliding window log", () => {
  it("of 3 per 60 s at 0, 10, 59, 59.5, 60, 70 and 71 s admits all but the fourth and the last", () => {
    const log = logOf(3, MINUTE_US);
    const admitted = [0, 10, 59, 59.5, 60, 70, 71].map((s) => log.at(START_US + s * SECOND_US).take(1));
    expect(admitted).toEqual([true, true, true, false, true, true, false]);
  });

  it("has in no period more than the limit, and refuses nothing else, for any policy and any calls", () => {
    fc.assert(
      fc.property(anyShape, anyCalls, (shape, calls) => {
        const log = new Counted(slidingWindowLog, shape);
        const all = new AllTaken();
        for (const [gap, part] of calls) {
          log.after(Math.floor(gap * shape.periodUs));
          const cost = costOf(part, shape);
          const fits = all.within(log.nowUs, shape.periodUs) + cost <= shape.limit;
          expect(log.take(cost)).toBe(cost === 0 || fits);
          if (fits) all.note(log.nowUs, cost);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("admits a caller that comes back alone after the wait that it was told, and not 1 us before", () => {
    fc.assert(
      fc.property(anyShape, anyCalls, (shape, calls) => {
        const log = new Counted(slidingWindowLog, shape);
        for (const [gap, part] of calls) {
          const cost = costOf(part, shape);
          const waitUs = log.after(Math.floor(gap * shape.periodUs)).waitUs(cost);
          if (log.take(cost)) expect(waitUs).toBe(0);
          else if (cost > shape.limit) expect(waitUs).toBe(Number.POSITIVE_INFINITY);
          else {
            expect(waitUs).toBeGreaterThan(0);
            expect(waitUs).toBeLessThanOrEqual(shape.periodUs);
            expect([log.fitsAfter(waitUs - 1, cost), log.fitsAfter(waitUs, cost)]).toEqual([false, true]);
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  it("keeps one entry for tokens of one instant, and none that is a period old", () => {
    const log = logOf(10, SECOND_US);
    for (let i = 0; i < 4; i++) log.take(1);
    log.after(1).take(2);
    expect(log.state).toMatchObject({ times: [START_US, START_US + 1], tokens: [4, 2], used: 6 });
    expect(log.after(SECOND_US - 1).state).toMatchObject({ times: [START_US + 1], tokens: [2], used: 2 });
  });

  it("never admits a cost above the limit, offers no wait for it and takes nothing (C06 a)", () => {
    const log = logOf(10, SECOND_US);
    expect([log.take(11), log.waitUs(11), log.remaining]).toEqual([false, Number.POSITIVE_INFINITY, 10]);
    expect([log.take(10), log.waitUs(10), log.after(SECOND_US).take(10)]).toEqual([true, SECOND_US, true]);
  });

  it("takes nothing for cost 0 and always admits it", () => {
    const log = logOf(1, SECOND_US);
    log.adjust(-2);
    expect([log.take(0), log.waitUs(0), log.state.used]).toEqual([true, 0, 2]);
  });

  it("lasts a year, and 1 ms, and 1,500.5 ms, to the microsecond (C08)", () => {
    for (const periodUs of [366 * DAY_US, 1000, 1_500_500]) {
      const log = logOf(6, periodUs);
      expect(log.take(6)).toBe(true);
      expect([log.after(50).take(1), log.waitUs(1)]).toEqual([false, periodUs - 50]);
      expect([log.after(periodUs - 51).take(1), log.after(1).take(6)]).toEqual([false, true]);
    }
  });

  it("is kept until its last token is a period old, and 1 to 2 ms more", () => {
    const log = logOf(6, MINUTE_US);
    expect(log.expiryMs).toBe(60_001);
    log.take(1);
    expect(log.after(17_300_001).expiryMs).toBe(42_701);
  });
});

describe("a sliding window log whose clock is stepped (C02)", () => {
  it("makes tokens of the future tokens of now, and tells no wait above the period", () => {
    const log = logOf(10, 10 * SECOND_US);
    expect([log.take(2), log.after(1).take(1)]).toEqual([true, true]);
    expect(log.at(START_US - 2 * DAY_US).take(1)).toBe(true);
    expect(log.state).toMatchObject({ times: [START_US - 2 * DAY_US], tokens: [4] });
    expect([log.remaining, log.take(6), log.waitUs(10)]).toEqual([6, true, 10 * SECOND_US]);
    expect(log.at(START_US + SECOND_US).take(10)).toBe(true);
    expect(log.take(1)).toBe(false);
  });

  it("keeps what is not ahead where it is", () => {
    const log = logOf(10, 10 * SECOND_US);
    log.take(2);
    log.after(5 * SECOND_US).take(3);
    expect(log.after(-SECOND_US).state).toMatchObject({
      times: [START_US, START_US + 4 * SECOND_US],
      tokens: [2, 3],
    });
  });
});

describe("refunds and penalties of a sliding window log", () => {
  it("undo what was taken last", () => {
    fc.assert(
      fc.property(anyShape, anyCalls, (shape, calls) => {
        const log = new Counted(slidingWindowLog, shape);
        for (const [gap, part] of calls) {
          log.after(Math.floor(gap * shape.periodUs));
          const before = slidingWindowLog.copy(log.state);
          const cost = costOf(part, shape);
          if (!log.take(cost) || part < 0.1) continue;
          log.adjust(cost);
          expect(log.state).toEqual(before);
        }
      }),
      { numRuns: 100 },
    );
  });

  it("leave in no period more than the limit and what was given back in it", () => {
    fc.assert(
      fc.property(
        anyShape,
        fc.array(fc.tuple(anyGap, anyPart, fc.boolean()), { maxLength: 60, size: "max" }),
        (shape, calls) => {
          const log = new Counted(slidingWindowLog, shape);
          const [taken, given] = [new AllTaken(), new AllTaken()];
          for (const [gap, part, gives] of calls) {
            log.after(Math.floor(gap * shape.periodUs));
            const cost = costOf(part, shape);
            const { used } = log.state;
            if (gives) log.adjust(cost);
            else if (log.take(cost)) taken.note(log.nowUs, cost);
            if (gives) given.note(log.nowUs, used - log.state.used);
            const within = (all: AllTaken): number => all.within(log.nowUs, shape.periodUs);
            expect(within(taken) - within(given)).toBeLessThanOrEqual(shape.limit);
            expect(log.state.used).toBeGreaterThanOrEqual(0);
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  it("give back no more than was taken, the newest first", () => {
    const log = logOf(10, SECOND_US);
    log.take(4);
    log.after(10).take(3);
    log.adjust(5);
    expect(log.state).toMatchObject({ times: [START_US], tokens: [2], used: 2, kept: 2 });
    log.adjust(100);
    expect(log.state).toMatchObject({ times: [], tokens: [], used: 0, kept: 0 });
    expect(log.remaining).toBe(10);
  });

  it("reach one limit deep, and end a period later", () => {
    const log = logOf(10, SECOND_US);
    log.adjust(-13);
    expect([log.remaining, log.state.used, log.waitUs(1)]).toEqual([0, 13, SECOND_US]);
    log.after(1).adjust(-Number.MAX_SAFE_INTEGER);
    expect(log.state).toMatchObject({ tokens: [13, 7], used: 20 });
    log.adjust(12);
    expect(log.remaining).toBe(2);
    expect(log.after(SECOND_US).remaining).toBe(10);
  });

  it("reset empties it", () => {
    const log = logOf(10, SECOND_US);
    log.take(10);
    log.after(1000).reset();
    expect([log.remaining, log.take(10)]).toEqual([10, true]);
  });
});

describe("a sliding window log under a changed policy (C09)", () => {
  it("admits at once after the limit was raised (b)", () => {
    const log = logOf(1, 100 * MINUTE_US);
    expect([log.take(1), log.take(1)]).toEqual([true, false]);
    expect(log.under(shapeOf(10, 100 * MINUTE_US)).take(1)).toBe(true);
    expect(log.remaining).toBe(8);
  });

  it("holds no more than the new limit at once, and no wait is longer than the new period (c)", () => {
    const log = logOf(1000, 100 * SECOND_US);
    log.take(100);
    log.after(SECOND_US).under(shapeOf(10, 10 * SECOND_US));
    expect([log.take(1), log.remaining, log.waitUs(10)]).toEqual([false, 0, 9 * SECOND_US]);
  });

  it("keeps to both while old and new numbers alternate, the longer of them at work in each of its periods", () => {
    const anyPair = fc.tuple(anyShape, anyScale(1, 10_000), anyPartUpTo(1));
    fc.assert(
      fc.property(anyPair, anyCalls, ([long, limit, part], calls) => {
        const short = shapeOf(limit, Math.max(1000, Math.floor(part * long.periodUs)));
        const log = new Counted(slidingWindowLog, long);
        const all = new AllTaken();
        for (const [i, [gap, costPart]] of calls.entries()) {
          const shape = i % 2 === 0 ? long : short;
          log.shape = shape;
          log.after(Math.floor((gap / 3.1) * long.periodUs));
          const cost = costOf(costPart, shape);
          const fits = all.within(log.nowUs, shape.periodUs) + cost <= shape.limit;
          expect(log.take(cost)).toBe(cost === 0 || fits);
          if (fits) all.note(log.nowUs, cost);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("forgets a longer policy that was not at work for its period, and so keeps no more than the shorter needs", () => {
    const [long, short] = [shapeOf(1000, 60 * MINUTE_US), shapeOf(10, SECOND_US)];
    const log = new Counted(slidingWindowLog, long);
    log.take(500);
    log.under(short);
    for (let second = 1; second < 3600; second++) {
      expect(log.after(SECOND_US).state.kept).toBeLessThanOrEqual(2 * long.limit);
      log.take(10);
    }
    expect(log.state.kept).toBe(2 * long.limit + 10);
    expect(log.after(SECOND_US).state).toMatchObject({ kept: 0, keepUs: SECOND_US, keepTokens: 10 });
  });
});

describe("the summary of a log", () => {
  const anyCosts = fc.array(anyPart, { maxLength: 4 });

  it("tells what is left and every wait that the state tells, for the given costs and for the next token", () => {
    fc.assert(
      fc.property(anyShape, anyCalls, anyCosts, (shape, calls, parts) => {
        const log = new Counted(slidingWindowLog, shape);
        for (const [gap, part] of calls) {
          log.after(Math.floor(gap * shape.periodUs));
          if (!log.take(costOf(part, shape))) log.adjust(part > 0.5 ? -1 : 0);
        }
        const costs = parts.map((part) => costOf(part, shape));
        const summary = slidingWindowLog.summary?.(log.state, shape, costs) as SlidingWindowLogState;
        const { remaining } = log;
        expect(slidingWindowLog.remaining(summary, shape)).toBe(remaining);
        expect(summary.times.length).toBeLessThanOrEqual(2 * new Set(costs).size + 4);
        for (const cost of [...costs, 0, Math.min(shape.limit, remaining + 1), shape.limit]) {
          expect(slidingWindowLog.waitUs(summary, shape, cost, log.nowUs)).toBe(log.waitUs(cost));
          expect(slidingWindowLog.knowsWait?.(summary, shape, cost)).toBe(true);
        }
        expect(slidingWindowLog.summary?.(summary, shape, costs)).toEqual(summary);
      }),
      { numRuns: 300 },
    );
  });

  it("tells of any other cost whether its wait is the earliest, and never one that is too short", () => {
    let unknown = 0;
    const manyCalls = fc.array(fc.tuple(anyPartUpTo(0.02), anyPartUpTo(0.05)), { minLength: 10, maxLength: 60 });
    fc.assert(
      fc.property(anyShape, manyCalls, anyPartUpTo(1), (shape, calls, costPart) => {
        const cost = costOf(costPart, shape);
        const log = new Counted(slidingWindowLog, shape);
        for (const [gap, part] of calls) log.after(Math.floor(gap * shape.periodUs)).take(costOf(part, shape));
        const summary = slidingWindowLog.summary?.(log.state, shape, []) as SlidingWindowLogState;
        const told = slidingWindowLog.waitUs(summary, shape, cost, log.nowUs);
        if (!slidingWindowLog.knowsWait?.(summary, shape, cost)) unknown++;
        else expect(told).toBe(log.waitUs(cost));
        expect(told).toBeGreaterThanOrEqual(log.waitUs(cost));
      }),
      { numRuns: 500 },
    );
    expect(unknown).toBeGreaterThan(10);
  });

  it("follows who took what is newest in it back to what was left at his turn", () => {
    const log = logOf(10, MINUTE_US);
    for (let i = 0; i < 4; i++) log.after(SECOND_US).take(1);
    log.after(SECOND_US).take(5);
    const summary = slidingWindowLog.summary?.(log.state, log.shape, []) as SlidingWindowLogState;
    expect(summary).toMatchObject({ tokens: [1, 3, 5], gathered: [1] });
    slidingWindowLog.adjust(summary, log.shape, 3);
    expect(slidingWindowLog.remaining(summary, log.shape)).toBe(4);
    expect(slidingWindowLog.waitUs(summary, log.shape, 5, log.nowUs)).toBe(56 * SECOND_US);
  });
});
