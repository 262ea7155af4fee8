import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { resolvePolicy } from "../../policy.ts";
import { bucketKey, keyTag } from "./key-layout.ts";

const BURST = resolvePolicy({ name: "burst", limit: 70, period: "1s" }, "policy");
const DAILY = resolvePolicy({ name: "daily", limit: 70, period: "1d" }, "policy");
const DAILY_WINDOW = resolvePolicy({ name: "daily", limit: 70, period: "1d", algorithm: "fixed-window" }, "policy");

/** Strings with lone surrogates, braces, escapes and long runs among them; UTF-16 code units as they come. */
const anyKey = fc.oneof(
  fc.string({
    unit: fc.constantFrom("{", "}", "%", "a", ":", "0", "\ud800", "\udc00", "\ufffd", "é", "h"),
    maxLength: 12,
  }),
  fc.array(fc.nat(0xffff), { maxLength: 30 }).map((units) => String.fromCharCode(...units)),
  fc.tuple(fc.string({ maxLength: 5 }), fc.integer({ min: 190, max: 210 })).map(([text, n]) => text + "k".repeat(n)),
);

describe("bucketKey", () => {
  it("names prefix, version, key, policy and algorithm, with the key as the hash tag", () => {
    expect(bucketKey("spillway", { key: "api-key:42", policy: BURST })).toBe(
      "spillway:v1:{api-key:42}:burst:token-bucket",
    );
    expect(bucketKey("app:rl", { key: "u1", policy: DAILY_WINDOW })).toBe("app:rl:v1:{u1}:daily:fixed-window");
  });

  it("is another one for another policy, and for another way of counting (C09 d)", () => {
    const keys = [BURST, DAILY, DAILY_WINDOW].map((policy) => bucketKey("p", { key: "k", policy }));
    expect(new Set(keys).size).toBe(3);
  });

  it("is another one for another key, also after Redis has it as UTF-8 (C18 c)", () => {
    const bytesOf = (key: string): string => Buffer.from(bucketKey("p", { key, policy: BURST })).toString("hex");
    const anyUnit = fc.constantFrom("{", "}", "%", "a", ":", "0", "\ud800", "\udc00", "\ufffd", "");
    fc.assert(
      fc.property(anyKey, fc.nat(12), anyUnit, anyKey, (one, at, unit, stranger) => {
        for (const other of [one.slice(0, at) + unit + one.slice(at + 1), stranger])
          expect(bytesOf(one) === bytesOf(other)).toBe(one === other);
      }),
      { numRuns: 1000 },
    );
  });
});

describe("keyTag", () => {
  it.each([
    ["api-key:42", "api-key:42"],
    ["user@example.co", "user@example.co"],
    ["ä€😀", "ä€😀"],
    ["{", "%007b"],
    ["{}", "%007b%007d"],
    ["}x{", "%007dx%007b"],
    ["a}b{c", "a%007db%007bc"],
    ["100%", "100%0025"],
    ["%007b", "%0025007b"],
    ["%h", "%0025h"],
    ["\ud800", "%d800"],
    ["x\udc00y", "x%dc00y"],
    ["\udc00\ud800", "%dc00%d800"],
    ["", "%e"],
  ])("of %j is %s (C14)", (key, tag) => {
    expect(keyTag(key)).toBe(tag);
  });

  it("is never empty, has no braces, and is short, so that every policy of a key shares a slot (C14)", () => {
    fc.assert(
      fc.property(anyKey, (key) => {
        const tag = keyTag(key);
        expect(tag.length).toBeGreaterThan(0);
        expect(tag.length).toBeLessThanOrEqual(200);
        expect(tag).not.toMatch(/[{}]/);
        const stored = bucketKey("spillway", { key, policy: BURST });
        expect(/\{([^}]*)\}/.exec(stored)?.[1]).toBe(tag);
      }),
      { numRuns: 300 },
    );
  });

  it("hashes keys of more than 200 characters once escaped, up to 64 KiB, and tells them apart by any character", () => {
    const long = "k".repeat(65_536);
    expect(keyTag("k".repeat(200))).toBe("k".repeat(200));
    expect(keyTag("k".repeat(201))).toMatch(/^%h[A-Za-z0-9_-]{43}$/);
    expect(keyTag("{".repeat(41))).toMatch(/^%h[A-Za-z0-9_-]{43}$/);
    expect(keyTag(long)).toMatch(/^%h[A-Za-z0-9_-]{43}$/);
    expect(keyTag(long)).not.toBe(keyTag(`${long.slice(0, -1)}l`));
    expect(keyTag(`${"k".repeat(300)}\ud800`)).not.toBe(keyTag(`${"k".repeat(300)}\udc00`));
  });

  it("cannot be forged: the text of another key's hash is escaped", () => {
    const tag = keyTag("k".repeat(201));
    expect(keyTag(tag)).not.toBe(tag);
  });
});
