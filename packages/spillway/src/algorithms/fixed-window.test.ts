import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type FixedWindowShape, type FixedWindowState, fixedWindow } from "./fixed-window.ts";
import { anyScale, DAY_US, SECOND_US, START_US } from "./test-support.ts";

const MINUTE_US = 60 * SECOND_US;

function shapeOf(limit: number, periodUs: number, aligned = false): FixedWindowShape {
  return { kind: "fixed-window", limit, periodUs, aligned };
}

/** A window with the clock it lives by. */
class Window {
  shape: FixedWindowShape;
  nowUs: number;
  readonly state: FixedWindowState;

  constructor(shape: FixedWindowShape, nowUs: number = START_US) {
    this.shape = shape;
    this.nowUs = nowUs;
    this.state = fixedWindow.open(shape, nowUs);
  }

  at(nowUs: number): this {
    this.nowUs = nowUs;
    fixedWindow.advance(this.state, this.shape, nowUs);
    return this;
  }

  after(us: number): this {
    return this.at(this.nowUs + us);
  }

  under(shape: FixedWindowShape): this {
    this.shape = shape;
    return this.after(0);
  }

  take(cost: number): boolean {
    if (!fixedWindow.fits(this.state, this.shape, cost)) return false;
    fixedWindow.charge(this.state, this.shape, cost);
    return true;
  }

  adjust(tokens: number): void {
    fixedWindow.adjust(this.state, this.shape, tokens);
  }

  waitUs(cost: number): number {
    return fixedWindow.waitUs(this.state, this.shape, cost, this.nowUs);
  }

  get remaining(): number {
    return fixedWindow.remaining(this.state, this.shape);
  }
}

const anyShape = fc.record({
  kind: fc.constant("fixed-window" as const),
  limit: anyScale(1, 1e12),
  periodUs: anyScale(1000, 366 * DAY_US),
  aligned: fc.boolean(),
});
const anyCalls = fc.array(fc.tuple(anyScale(0, 400 * DAY_US), anyScale(0, 1e12)), { maxLength: 25 });

describe("a fixed window", () => {
  it("admits the limit in each window and not one more, whole or not at all", () => {
    const window = new Window(shapeOf(5, MINUTE_US));
    expect([window.take(3), window.take(3), window.take(2), window.take(1)]).toEqual([true, false, true, false]);
    expect([window.after(MINUTE_US - 1).take(1), window.after(1).take(5)]).toEqual([false, true]);
  });

  it("admits at most the limit between two starts, for any policy and any calls", () => {
    fc.assert(
      fc.property(anyShape, anyCalls, (shape, calls) => {
        const window = new Window(shape);
        const admitted = new Map<number, number>();
        return calls.every(([us, cost]) => {
          window.after(us);
          const { startUs } = window.state;
          if (window.take(cost)) admitted.set(startUs, (admitted.get(startUs) ?? 0) + cost);
          return (
            (admitted.get(startUs) ?? 0) <= shape.limit &&
            startUs <= window.nowUs &&
            window.nowUs < startUs + shape.periodUs &&
            (!shape.aligned || startUs % shape.periodUs === 0)
          );
        });
      }),
      { numRuns: 200 },
    );
  });

  it("admits a caller that comes back alone after the wait that it was told, and not 1 us before", () => {
    fc.assert(
      fc.property(anyShape, anyCalls, (shape, calls) => {
        const window = new Window(shape);
        return calls.every(([us, cost]) => {
          const waitUs = window.after(us).waitUs(cost);
          if (window.take(cost)) return waitUs === 0;
          if (cost > shape.limit) return waitUs === Number.POSITIVE_INFINITY;
          const { state, nowUs } = window;
          const fitsAfter = (later: number): boolean => {
            const copy = fixedWindow.copy(state);
            fixedWindow.advance(copy, shape, nowUs + later);
            return fixedWindow.fits(copy, shape, cost);
          };
          return waitUs > 0 && waitUs <= shape.periodUs && fitsAfter(waitUs) && !fitsAfter(waitUs - 1);
        });
      }),
      { numRuns: 200 },
    );
  });

  it("starts with the first request, or at a multiple of the period when aligned", () => {
    expect(new Window(shapeOf(1, MINUTE_US)).state.startUs).toBe(1_790_000_000_123_456);
    const aligned = new Window(shapeOf(1, MINUTE_US, true));
    expect(aligned.state.startUs).toBe(1_789_999_980_000_000);
    expect([aligned.take(1), aligned.waitUs(1)]).toEqual([true, 39_876_544]);
    expect([aligned.after(39_876_543).take(1), aligned.after(1).take(1)]).toEqual([false, true]);
  });

  it("starts a new window with the first request after the old one, not at its end", () => {
    const window = new Window(shapeOf(1, MINUTE_US));
    window.take(1);
    window.after(100 * SECOND_US).take(1);
    expect(window.waitUs(1)).toBe(MINUTE_US);
  });

  it("never admits a cost above the limit, offers no wait for it and takes nothing (C06 a)", () => {
    const window = new Window(shapeOf(10, SECOND_US));
    expect([window.take(11), window.waitUs(11), window.remaining]).toEqual([false, Number.POSITIVE_INFINITY, 10]);
    expect([window.take(10), window.waitUs(10), window.after(SECOND_US).take(10)]).toEqual([true, SECOND_US, true]);
  });

  it("takes nothing for cost 0 and always admits it", () => {
    const window = new Window(shapeOf(1, SECOND_US));
    window.adjust(-2);
    expect([window.take(0), window.waitUs(0), window.state.used]).toEqual([true, 0, 2]);
  });

  it("lasts 30 days, and 1 ms, and 1,500.5 ms, to the microsecond (C08)", () => {
    for (const periodUs of [30 * DAY_US, 1000, 1_500_500]) {
      const window = new Window(shapeOf(6, periodUs));
      expect(window.take(6)).toBe(true);
      expect([window.after(50).take(1), window.waitUs(1)]).toEqual([false, periodUs - 50]);
      expect([window.after(periodUs - 51).take(1), window.after(1).take(6)]).toEqual([false, true]);
    }
  });

  it("is kept until it is over, and 1 to 2 ms more", () => {
    const window = new Window(shapeOf(6, MINUTE_US));
    const expiryMs = (): number => fixedWindow.expiryMs(window.state, window.shape, window.nowUs);
    expect(expiryMs()).toBe(60_001);
    window.after(17_300_001);
    expect(expiryMs()).toBe(42_701);
  });
});

describe("a fixed window whose clock is stepped (C02)", () => {
  it.each([false, true])(
    "keeps its count through a step back, and tells no wait above the period (aligned: %s)",
    (aligned) => {
      const window = new Window(shapeOf(10, 10 * SECOND_US, aligned));
      expect(window.take(3)).toBe(true);
      expect(window.at(START_US - 2 * DAY_US).take(1)).toBe(true);
      expect(window.remaining).toBe(6);
      expect(window.take(6)).toBe(true);
      expect(window.waitUs(1)).toBeLessThanOrEqual(10 * SECOND_US);
      expect(window.at(START_US + SECOND_US).take(1)).toBe(true);
      expect(window.remaining).toBe(9);
    },
  );

  it("pulls a start 60 s ahead back", () => {
    const window = new Window(shapeOf(10, 10 * SECOND_US));
    window.state.startUs = START_US + MINUTE_US;
    window.state.used = 10;
    expect(window.after(0).waitUs(1)).toBe(10 * SECOND_US);
    window.state.startUs = START_US + MINUTE_US;
    window.state.used = 0;
    expect(window.after(0).take(1)).toBe(true);
  });
});

describe("refunds and penalties of a fixed window", () => {
  it("give back no more than was used", () => {
    const window = new Window(shapeOf(10, SECOND_US));
    window.take(4);
    window.adjust(3);
    expect(window.remaining).toBe(9);
    window.adjust(100);
    expect([window.remaining, window.state.used]).toEqual([10, 0]);
  });

  it("reach one limit deep, and end with the window", () => {
    const window = new Window(shapeOf(10, SECOND_US));
    window.adjust(-13);
    expect([window.remaining, window.state.used, window.waitUs(1)]).toEqual([0, 13, SECOND_US]);
    window.adjust(-Number.MAX_SAFE_INTEGER);
    expect(window.state.used).toBe(20);
    window.adjust(12);
    expect(window.remaining).toBe(2);
    expect(window.after(SECOND_US).remaining).toBe(10);
  });

  it("reset empties it and keeps its start", () => {
    const window = new Window(shapeOf(10, SECOND_US));
    window.take(10);
    window.after(1000);
    fixedWindow.reset(window.state, window.shape);
    expect([window.remaining, window.state.startUs]).toEqual([10, START_US]);
  });
});

describe("a fixed window under a changed policy (C09)", () => {
  it("admits at once after the limit was raised (b)", () => {
    const window = new Window(shapeOf(1, 100 * MINUTE_US));
    expect([window.take(1), window.take(1)]).toEqual([true, false]);
    expect(window.under(shapeOf(10, 100 * MINUTE_US)).take(1)).toBe(true);
    expect(window.remaining).toBe(8);
  });

  it("holds no more than the new limit at once, and no wait is longer than the new period (c)", () => {
    const window = new Window(shapeOf(1000, 100 * SECOND_US));
    window.take(5);
    window.after(SECOND_US).under(shapeOf(10, 10 * SECOND_US));
    expect([window.take(1), window.remaining, window.waitUs(10)]).toEqual([true, 4, 9 * SECOND_US]);
    expect(window.under(shapeOf(3, 10 * SECOND_US)).remaining).toBe(0);
  });
});
