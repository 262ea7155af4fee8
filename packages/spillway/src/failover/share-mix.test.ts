import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { WHOLE } from "../stores/share-ledger.ts";
import { shareInUse } from "./share-mix.ts";

const mixed = (share: number, even: number, heardMs = 0, awayMs = 0): number =>
  shareInUse({ share: share * WHOLE, even: even * WHOLE }, heardMs, awayMs);

describe("the share in use", () => {
  it("is nine parts of what follows demand and one of what is the same for all", () => {
    expect(mixed(1, 0.25)).toBeCloseTo(0.925, 12);
    expect(mixed(0, 0.25)).toBeCloseTo(0.025, 12);
    expect(mixed(0.25, 0.25)).toBeCloseTo(0.25, 12);
  });

  it("is trusted for half a minute, and the same for all a minute later", () => {
    const hot = [0, 29, 30, 60, 90, 1000].map((seconds) => mixed(1, 0.25, 1000 * seconds, 1000 * seconds));
    expect(hot.map((part) => Number(part.toFixed(4)))).toEqual([0.925, 0.925, 0.925, 0.5875, 0.25, 0.25]);
    const cold = [0, 29, 30, 60, 90, 1000].map((seconds) => mixed(0, 0.25, 1000 * seconds, 1000 * seconds));
    expect(cold.map((part) => Number(part.toFixed(4)))).toEqual([0.025, 0.025, 0.025, 0.1375, 0.25, 0.25]);
  });

  it("changes once a second", () => {
    expect(mixed(1, 0.25, 45_001)).toBe(mixed(1, 0.25, 46_000));
    expect(mixed(0, 0.25, 0, 45_999)).toBe(mixed(0, 0.25, 0, 45_000));
  });

  it("sums to at most 1 at any time, whenever each last heard of the store and found out that it is away", () => {
    const anyParts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 2, maxLength: 9 });
    const parts = anyParts.map((weights) => {
      const sum = weights.reduce((a, b) => a + b, 0);
      return sum === 0 ? weights : weights.map((weight) => Math.floor((weight / sum) * WHOLE) / WHOLE);
    });
    const anyCase = fc.record({
      shares: parts,
      awayForMs: fc.nat(150_000),
      // When each last heard before the store went away, and how long after that it noticed.
      offsets: fc.array(fc.tuple(fc.nat(5000), fc.nat(5000)), { minLength: 9, maxLength: 9 }),
    });
    fc.assert(
      fc.property(anyCase, ({ shares, awayForMs, offsets }) => {
        const even = Math.floor(WHOLE / shares.length) / WHOLE;
        const sum = shares.reduce((total, share, i) => {
          const [heard, noticed] = offsets[i] as [number, number];
          return total + mixed(share, even, awayForMs + heard, Math.max(0, awayForMs - noticed));
        }, 0);
        expect(sum).toBeLessThanOrEqual(1 + 1e-9);
      }),
      { numRuns: 2000 },
    );
  });
});
