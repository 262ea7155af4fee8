import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { PolicyOptions } from "./policy.ts";
import { type Cost, type PoliciesOption, policyResolver, resolveCosts } from "./policy-set.ts";

const BURST: PolicyOptions = { name: "burst", limit: 70, period: "1s" };
const DAILY: PolicyOptions = { name: "daily", limit: 1000, period: "1d", algorithm: "fixed-window" };

describe("policyResolver", () => {
  it("takes one policy, several, or a function of the key, in the order given", () => {
    const namesOf = (option: PoliciesOption): string[] =>
      policyResolver(option)("key").policies.map(({ name }) => name);
    expect(namesOf(BURST)).toEqual(["burst"]);
    expect(namesOf([DAILY, BURST])).toEqual(["daily", "burst"]);
    expect(namesOf((key) => (key === "key" ? [BURST, DAILY] : DAILY))).toEqual(["burst", "daily"]);
  });

  it("checks an object of a function once, and gives the same set for it each time", () => {
    const tiers = { free: { ...BURST, limit: 1 }, paid: [BURST, DAILY] };
    const resolve = policyResolver((key) => (key.startsWith("paid") ? tiers.paid : tiers.free));
    expect(resolve("paid:1")).toBe(resolve("paid:2"));
    expect(resolve("paid:1")).not.toBe(resolve("free:1"));
    (tiers.free as { limit: unknown }).limit = Number.NaN;
    expect(resolve("free:1")).toBe(resolve("free:2"));
  });

  it("gives the same set for objects that say the same, so that a function which makes them anew is not a leak", () => {
    const resolve = policyResolver((key) => [{ ...BURST, limit: key.length }, { ...DAILY }]);
    expect(resolve("four")).toBe(resolve("five"));
    expect(resolve("four")).not.toBe(resolve("three"));
  });

  it.each<[string, RegExp, unknown]>([
    [
      "nothing",
      /^Option policies must be a policy, an array of policies, or a function .*, got undefined\.$/,
      undefined,
    ],
    ["an empty array", /^Option policies must be one policy, or an array of 1 to 16, got an array of 0\.$/, []],
    [
      "17 policies",
      /an array of 1 to 16, got an array of 17/,
      Array.from({ length: 17 }, (_, i) => ({ ...BURST, name: `n${i}` })),
    ],
    ["a hole", /^Option policies\[0\] must be a policy object, got undefined/, Object.assign([], { 1: BURST })],
    [
      "a bad second policy",
      /^Option policies\[1\]\.limit must be .*, got NaN\.$/,
      [BURST, { ...DAILY, limit: Number.NaN }],
    ],
    ["a promise", /^Option policies must be synchronous: .*, got an object of Promise\.$/, Promise.resolve(BURST)],
    [
      "names given twice",
      /^Option policies\[2\]\.name must be different from the names before it, got "burst"\.$/,
      [BURST, DAILY, { ...DAILY, name: "burst" }],
    ],
  ])("refuses %s at construction", (_, message, option) => {
    expect(() => policyResolver(option as PoliciesOption)).toThrow(
      expect.objectContaining({ code: "ERR_SPILLWAY_INVALID_OPTION", message: expect.stringMatching(message) }),
    );
  });

  it.each<[string, RegExp, unknown]>([
    ["undefined", /^Option policies\(key\) must be a policy or an array of policies, got undefined\.$/, undefined],
    ["null", /got null\.$/, null],
    ["NaN", /got NaN\.$/, Number.NaN],
    ["text", /got "paid"\.$/, "paid"],
    ["a function", /got function /, () => BURST],
    ["an empty array", /^Option policies\(key\) must be one policy, .*, got an array of 0\.$/, []],
    ["an empty object", /^Option policies\(key\)\.name must be .*, got undefined\.$/, {}],
    ["a promise", /^Option policies\(key\) must be synchronous/, Promise.resolve(BURST)],
    ["a limit that is NaN", /^Option policies\(key\)\.limit must be .*, got NaN\.$/, { ...BURST, limit: Number.NaN }],
    ["a bad policy in an array", /^Option policies\(key\)\[1\]\.period must be/, [BURST, { ...DAILY, period: 0 }]],
  ])("refuses a function that returns %s, each time, and never lets it mean unlimited", (_, message, returned) => {
    const resolve = policyResolver((() => returned) as PoliciesOption);
    for (let i = 0; i < 2; i++) {
      expect(() => resolve("key")).toThrow(
        expect.objectContaining({ code: "ERR_SPILLWAY_INVALID_OPTION", message: expect.stringMatching(message) }),
      );
    }
  });

  it("leaves no rejection unhandled when an asynchronous function fails", async () => {
    const rejections: unknown[] = [];
    const note = (reason: unknown): number => rejections.push(reason);
    process.on("unhandledRejection", note);
    const resolve = policyResolver((async () => {
      throw new Error("no database");
    }) as unknown as PoliciesOption);
    expect(() => resolve("key")).toThrow(/synchronous/);
    await setImmediate();
    process.off("unhandledRejection", note);
    expect(rejections).toEqual([]);
  });
});

describe("resolveCosts", () => {
  const set = policyResolver([BURST, DAILY])("key");
  const costs = (cost: unknown): readonly number[] => resolveCosts(cost as Cost, set);

  it("gives one number to all policies, or to each its own, and 0 to those not named", () => {
    expect(costs(1)).toEqual([1, 1]);
    expect(costs(0)).toEqual([0, 0]);
    expect(costs(Number.MAX_SAFE_INTEGER)).toEqual([Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]);
    expect(costs({ daily: 5, burst: 2 })).toEqual([2, 5]);
    expect(costs({ daily: 5 })).toEqual([0, 5]);
    expect(costs(Object.assign(Object.create(null), { burst: 3 }))).toEqual([3, 0]);
  });

  const BAD: [unknown, ErrorConstructor, string][] = [
    [-1, RangeError, "-1"],
    [-0, RangeError, "-0"],
    [Number.NaN, RangeError, "NaN"],
    [Number.POSITIVE_INFINITY, RangeError, "Infinity"],
    [1.5, RangeError, "1.5"],
    [2 ** 53, RangeError, "9007199254740992"],
    ["1", TypeError, '"1"'],
    [null, TypeError, "null"],
    [undefined, TypeError, "undefined"],
    [1n, TypeError, "1n"],
    [true, TypeError, "true"],
  ];

  it.each(BAD)("refuses %s, alone and for one policy (C07)", (cost, type, got) => {
    const error = (name: string): object => ({
      code: "ERR_SPILLWAY_INVALID_COST",
      message: `A ${name} must be a whole number from 0 to 9007199254740991, got ${got}.`,
    });
    expect(() => costs(cost)).toThrow(type);
    expect(() => costs(cost)).toThrow(expect.objectContaining(error("cost")));
    expect(() => costs({ burst: 1, daily: cost })).toThrow(type);
    expect(() => costs({ burst: 1, daily: cost })).toThrow(expect.objectContaining(error('cost for policy "daily"')));
  });

  it.each<[string, unknown]>([
    ["a promise", Promise.resolve(5)],
    ["a map", new Map([["burst", 5]])],
    ["an array", [5, 5]],
    ["an empty array", []],
    ["a boxed number", Object(5)],
    ["a date", new Date()],
    ["a function", () => 5],
  ])("refuses %s, which names no policy and would cost nothing", (_, cost) => {
    expect(() => costs(cost)).toThrow(TypeError);
    expect(() => costs(cost)).toThrow(expect.objectContaining({ code: "ERR_SPILLWAY_INVALID_COST" }));
  });

  it("refuses a policy that the key does not have", () => {
    const error = {
      code: "ERR_SPILLWAY_INVALID_COST",
      message: 'A cost must be for policies of its key, got one for "dayly".',
    };
    expect(() => costs({ burst: 1, dayly: 5 })).toThrow(TypeError);
    expect(() => costs({ burst: 1, dayly: 5 })).toThrow(expect.objectContaining(error));
  });
});
