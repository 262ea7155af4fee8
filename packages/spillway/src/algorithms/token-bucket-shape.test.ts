import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyRate, anyScale, DAY_US, type Rate, SECOND_US } from "./test-support.ts";
import { tokenBucketShape } from "./token-bucket.ts";

describe("the numbers of a policy", () => {
  const anyPolicy = fc
    .tuple(anyScale(1, 1e12), anyScale(1000, 366 * DAY_US), anyScale(1, 1e12))
    .map(([limit, periodUs, burst]): Rate => ({ limit, periodUs, burst }));

  it("are whole and below 2^53 for every policy that can be made", () => {
    fc.assert(
      fc.property(fc.oneof(anyRate, anyPolicy), (rate) => {
        const { unitsPerToken, unitsPerTick, tickUs } = tokenBucketShape(rate.limit, rate.periodUs, rate.burst);
        for (const number of [unitsPerToken, unitsPerTick, tickUs, unitsPerToken * rate.burst])
          expect(Number.isSafeInteger(number) && number >= 1).toBe(true);
      }),
      { numRuns: 500, examples: [[{ limit: 7, periodUs: 366 * DAY_US, burst: 1e12 }]] },
    );
  });

  // The stated error: never faster than the policy, and slower by less than burst / 2^53 of the rate (to first order; as a
  // whole number of units has to be left of 2^53 / burst: by less than burst / (2^53 - 1 - burst)).
  it("give the exact rate where burst x period fits, elsewhere one that is low by less than burst / 2^53 of itself", () => {
    fc.assert(
      fc.property(fc.oneof(anyRate, anyPolicy), ({ limit, periodUs, burst }) => {
        const { unitsPerToken, unitsPerTick, tickUs } = tokenBucketShape(limit, periodUs, burst);
        // Time of one token, ours against the policy's, times limit x unitsPerTick.
        const ours = BigInt(unitsPerToken) * BigInt(tickUs) * BigInt(limit);
        const exact = BigInt(periodUs) * BigInt(unitsPerTick);
        const most = BigInt(Number.MAX_SAFE_INTEGER);
        expect(ours >= exact).toBe(true);
        if (BigInt(burst) * BigInt(periodUs) <= most) expect([tickUs, ours]).toEqual([1, exact]);
        expect((ours - exact) * (most - BigInt(burst)) <= exact * BigInt(burst)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    [1, 30 * DAY_US, 1],
    [7, 30 * DAY_US, 7],
    [7, 30 * DAY_US, 1_000_000],
    [700_000, SECOND_US, 1_000_000],
    [1_000_000, SECOND_US, 1_000_000],
  ])("give the exact rate for %d per %d us, burst %d", (limit, periodUs, burst) => {
    const { unitsPerToken, unitsPerTick, tickUs } = tokenBucketShape(limit, periodUs, burst);
    expect(BigInt(unitsPerToken * tickUs) * BigInt(limit)).toBe(BigInt(periodUs) * BigInt(unitsPerTick));
  });
});
