import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readReset } from "./reset-time.ts";

const now = Date.UTC(2026, 10, 29, 12, 0, 0, 250);

describe("readReset", () => {
  it.each([
    ["0", 0],
    ["17", 17_000],
    ["0.25", 250],
    ["999999999", 999_999_999_000],
    [String(Math.floor(now / 1000) + 5), 4750],
    [`${Math.floor(now / 1000) + 5}.5`, 5250],
    [String(now + 1234), 1234],
    ["1000000000", 0],
    ["9".repeat(64), Number.MAX_SAFE_INTEGER],
  ])("takes the number %s for seconds from now, or since 1970 when it is that large", (text, ms) => {
    expect(readReset(text, now)).toBe(ms);
  });

  it.each([
    ["1s", 1000],
    ["12ms", 12],
    ["6m0s", 360_000],
    ["1h2m3s", 3_723_000],
    ["2m59.56s", 179_560],
    ["0.2ms", 1],
    ["1500us", 2],
    ["1500µs", 2],
    ["1500μs", 2],
    ["1ns", 1],
    ["0s", 0],
  ])("reads the duration %s, rounded up to whole ms", (text, ms) => {
    expect(readReset(text, now)).toBe(ms);
  });

  it.each([
    ["2026-11-29T12:00:10Z", 9750],
    ["2026-11-29t12:00:10.5z", 10_250],
    ["2026-11-29T14:00:10+02:00", 9750],
    ["2026-11-29T06:30:10-05:30", 9750],
    ["2026-11-29T12:01Z", 59_750],
    ["2026-12-31T23:59:60Z", Date.UTC(2027, 0, 1) - now],
    ["2020-01-01T00:00:00Z", 0],
    ["Sun, 29 Nov 2026 12:00:10 GMT", 9750],
  ])("reads the instant %s", (text, ms) => {
    expect(readReset(text, now)).toBe(ms);
  });

  it.each([
    "",
    " ",
    "soon",
    "-1",
    "+1",
    "1e3",
    "0x10",
    "Infinity",
    "NaN",
    "1.",
    ".5",
    "5, 10",
    "1 s",
    "1d",
    "-1s",
    "2026-02-30T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-11-29T24:00:00Z",
    "2026-11-29T12:00:00",
    "2026-11-29",
    "9".repeat(65),
    "1h".repeat(500_000),
  ])("gives nothing for %j", (text) => {
    expect(readReset(text, now)).toBeUndefined();
  });

  it("reads every instant that toISOString writes", () => {
    fc.assert(
      fc.property(fc.integer({ min: now, max: Date.UTC(2200, 0) }), (at) => {
        expect(readReset(new Date(at).toISOString(), now)).toBe(at - now);
      }),
    );
  });

  it("gives nothing for an instant when the clock is no number, and still a delta", () => {
    expect(readReset("2026-11-29T12:00:10Z", Number.NaN)).toBeUndefined();
    expect(readReset("1800000000", Number.NaN)).toBeUndefined();
    expect(readReset("7", Number.NaN)).toBe(7000);
  });
});
