import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readRetryAfter, writeRetryAfter } from "./retry-after.ts";

const now = Date.UTC(2026, 10, 29, 12, 0, 0, 250);

describe("writeRetryAfter", () => {
  it.each([
    [0, "1"],
    [0.001, "1"],
    [200, "1"],
    [1000, "1"],
    [1000.001, "2"],
    [1900, "2"],
    [-5, "1"],
    [86_400_000, "86400"],
  ])("writes a wait of %d ms as %s", (waitMs, text) => {
    expect(writeRetryAfter(waitMs)).toBe(text);
  });

  it.each([Number.POSITIVE_INFINITY, Number.NaN, 1e300])("promises nothing for %d", (waitMs) => {
    expect(writeRetryAfter(waitMs)).toBeUndefined();
  });

  it("is digits alone, never before the true wait and less than a second after it", () => {
    const microseconds = fc.oneof(fc.nat(5_000_000), fc.nat(Number.MAX_SAFE_INTEGER));
    fc.assert(
      fc.property(microseconds, (us) => {
        const waitMs = us / 1000;
        const text = writeRetryAfter(waitMs) as string;
        expect(text).toMatch(/^[1-9][0-9]*$/);
        expect(Number(text) * 1000).toBeGreaterThanOrEqual(waitMs);
        expect(Number(text) * 1000).toBeLessThan(Math.max(waitMs + 1000, 1001));
        expect(readRetryAfter(text, now)).toBe(Number(text) * 1000);
      }),
    );
  });
});

describe("readRetryAfter", () => {
  it.each([
    ["0", 0],
    ["1", 1000],
    ["0012", 12_000],
    [" 7\t", 7000],
    ["9".repeat(400), Number.MAX_SAFE_INTEGER],
  ])("reads %j as %d ms", (value, ms) => {
    expect(readRetryAfter(value, now)).toBe(ms);
  });

  it.each(["Sun, 29 Nov 2026 12:00:03 GMT", "Sunday, 29-Nov-26 12:00:03 GMT", "Sun Nov 29 12:00:03 2026"])(
    "counts from now to %s",
    (value) => {
      expect(readRetryAfter(value, now)).toBe(2750);
    },
  );

  it("reads a date in the past as no wait", () => {
    expect(readRetryAfter("Sun, 29 Nov 2026 11:00:00 GMT", now)).toBe(0);
  });

  it.each([
    "soon",
    "",
    " ",
    "1000abc",
    "-5",
    "+5",
    "1e3",
    "0x10",
    "Infinity",
    "NaN",
    "1.5",
    "5, 10",
    "²",
    "٣",
    "5\n",
    "Sun, 29 Nov 2026",
  ])("counts %j as absent (C05)", (value) => {
    expect(readRetryAfter(value, now)).toBeUndefined();
  });

  it("counts a missing value as absent", () => {
    expect(readRetryAfter(undefined, now)).toBeUndefined();
    expect(readRetryAfter(null, now)).toBeUndefined();
  });

  it("is finite and never negative for any text", () => {
    const texts = fc.oneof(fc.string(), fc.stringMatching(/^[0-9.eEx+, -]*$/));
    fc.assert(
      fc.property(texts, (text) => {
        const ms = readRetryAfter(text, now);
        expect(ms === undefined || (Number.isFinite(ms) && ms >= 0)).toBe(true);
      }),
    );
  });
});
