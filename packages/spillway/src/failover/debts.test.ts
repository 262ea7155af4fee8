import { describe, expect, it } from "vitest";
import { resolvePolicy } from "../policy.ts";
import { type Debt, Debts, tokensOf } from "./debts.ts";
import { newOwed } from "./owed.ts";

/** 100 tokens a second, and a burst of 20 that fills in 200 ms. */
const BUCKET = resolvePolicy({ name: "p", limit: 100, period: "1s", burst: 20 }, "policy");

function debtOf(key: string, tokens: number, rest: Partial<Debt> = {}): Debt {
  const owed = { ...newOwed(BUCKET, 0), admitted: tokens, unrefilled: tokens };
  return { key, policy: BUCKET, owed, untilMs: undefined, ...rest };
}

const takeAll = (debts: Debts): Debt[] => debts.keys().flatMap((key) => debts.take(key));
const whole = ({ owed }: Debt): number => owed.admitted;

describe("debts of buckets that were let go", () => {
  it("are told once, in order of age", () => {
    const debts = new Debts(10);
    for (const key of ["a", "b", "c"]) debts.add(debtOf(key, 1), whole);
    expect(debts.keys()).toEqual(["a", "b", "c"]);
    expect(debts.take("b").map(({ key }) => key)).toEqual(["b"]);
    expect(debts.take("b")).toEqual([]);
    expect(takeAll(debts).map(({ key }) => key)).toEqual(["a", "c"]);
    expect(debts.size).toBe(0);
  });

  it("of more than there is room for drop the oldest, or the new one where no more is left of it", () => {
    const debts = new Debts(3);
    for (const [key, tokens] of Object.entries({ a: 1, b: 2, c: 1, d: 1, e: 2, f: 2 }))
      debts.add(debtOf(key, tokens), whole);
    expect(debts.size).toBe(3);
    expect(takeAll(debts).map(({ key }) => key)).toEqual(["b", "c", "e"]);
    debts.add(debtOf("g", 1), whole);
    expect(takeAll(debts).map(({ key }) => key)).toEqual(["g"]);
  });

  it("are taken back with their bucket, and those of other policies of the key are not", () => {
    const debts = new Debts(3);
    const other = resolvePolicy({ name: "q", limit: 1, period: "1s" }, "policy");
    debts.add(debtOf("a", 1), whole);
    debts.add(debtOf("a", 2, { policy: other }), whole);
    expect(debts.reclaim("a", BUCKET)?.owed.admitted).toBe(1);
    expect(debts.reclaim("a", BUCKET)).toBeUndefined();
    expect(takeAll(debts).map(({ owed }) => owed.admitted)).toEqual([2]);
    expect(debts.size).toBe(0);
  });

  it("are paid by the refill that went to waste, once the store's bucket must have been full", () => {
    expect(tokensOf(debtOf("a", 8), 0.5, 0, 200)).toBe(8);
    expect(tokensOf(debtOf("a", 8), 0.5, 0, 300)).toBe(3);
    expect(tokensOf(debtOf("a", 8), 0.5, 40, 300)).toBe(5);
    expect(tokensOf(debtOf("a", 8), 0.5, 0, 400)).toBe(0);
  });

  it("are all that went in where no refill pays them, until their window is over, and never more than a burst", () => {
    const debt = debtOf("a", 8, { untilMs: 500 });
    expect([tokensOf(debt, 0.5, 0, 499), tokensOf(debt, 0.5, 0, 500)]).toEqual([8, 0]);
    expect(tokensOf(debtOf("a", 300, { untilMs: Number.POSITIVE_INFINITY }), 0.5, 0, 9000)).toBe(20);
  });

  it("are dropped once refill has paid them and more, or their window is over, whatever is older than they are", () => {
    const debts = new Debts(10);
    debts.add(debtOf("paid", 8), whole);
    debts.add(debtOf("window", 8, { untilMs: 5000 }), whole);
    debts.add(debtOf("large", 2000), whole);
    debts.add(debtOf("late", 1), whole);
    // 0.2 s until refill begins to pay, 0.16 s for 8 tokens, and 5 s of refill are not counted.
    const left = [4999, 5359, 5360].map((nowMs) => {
      debts.dropPaid(0.5, nowMs, 10);
      return debts.keys();
    });
    expect(left).toEqual([["paid", "window", "large", "late"], ["paid", "large"], ["large"]]);
  });

  it("are looked at some at a time, round after round", () => {
    const debts = new Debts(10);
    const end = (untilMs: number): Partial<Debt> => ({ untilMs });
    for (const [i, untilMs] of [9000, 2000, 9000, 1000, 2000].entries())
      debts.add(debtOf(`${i}`, 1, end(untilMs)), whole);
    const left = [1000, 1000, 1000, 2000, 2000, 2000].map((nowMs) => {
      debts.dropPaid(0.5, nowMs, 2);
      return debts.keys().join("");
    });
    expect(left).toEqual(["01234", "0124", "0124", "024", "02", "02"]);
  });

  it("that are paid give way to new ones where there is no room, though a larger one is the oldest", () => {
    const debts = new Debts(3);
    debts.add(debtOf("large", 1e9), whole);
    for (const key of ["b", "c"]) debts.add(debtOf(key, 1), whole);
    debts.dropPaid(0.5, 60_000, 10);
    for (const key of ["d", "e"]) debts.add(debtOf(key, 20), whole);
    expect(takeAll(debts).map(({ key }) => key)).toEqual(["large", "d", "e"]);
  });
});
