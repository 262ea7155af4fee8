import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { quotientDown, quotientUp } from "./exact-quotient.ts";
import { anyScale } from "./test-support.ts";

const anyFactor = anyScale(0, 2 ** 49 - 1);
const anyTerm = anyScale(0, 2 ** 45 - 1);
const anyDivisor = anyScale(1, 2 ** 45 - 1);

describe("a quotient of a product", () => {
  it("has every digit, also where the product passes 2^53", () => {
    fc.assert(
      fc.property(anyFactor, anyTerm, anyDivisor, (a, b, divisor) => {
        const exact = (BigInt(a) * BigInt(b)) / BigInt(divisor);
        fc.pre(exact < BigInt(Number.MAX_SAFE_INTEGER));
        const isWhole = (BigInt(a) * BigInt(b)) % BigInt(divisor) === 0n;
        expect(quotientDown(a, b, divisor)).toBe(Number(exact));
        expect(quotientUp(a, b, divisor)).toBe(Number(exact) + (isWhole ? 0 : 1));
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    [1e12, 31_622_400_000_000, 31_622_400_000_000, 1e12, 1e12],
    [1e12, 31_622_399_999_999, 31_622_400_000_000, 999_999_999_999, 1e12],
    [2e12, 1, 31_622_400_000_000, 0, 1],
    [0, 31_622_400_000_000, 1, 0, 0],
    [7, 3, 10, 2, 3],
  ])("%i x %i / %i is %i, or %i rounded up", (a, b, divisor, down, up) => {
    expect([quotientDown(a, b, divisor), quotientUp(a, b, divisor)]).toEqual([down, up]);
  });
});
