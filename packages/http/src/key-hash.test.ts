import { createHmac } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createKeyHash } from "./key-hash.ts";

const secret = "a secret of this very service";
const hash = createKeyHash({ secret });

describe("createKeyHash", () => {
  it("gives the start of HMAC-SHA-256 in base64url, the same for the same secret as text or bytes", () => {
    const whole = createHmac("sha256", secret).update("sk-live-42").digest("base64url");
    expect(hash("sk-live-42")).toBe(whole.slice(0, 22));
    expect(createKeyHash({ secret: Buffer.from(secret), length: 43 })("sk-live-42")).toBe(whole);
  });

  it("has 22 characters of the base64url alphabet for any identifier, and nothing of it", () => {
    fc.assert(
      fc.property(anyText({ minLength: 1 }), (identifier) => {
        expect(hash(identifier)).toMatch(/^[A-Za-z0-9_-]{22}$/);
        expect(hash(identifier)).toBe(hash(identifier));
      }),
    );
  });

  it("tells identifiers apart, those too that UTF-8 would make equal", () => {
    const unlike = [
      "a",
      "A",
      "a ",
      "\ud800",
      "\udfff",
      "\ufffd",
      "\ud800a",
      "a\ud800",
      "é",
      "e\u0301",
      "\xff",
      "\xff\ud800",
    ];
    expect(new Set(unlike.map(hash)).size).toBe(unlike.length);
    // The UTF-16 of the first is the UTF-8 of the second.
    expect(hash("\ud861\u4180")).not.toBe(hash("a\u0600A"));
    expect(createKeyHash({ secret: `${secret}!` })("a")).not.toBe(hash("a"));
  });

  it("keeps its own copy of the secret", () => {
    const bytes = Buffer.from(secret);
    const own = createKeyHash({ secret: bytes });
    bytes.fill(0);
    expect(own("a")).toBe(hash("a"));
  });

  it.each([
    [{}, "Option secret must be a string or a Uint8Array, got "],
    [{ secret: 7 }, "Option secret must be a string or a Uint8Array, got "],
    [{ secret: "fifteen letters" }, "Option secret must be at least 16 bytes, got "],
    [{ secret, length: 21 }, "Option length must be a whole number from 22 to 43, got 21"],
    [{ secret, length: 44 }, "Option length must be"],
    [{ secret, length: 22.5 }, "Option length must be"],
  ])("refuses the options %j and never shows the secret", (options, message) => {
    const making = () => createKeyHash(options as never);
    expect(making).toThrow(TypeError);
    expect(making).toThrow(message);
    expect(making).not.toThrow("fifteen");
  });

  it.each(["", undefined, null, 42])("refuses the identifier %j, so that strangers share no hash", (identifier) => {
    expect(() => hash(identifier as string)).toThrow(/^An identifier must be a string that is not empty, got/);
  });
});

/** Any UTF-16 code units, halves of pairs too. */
function anyText(constraints: fc.ArrayConstraints): fc.Arbitrary<string> {
  return fc.array(fc.nat(0xffff), constraints).map((units) => String.fromCharCode(...units));
}
