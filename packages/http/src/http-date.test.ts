import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readHttpDate } from "./http-date.ts";

const november1994 = Date.UTC(1994, 10, 6, 8, 49, 37);
const now = Date.UTC(2026, 10, 29);

describe("readHttpDate", () => {
  it.each(["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"])(
    "reads %s",
    (text) => {
      expect(readHttpDate(text, now)).toBe(november1994);
    },
  );

  it("puts two digits more than 50 years ahead into the past", () => {
    expect(readHttpDate("Sunday, 29-Nov-76 00:00:00 GMT", now)).toBe(Date.UTC(2076, 10, 29));
    expect(readHttpDate("Monday, 29-Nov-76 00:00:01 GMT", now)).toBe(Date.UTC(1976, 10, 29, 0, 0, 1));
    expect(readHttpDate("Saturday, 28-Nov-76 23:59:59 GMT", now)).toBe(Date.UTC(2076, 10, 28, 23, 59, 59));
    expect(readHttpDate("Sunday, 29-Nov-26 00:00:03 GMT", now)).toBe(now + 3000);
    expect(readHttpDate("Tuesday, 29-Nov-77 00:00:00 GMT", now)).toBe(Date.UTC(1977, 10, 29));
    expect(readHttpDate("Friday, 01-Jan-00 00:00:00 GMT", Date.UTC(2099, 11, 31))).toBe(Date.UTC(2100, 0, 1));
  });

  it("finds the 29th of February in the century that has one, and gives nothing without a clock", () => {
    expect(readHttpDate("Tuesday, 29-Feb-00 00:00:00 GMT", now)).toBe(Date.UTC(2000, 1, 29));
    expect(readHttpDate("Tuesday, 29-Feb-00 00:00:00 GMT", Date.UTC(2060, 0))).toBeUndefined();
    expect(readHttpDate("Sunday, 29-Nov-26 00:00:03 GMT", Number.NaN)).toBeUndefined();
  });

  it("reads a leap second as the next second, and keeps years before 100", () => {
    expect(readHttpDate("Sat, 31 Dec 2016 23:59:60 GMT", now)).toBe(Date.UTC(2017, 0, 1));
    expect(new Date(readHttpDate("Sat, 01 Jan 0094 00:00:00 GMT", now) as number).getUTCFullYear()).toBe(94);
  });

  it("reads what toUTCString writes, for every second of four centuries", () => {
    const seconds = fc.integer({ min: Date.UTC(1800, 0) / 1000, max: Date.UTC(2200, 0) / 1000 });
    fc.assert(
      fc.property(seconds, (second) => {
        expect(readHttpDate(new Date(second * 1000).toUTCString(), now)).toBe(second * 1000);
      }),
    );
  });

  it.each([
    "",
    "Sun, 06 Nov 1994",
    "Sun, 6 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 08:49:37 UTC",
    "Sun, 06 Nov 1994 08:49:37 +0000",
    "Sun, 31 Feb 2026 08:49:37 GMT",
    "Sun, 00 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 24:00:00 GMT",
    "Sun, 06 Nov 1994 08:60:00 GMT",
    "Sun, 06 Nov 1994 08:00:61 GMT",
    "sun, 06 nov 1994 08:49:37 gmt",
    "Sun, 06-Nov-94 08:49:37 GMT",
    "Sun Nov 6 08:49:37 1994",
    "1994-11-06T08:49:37Z",
    "-1",
    "1.5",
  ])("does not read %j", (text) => {
    expect(readHttpDate(text, now)).toBeUndefined();
  });
});
