import { describe, expect, it } from "vitest";
import { requireNumber, requireObject, requireWhole } from "./options.ts";

const NO_NUMBER = [Number.NaN, "5", 5n, null, undefined, true, {}, [5]];

describe("option checks", () => {
  it("take the ends of a range", () => {
    expect([requireWhole(1, "n", 1, 10), requireWhole(10, "n", 1, 10)]).toEqual([1, 10]);
    expect([requireNumber(0.5, "n", 0.5, 2), requireNumber(2, "n", 0.5, 2)]).toEqual([0.5, 2]);
  });

  it.each([...NO_NUMBER, 0, 11, 1.5, -1, Number.POSITIVE_INFINITY])(
    "refuse %s where a whole number is asked for",
    (value) => {
      expect(() => requireWhole(value, "n", 1, 10)).toThrow(/^Option n must be a whole number from 1 to 10, got /);
    },
  );

  it.each([...NO_NUMBER, 0.4, 2.1, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])(
    "refuse %s where a number is asked for",
    (value) => {
      expect(() => requireNumber(value, "n", 0.5, 2)).toThrow(/^Option n must be a number from 0.5 to 2, got /);
    },
  );

  it("refuse what is no object, and names that nobody knows", () => {
    expect(() => requireObject({ a: 1 }, "options", ["a", "b"])).not.toThrow();
    for (const value of [null, undefined, 1, "text"])
      expect(() => requireObject(value, "options", ["a"])).toThrow(/^Option options must be an object, got /);
    expect(() => requireObject({ a: 1, c: 2 }, "options", ["a", "b"])).toThrow(
      'Option options.c must be one of a, b, got "c".',
    );
  });
});
