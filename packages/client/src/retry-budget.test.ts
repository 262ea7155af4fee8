import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RetryBudget } from "./retry-budget.ts";

describe("a retry budget", () => {
  it("starts with its reserve and is then paid a tenth by each first attempt", () => {
    const budget = new RetryBudget(0.1, 2);
    expect([budget.withdraw(), budget.withdraw(), budget.withdraw()]).toEqual([true, true, false]);
    for (let call = 0; call < 9; call++) budget.deposit();
    expect(budget.withdraw()).toBe(false);
    budget.deposit();
    expect(budget.withdraw()).toBe(true);
  });

  it("saves no more than its reserve, and at least one retry even with none", () => {
    const budget = new RetryBudget(0.1, 3);
    for (let call = 0; call < 1000; call++) budget.deposit();
    expect(budget.left).toBe(3);
    const bare = new RetryBudget(0.5, 0);
    expect(bare.withdraw()).toBe(false);
    bare.deposit();
    bare.deposit();
    expect(bare.withdraw()).toBe(true);
  });

  it("takes back what was not used", () => {
    const budget = new RetryBudget(0.1, 1);
    budget.withdraw();
    budget.refund();
    expect(budget.withdraw()).toBe(true);
    budget.refund();
    budget.refund();
    expect(budget.left).toBe(1);
  });

  it("never lets retries exceed the reserve and the ratio of first attempts, in any order", () => {
    const steps = fc.array(fc.constantFrom("first", "retry", "unsent"), { maxLength: 400 });
    const ratios = fc.integer({ min: 0, max: 100 }).map((percent) => percent / 100);
    fc.assert(
      fc.property(ratios, fc.nat(20), steps, (ratio, reserve, all) => {
        const budget = new RetryBudget(ratio, reserve);
        let [firsts, retries] = [0, 0];
        for (const step of all) {
          if (step === "first") {
            firsts++;
            budget.deposit();
          } else if (step === "retry" && budget.withdraw()) retries++;
          else if (step === "unsent" && retries > 0) {
            retries--;
            budget.refund();
          }
          expect(retries).toBeLessThanOrEqual(reserve + ratio * firsts + 1e-9);
          expect(budget.left).toBeGreaterThanOrEqual(0);
        }
      }),
    );
  });
});
