import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { keyTag } from "./key-layout.ts";
import { keySlot, slotOfStoreKey } from "./key-slot.ts";

describe("keySlot", () => {
  // What CLUSTER KEYSLOT of Redis 7.0 answers.
  it.each([
    ["123456789", 12739],
    ["foo", 12182],
    ["a", 15495],
    ["ä", 13929],
    ["api-key:42", 5587],
    ["user1000", 3443],
    ["{bar", 4015],
    ["bar", 5061],
    ["", 0],
  ])("of %j is %d", (tag, slot) => {
    expect(keySlot(tag)).toBe(slot);
  });

  it("is a slot of a cluster for every key", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(0xffff), { maxLength: 40 }), (units) => {
        const slot = keySlot(keyTag(String.fromCharCode(...units)));
        expect(Number.isInteger(slot) && slot >= 0 && slot < 16_384).toBe(true);
      }),
      { numRuns: 100 },
    );
  });
});

it("the slot of a whole key is that of its tag, or of all of it when it has none", () => {
  expect(slotOfStoreKey("spillway:v1:{api:u1}:hour:token-bucket")).toBe(keySlot("api:u1"));
  expect(slotOfStoreKey("app:spillway:v1:{a}:b}c")).toBe(keySlot("a"));
  for (const key of ["spillway-shares:v1", "a{}b", "}a{", "a{b"]) expect(slotOfStoreKey(key)).toBe(keySlot(key));
});
