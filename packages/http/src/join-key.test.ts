import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { joinKey } from "./join-key.ts";

describe("joinKey", () => {
  it("joins plain parts with a colon", () => {
    expect(joinKey("api-key", "42")).toBe("api-key:42");
  });

  it("keeps lists apart that a plain join would make equal (C18 c)", () => {
    expect(joinKey("a:b", "c")).not.toBe(joinKey("a", "b:c"));
    expect(joinKey("user@example.co", "mtest")).not.toBe(joinKey("user@example.com", "test"));
    expect(joinKey("a%3Ab")).not.toBe(joinKey("a:b"));
    expect(joinKey("", "")).not.toBe(joinKey(""));
  });

  it("never makes two different lists equal", () => {
    const part = fc.oneof(fc.string(), fc.stringMatching(/^[:%235Aa]{0,4}$/));
    const parts = fc.array(part, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(parts, parts, (one, other) => {
        expect(joinKey(...one) === joinKey(...other)).toBe(sameList(one, other));
      }),
      { numRuns: 2000 },
    );
  });

  it("can be undone, so nothing is lost", () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1 }), (parts) => {
        const undone = joinKey(...parts)
          .split(":")
          .map((part) => part.replaceAll("%3A", ":").replaceAll("%25", "%"));
        expect(undone).toEqual(parts);
      }),
    );
  });

  it("refuses no parts and parts that are no strings", () => {
    expect(() => joinKey()).toThrow("at least one part");
    expect(() => joinKey("user", undefined as unknown as string)).toThrow(
      "Part 1 of a key must be a string, got undefined",
    );
    expect(() => joinKey(null as unknown as string)).toThrow("got null");
  });
});

function sameList(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((part, index) => part === other[index]);
}
