import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { algorithmOf, type BucketState, summaryOf } from "../algorithms/bucket.ts";
import { anyRate, anyScale, START_US } from "../algorithms/test-support.ts";
import { grantWindowLease } from "../algorithms/window-lease.ts";
import type { PolicyOptions } from "../policy.ts";
import { type PolicySet, policyResolver } from "../policy-set.ts";
import { Denial, LONGEST_TRUST_MS } from "./denial.ts";

const SLOW: PolicyOptions = { name: "slow", limit: 10, period: "1s" };

/** A policy's buckets in a store, after `spent` tokens of each were taken at START_US. */
function bucketsAfter(set: PolicySet, spent: readonly number[]): BucketState[] {
  return set.policies.map(({ shape }, i) => {
    const state = algorithmOf(shape).open(shape, START_US);
    algorithmOf(shape).charge(state, shape, spent[i] as number);
    return state;
  });
}

function denialOf(policies: PolicyOptions | PolicyOptions[], spent: number[], seenMs = 0, leastWaitMs = 0): Denial {
  const set = policyResolver(policies)("key");
  return new Denial(set, bucketsAfter(set, spent), START_US, seenMs, leastWaitMs);
}

describe("a remembered refusal", () => {
  it("refuses a cost that had to wait, and tells what is left of the wait", () => {
    const denial = denialOf(SLOW, [9], 5000);
    expect(denial.refuse("key", [3], 5050)).toEqual({
      allowed: false,
      key: "key",
      costs: [3],
      policy: "slow",
      limit: 10,
      remaining: 1,
      resetAfterMs: 850,
      source: "denial-cache",
      degraded: false,
      policies: [
        {
          policy: "slow",
          limit: 10,
          periodMs: 1000,
          remaining: 1,
          refillAfterMs: 50,
          resetAfterMs: 850,
          retryAfterMs: 150,
        },
      ],
      reason: "limited",
      retryAfterMs: 150,
    });
  });

  it("ends when the told wait does", () => {
    const denial = denialOf(SLOW, [10]);
    expect(denial.refuse("key", [1], 99.999)?.retryAfterMs).toBe(0.001);
    expect(denial.refuse("key", [1], 100)).toBeUndefined();
  });

  it("lets costs through to the store that fitted then, and those that cost nothing", () => {
    const denial = denialOf(SLOW, [8]);
    expect(denial.refuse("key", [2], 0)).toBeUndefined();
    expect(denial.refuse("key", [0], 0)).toBeUndefined();
    expect(denial.refuse("key", [3], 0)?.retryAfterMs).toBe(100);
  });

  it("is trusted for a second at most, so that a reset elsewhere is seen", () => {
    const denial = denialOf({ ...SLOW, limit: 1, period: "30d" }, [1]);
    expect(denial.refuse("key", [1], LONGEST_TRUST_MS - 0.001)?.allowed).toBe(false);
    expect(denial.refuse("key", [1], LONGEST_TRUST_MS)).toBeUndefined();
    expect([denial.isOver(LONGEST_TRUST_MS - 0.001), denial.isOver(LONGEST_TRUST_MS)]).toEqual([false, true]);
  });

  it("is trusted for a tenth of a second while tokens of a window are on lease, since those that are not spent come back", () => {
    const set = policyResolver({ ...SLOW, algorithm: "fixed-window", limit: 40 })("key");
    const { shape } = set.policies[0] as PolicySet["policies"][number];
    const state = algorithmOf(shape).open(shape, START_US);
    if (state.kind !== "fixed-window" || shape.kind !== "fixed-window") throw new Error("a fixed window");
    grantWindowLease(state, shape, 5, 100_000, START_US);
    const denial = new Denial(set, [state], START_US, 0, 0);
    expect(denial.refuse("key", [40], 99)?.retryAfterMs).toBe(901);
    expect([denial.refuse("key", [40], 100), denial.isOver(99), denial.isOver(100)]).toEqual([undefined, false, true]);
  });

  it("says nothing at a time before it was made", () => {
    expect(denialOf(SLOW, [10], 5000).refuse("key", [1], 4999)).toBeUndefined();
  });

  it("refuses for good a cost that can never fit", () => {
    expect(denialOf(SLOW, [0]).refuse("key", [11], 10)).toMatchObject({
      reason: "never",
      retryAfterMs: Number.POSITIVE_INFINITY,
    });
  });

  it("is bound by the policy that makes the cost wait longest, and shows each", () => {
    const fast: PolicyOptions = { name: "fast", limit: 100, period: "1s" };
    const window: PolicyOptions = { name: "window", limit: 5, period: "1m", algorithm: "fixed-window" };
    const denial = denialOf([fast, SLOW, window], [100, 10, 2]);
    const refused = denial.refuse("key", [1, 1, 1], 20);
    expect(refused).toMatchObject({ policy: "slow", retryAfterMs: 80, remaining: 0 });
    expect(refused?.policies.map(({ retryAfterMs, remaining }) => [retryAfterMs, remaining])).toEqual([
      [0, 0],
      [80, 0],
      [0, 3],
    ]);
    expect(denial.refuse("key", [0, 0, 4], 20)).toMatchObject({ policy: "window", retryAfterMs: 59_980 });
    expect(denial.refuse("key", [0, 0, 3], 20)).toBeUndefined();
  });

  it("keeps everybody who takes something away for a hold, and nobody longer than it or their wait", () => {
    const denial = denialOf(SLOW, [2], 0, 25);
    expect(denial.refuse("key", [1], 24)?.retryAfterMs).toBe(1);
    expect(denial.refuse("key", [1], 25)).toBeUndefined();
    expect(denial.refuse("key", [0], 0)).toBeUndefined();
    expect(denial.refuse("key", [9], 99)?.retryAfterMs).toBe(1);
    expect(denial.refuse("key", [9], 100)).toBeUndefined();
  });

  it("never refuses what the store would admit when nobody gave anything back, nor after the wait it told", () => {
    const anyCase = fc.record({
      rate: anyRate,
      cost: anyScale(1, 1_000_000),
      left: anyScale(0, 1_000_000),
      seenMs: fc.double({ min: 0, max: 1e6, noNaN: true }),
      part: fc.constantFrom(0, 0.3, 0.999, 1),
    });
    fc.assert(
      fc.property(anyCase, ({ rate: { limit, periodUs, burst }, cost, left, seenMs, part }) => {
        const set = policyResolver({ name: "any", limit, period: periodUs / 1000, burst })("key");
        const [{ shape }] = set.policies as [PolicySet["policies"][number]];
        const algorithm = algorithmOf(shape);
        const asked = 1 + (cost % burst);
        const states = bucketsAfter(set, [burst - (left % asked)]);
        const denial = new Denial(set, states, START_US, seenMs, 0);
        const waitUs = algorithm.waitUs(states[0] as BucketState, shape, asked, START_US);
        const laterUs = Math.min(Math.floor(waitUs * part), 999_999);
        const refused = denial.refuse("key", [asked], seenMs + laterUs / 1000);
        expect(refused === undefined).toBe(laterUs === waitUs);
        if (refused === undefined) return;
        const store = algorithm.copy(states[0] as BucketState);
        algorithm.advance(store, shape, START_US + laterUs);
        expect(algorithm.fits(store, shape, asked)).toBe(false);
        expect(denial.refuse("key", [asked], seenMs + laterUs / 1000 + refused.retryAfterMs)).toBeUndefined();
      }),
      { numRuns: 300 },
    );
  });

  describe("of a sliding window log", () => {
    const LOG: PolicyOptions = { name: "log", limit: 10, period: "1s", algorithm: "sliding-window-log" };
    const set = policyResolver(LOG)("key");
    const { shape } = set.policies[0] as PolicySet["policies"][number];

    /** A store's log with a token each 20 ms until now, and what it tells of it when it refused `costs`. */
    function toldOf(costs: readonly number[]): { state: BucketState; denial: Denial } {
      const algorithm = algorithmOf(shape);
      const state = algorithm.open(shape, START_US - 180_000);
      for (let i = 0; i < 10; i++) {
        algorithm.advance(state, shape, START_US - 180_000 + i * 20_000);
        algorithm.charge(state, shape, 1);
      }
      return { state, denial: new Denial(set, [summaryOf(state, shape, costs)], START_US, 0, 0) };
    }

    it("refuses costs that were refused, cheaper and dearer ones whose wait it knows, and asks about all others", () => {
      const { denial } = toldOf([4]);
      const waits = [1, 2, 3, 4, 5, 6, 9, 10].map((cost) => denial.refuse("key", [cost], 100)?.retryAfterMs);
      expect(waits).toEqual([720, undefined, undefined, 780, undefined, undefined, undefined, 900]);
    });

    it("refuses nothing that the store would admit", () => {
      for (let cost = 1; cost <= 10; cost++) {
        const { state, denial } = toldOf([cost]);
        for (const ms of [819, 820, 839, 840, 880, 999]) {
          const later = algorithmOf(shape).copy(state);
          algorithmOf(shape).advance(later, shape, START_US + ms * 1000);
          const fits = algorithmOf(shape).fits(later, shape, cost);
          expect(denial.refuse("key", [cost], ms) === undefined).toBe(fits);
        }
      }
    });
  });
});
