import { describe, expect, it } from "vitest";
import {
  invalidCost,
  invalidKey,
  invalidOption,
  isSpillwayError,
  SpillwayError,
  show,
  unknownPolicy,
} from "./errors.ts";

describe("show", () => {
  function named(): void {}
  class Thing {}

  it.each([
    ["text", '"text"'],
    ["a".repeat(100), `"${"a".repeat(60)}…"`],
    ["", '""'],
    ['a "quote"', '"a \\"quote\\""'],
    [0, "0"],
    [-0, "-0"],
    [Number.NaN, "NaN"],
    [Number.NEGATIVE_INFINITY, "-Infinity"],
    [10n, "10n"],
    [null, "null"],
    [undefined, "undefined"],
    [false, "false"],
    [Symbol("s"), "Symbol(s)"],
    [named, "function named"],
    [() => {}, "function (anonymous)"],
    [[1, 2], "an array of 2"],
    [{}, "an object of Object"],
    [new Thing(), "an object of Thing"],
    [Promise.resolve(), "an object of Promise"],
    [Object.create(null), "an object of no class"],
  ])("shows a value with its type where that is the point, and never long (%#)", (value, text) => {
    expect(show(value)).toBe(text);
  });
});

describe("errors", () => {
  it("carry a code, a message with option, expected and got, and a cause", () => {
    const error = invalidOption("limit", "a whole number", "100");
    expect(error).toBeInstanceOf(SpillwayError);
    expect([error.code, error.message]).toEqual([
      "ERR_SPILLWAY_INVALID_OPTION",
      'Option limit must be a whole number, got "100".',
    ]);
    const cause = new Error("below");
    expect(new SpillwayError("ERR_SPILLWAY_STORE_FAILED", "above", { cause }).cause).toBe(cause);
  });

  it("of a bad argument are a TypeError or a RangeError with a code", () => {
    expect(invalidKey("a string", 5)).toBeInstanceOf(TypeError);
    expect(invalidKey("a string", 5)).toMatchObject({ code: "ERR_SPILLWAY_INVALID_KEY" });
    expect(invalidCost(-1)).toBeInstanceOf(RangeError);
    expect(invalidCost("1")).toBeInstanceOf(TypeError);
    expect(invalidCost(Number.NaN).message).toBe("A cost must be a whole number from 0 to 9007199254740991, got NaN.");
    expect(unknownPolicy("x")).toMatchObject({ name: "TypeError", code: "ERR_SPILLWAY_INVALID_COST" });
  });

  it("are known across copies of the package by name and code, and nothing else is taken for one", () => {
    const foreign = Object.assign(new Error("x"), { name: "SpillwayError", code: "ERR_SPILLWAY_CLOSED" });
    expect(isSpillwayError(new SpillwayError("ERR_SPILLWAY_CLOSED", "x"))).toBe(true);
    expect(isSpillwayError(foreign)).toBe(true);
    for (const other of [new Error("x"), { name: "SpillwayError", code: "x" }, null, undefined, "SpillwayError"])
      expect(isSpillwayError(other)).toBe(false);
  });
});
