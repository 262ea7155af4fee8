import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { algorithmOf, summaryOf } from "../algorithms/bucket.ts";
import { logOfEntries } from "../algorithms/sliding-window-log.ts";
import { anyPartUpTo, START_US } from "../algorithms/test-support.ts";
import { type PolicyOptions, resolvePolicy } from "../policy.ts";
import { type WindowShape, type WindowState, windowShare, windowShareOf, windowSince } from "./window-share.ts";

const PERIOD_US = 60_000_000;
/** What the share's clock shows while the store's shows `START_US`. */
const LOCAL_US = 5_000_000;

function shapeOf(algorithm: NonNullable<PolicyOptions["algorithm"]>, limit: number): WindowShape {
  const { shape } = resolvePolicy({ name: "p", limit, period: PERIOD_US / 1000, algorithm }, "policy");
  return shape as WindowShape;
}

/** How a store says that a window stands at `START_US`, after takes at times before it, in parts of a period. */
function seenAfter(shape: WindowShape, takes: readonly (readonly [beforePart: number, tokens: number])[]): WindowState {
  const algorithm = algorithmOf(shape);
  const inOrder = [...takes].sort(([a], [b]) => b - a);
  const state = algorithm.open(shape, START_US - Math.floor((inOrder[0]?.[0] ?? 0) * PERIOD_US));
  for (const [part, tokens] of inOrder) {
    algorithm.advance(state, shape, START_US - Math.floor(part * PERIOD_US));
    if (algorithm.fits(state, shape, tokens)) algorithm.charge(state, shape, tokens);
  }
  algorithm.advance(state, shape, START_US);
  return summaryOf(state, shape, []) as WindowState;
}

/** A share that begins with what was seen, and what is left of it later. */
function shareFrom(seen: WindowState, shape: WindowShape, replicas: number): (laterUs: number) => number {
  const share = windowShare(shape, 1 / replicas);
  const algorithm = algorithmOf(share);
  const start = windowShareOf(seen, shape, share, 1 / replicas, START_US - LOCAL_US, LOCAL_US);
  return (laterUs) => {
    const later = algorithm.copy(start);
    algorithm.advance(later, share, LOCAL_US + laterUs);
    return algorithm.remaining(later, share);
  };
}

const anyAlgorithm = fc.constantFrom(
  "fixed-window" as const,
  "sliding-window-counter" as const,
  "sliding-window-log" as const,
);
const anyTakes = fc.array(fc.tuple(anyPartUpTo(1.9), fc.integer({ min: 1, max: 40 })), { maxLength: 40, size: "max" });

describe("a window's share", () => {
  it("is a whole part of the limit, one token at least, and begins with its first use", () => {
    for (const algorithm of ["fixed-window", "sliding-window-counter", "sliding-window-log"] as const)
      expect([1, 3, 7, 50].map((replicas) => windowShare(shapeOf(algorithm, 20), 1 / replicas).limit)).toEqual([
        20, 6, 2, 1,
      ]);
    expect(windowShare(shapeOf("fixed-window", 60), 0.333_333_333).limit).toBe(20);
    const aligned = { kind: "fixed-window", limit: 20, periodUs: PERIOD_US, aligned: true } as const;
    expect(windowShare(aligned, 1 / 2)).toEqual({ ...aligned, limit: 10, aligned: false });
  });

  it("is no more than its part of what was left, now and at any later time, in all ways of counting", () => {
    fc.assert(
      fc.property(
        anyAlgorithm,
        fc.integer({ min: 50, max: 200 }),
        fc.integer({ min: 1, max: 50 }),
        anyTakes,
        fc.array(anyPartUpTo(2.1), { maxLength: 6 }),
        (kind, limit, replicas, takes, parts) => {
          const shape = shapeOf(kind, limit);
          const algorithm = algorithmOf(shape);
          const seen = seenAfter(shape, takes);
          const left = shareFrom(seen, shape, replicas);
          for (const part of [0, ...parts]) {
            const laterUs = Math.floor(part * PERIOD_US);
            const whole = algorithm.copy(seen);
            algorithm.advance(whole, shape, START_US + laterUs);
            expect(replicas * left(laterUs)).toBeLessThanOrEqual(algorithm.remaining(whole, shape));
          }
          expect(left(2 * PERIOD_US)).toBe(Math.floor(limit / replicas));
        },
      ),
      { numRuns: 300 },
    );
  });

  it("of a log comes back token by token, as the whole does", () => {
    const takes = Array.from({ length: 20 }, (_, i) => [0.9 - 0.04 * i, 1] as const);
    const shape = shapeOf("sliding-window-log", 20);
    const algorithm = algorithmOf(shape);
    const state = algorithm.open(shape, START_US - PERIOD_US);
    for (const [part] of takes) {
      algorithm.advance(state, shape, START_US - part * PERIOD_US);
      algorithm.charge(state, shape, 1);
    }
    algorithm.advance(state, shape, START_US);
    const left = shareFrom(state as WindowState, shape, 4);
    // Every fourth token of the whole is one of the share.
    const laterUs = [0, 0.1, 0.21, 0.25, 0.38, 0.54, 0.7, 0.86].map((part) => Math.round(part * PERIOD_US));
    expect(laterUs.map(left)).toEqual([0, 0, 0, 1, 2, 3, 4, 5]);
  });

  it("of a counter slides with the whole", () => {
    const shape = shapeOf("sliding-window-counter", 100);
    const seen = seenAfter(shape, [
      [1.2, 80],
      [0.1, 20],
    ]);
    const left = shareFrom(seen, shape, 4);
    // 20 and 5 of the share's 25: at first four fifths of the former count, and a fifth of a period later three.
    expect([left(0), left(12_000_000), left(48_000_000)]).toEqual([4, 8, 20]);
  });
});

it("what is on lease of a window counts as used in its shares, and nothing of a share is on lease", () => {
  const fixed = { kind: "fixed-window", limit: 100, periodUs: PERIOD_US, aligned: false } as const;
  const seen = { kind: fixed.kind, startUs: START_US, used: 60, lease: { tokens: 50, id: 7 } } as const;
  const share = windowShareOf(seen, fixed, windowShare(fixed, 0.5), 0.5, START_US, 0);
  expect(share).toEqual({ kind: fixed.kind, startUs: 0, used: 30 });
});

describe("a window that was last seen some time before the store went away", () => {
  const SINCE_US = 5_000_000;
  const fixed = { kind: "fixed-window", limit: 1000, periodUs: 60_000_000, aligned: false } as const;
  const seen = { kind: "fixed-window", startUs: 0, used: 100 } as const;

  it("is taken to have gone on at its pace in the hands of others, while leases were spent", () => {
    // 100 in 5 s: 2 in a tenth of a second, three quarters of them by others.
    expect(windowSince(seen, fixed, 0.75, SINCE_US, 100_000, 75_000)).toMatchObject({ used: 102 });
    expect(windowSince(seen, fixed, 0, SINCE_US, 100_000, 75_000)).toMatchObject({ used: 100 });
    expect(windowSince(seen, fixed, 1, SINCE_US, 0, 0)).toBe(seen);
    expect(seen.used).toBe(100);
  });

  it("is taken to have lost no more than it had so far, if it is younger than a lease", () => {
    expect(windowSince(seen, fixed, 1, 1, 75_000, 75_000)).toMatchObject({ used: 200 });
  });

  it("is the same for the current window of a counter; a log is not leased", () => {
    const shape = { kind: "sliding-window-counter", limit: 1000, periodUs: 60_000_000 } as const;
    const counter = { kind: shape.kind, startUs: 0, previous: 7, current: 100, nowUs: SINCE_US } as const;
    expect(windowSince(counter, shape, 1, SINCE_US, 100_000, 75_000)).toMatchObject({ current: 102, previous: 7 });
    const log = { kind: "sliding-window-log", limit: 10, periodUs: 1000 } as const;
    const entries = logOfEntries(log, [SINCE_US, 3], SINCE_US);
    expect(windowSince(entries, log, 1, SINCE_US, 100_000, 75_000)).toBe(entries);
  });
});
