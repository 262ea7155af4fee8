import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { resolvePolicy } from "../policy.ts";
import { advanceOwed, newOwed, type Owed, owedTokens } from "./owed.ts";

/** 100 tokens a second, and a burst of 20 that fills in 200 ms. */
const POLICY = resolvePolicy({ name: "p", limit: 100, period: "1s", burst: 20 }, "policy");
const FULL_US = 200_000;

function admit(owed: Owed, tokens: number, us: number, share = 1): void {
  advanceOwed(owed, POLICY, share, us);
  owed.admitted += tokens;
  owed.unrefilled += tokens;
}

function told(owed: Owed, us: number, share = 1, unnoticedMs = 0): number {
  advanceOwed(owed, POLICY, share, us);
  return owedTokens(owed, POLICY, share, unnoticedMs);
}

describe("what is owed", () => {
  it("is all that went in, until the store's bucket must have been full", () => {
    const owed = newOwed(POLICY, 0);
    admit(owed, 8, 10_000);
    expect([told(owed, 10_000), told(owed, FULL_US)]).toEqual([8, 8]);
  });

  it("is paid by this process's part of the refill that goes to waste from then on", () => {
    const owed = newOwed(POLICY, 0);
    admit(owed, 8, 10_000, 0.5);
    expect(told(owed, FULL_US + 100_000, 0.5)).toBe(3);
    expect(told(owed, FULL_US + 200_000, 0.5)).toBe(0);
    admit(owed, 8, FULL_US + 300_000, 0.5);
    expect(told(owed, FULL_US + 300_000, 0.5)).toBe(8);
  });

  it("is more by what did not go to waste since the store was back, never more than what went in", () => {
    const owed = newOwed(POLICY, 0);
    admit(owed, 8, 10_000, 0.5);
    expect(told(owed, FULL_US + 100_000, 0.5, 40)).toBe(5);
    expect(told(owed, FULL_US + 100_000, 0.5, 1000)).toBe(8);
  });

  it("of a window is kept elsewhere", () => {
    const window = resolvePolicy({ name: "w", limit: 9, period: "1m", algorithm: "fixed-window" }, "policy");
    const owed = newOwed(POLICY, 0);
    owed.unrefilled = 5;
    advanceOwed(owed, window, 1, 1e12);
    expect(owed.unrefilled).toBe(5);
  });

  it("by all together brings the store to where it would be had it decided itself, or below", {
    timeout: 60_000,
  }, () => {
    const stepUs = 10_000;
    const anyCase = fc.record({
      shares: fc.constantFrom([1], [0.5, 0.5], [0.7, 0.2, 0.1], [0.25, 0.25, 0.25, 0.25]),
      // What each admits in each step, as a part of what its share would let it.
      asked: fc.array(fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 4, maxLength: 4 }), {
        maxLength: 80,
      }),
      // Steps after which each notices that the store is back.
      noticed: fc.array(fc.nat(60), { minLength: 4, maxLength: 4 }),
    });
    fc.assert(
      fc.property(anyCase, ({ shares, asked, noticed }) => {
        const { burst } = POLICY.shape as { burst: number };
        const refill = (POLICY.limit * stepUs) / 1e6;
        const backStep = asked.length;
        const lastStep = backStep + Math.max(...shares.map((_, i) => noticed[i] as number));
        const owed = shares.map(() => newOwed(POLICY, 0));
        const shelves = shares.map(() => 0);
        // The bucket as the store sees it, and as it would be if it saw everything: both were empty when it went away.
        let [seen, real] = [0, 0];
        for (let step = 1; step <= lastStep; step++) {
          seen = Math.min(burst, seen + refill);
          real = Math.min(burst, real + refill);
          for (const [i, share] of shares.entries()) {
            shelves[i] = Math.min(share * burst, (shelves[i] as number) + share * refill);
            const own = owed[i] as Owed;
            const isBack = step > backStep + (noticed[i] as number);
            const tokens = (shelves[i] as number) * ((asked[step % Math.max(1, backStep)]?.[i] as number) ?? 0);
            shelves[i] = (shelves[i] as number) - tokens;
            real -= tokens;
            if (isBack) seen -= tokens;
            else admit(own, tokens, step * stepUs, share);
            if (step === backStep + (noticed[i] as number)) {
              const unnoticedMs = ((step - backStep) * stepUs) / 1000;
              seen = Math.max(-burst, seen - told(own, step * stepUs, share, unnoticedMs));
            }
          }
          expect(real).toBeGreaterThan(-1e-6);
        }
        const all = shares.every((_, i) => (noticed[i] as number) > 0 || backStep > 0);
        if (all) expect(seen).toBeLessThanOrEqual(Math.max(real, 0) + 1e-6);
      }),
      { numRuns: 2000 },
    );
  });
});
