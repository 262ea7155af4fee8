import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readRetryAfter, readRetryAfterFields, readRetryAfterMs, writeRetryAfter } from "./retry-after.ts";

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

describe("writeRetryAfter with jitter", () => {
  it.each([
    [4000, 0, "4"],
    [4000, 0.5, "5"],
    [4000, 1, "6"],
    [3999, 0.0001, "4"],
    [200, 1, "3"],
  ])("adds to a wait of %d ms the share %d of 2 s", (waitMs, share, text) => {
    expect(writeRetryAfter(waitMs, { jitterMs: 2000, random: () => share })).toBe(text);
  });

  it("never shortens the wait nor adds more than it may, whatever the numbers", () => {
    const wild = fc.oneof(fc.double(), fc.constantFrom(-1, 2, Number.NaN, Number.POSITIVE_INFINITY));
    fc.assert(
      fc.property(fc.nat(10_000_000), fc.nat(5000), wild, (waitMs, jitterMs, share) => {
        const seconds = Number(writeRetryAfter(waitMs, { jitterMs, random: () => share }));
        expect(seconds).toBeGreaterThanOrEqual(Number(writeRetryAfter(waitMs)));
        expect(seconds * 1000).toBeLessThan(Math.max(waitMs + jitterMs + 1000, 1001));
      }),
    );
    const [least, most] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
    expect(writeRetryAfter(least, { jitterMs: most, random: () => 1 })).toMatch(/^[1-9]\d*$/);
    for (const jitterMs of [-1, Number.NaN]) expect(writeRetryAfter(4000, { jitterMs, random: () => 1 })).toBe("4");
  });

  it("spreads callers who were refused together over all of it", () => {
    const told = Array.from({ length: 1000 }, () => writeRetryAfter(2000, { jitterMs: 4000 }));
    expect([...new Set(told)].sort()).toEqual(["3", "4", "5", "6"]);
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

  it("gives nothing for a date when the clock is no number", () => {
    expect(readRetryAfter("Sun, 29 Nov 2026 12:00:03 GMT", Number.NaN)).toBeUndefined();
  });

  it("takes linear time, also for a value that is nearly all spaces", () => {
    const startedMs = performance.now();
    expect(readRetryAfter(`${"1".padEnd(200_000)}2`, now)).toBeUndefined();
    expect(performance.now() - startedMs).toBeLessThan(5000);
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

describe("readRetryAfterMs", () => {
  it.each([
    ["0", 0],
    ["1234", 1234],
    [" 250 ", 250],
    ["0.5", 1],
    ["9".repeat(400), Number.MAX_SAFE_INTEGER],
  ])("reads %j as %d ms", (value, ms) => {
    expect(readRetryAfterMs(value)).toBe(ms);
  });

  it.each([undefined, null, "", "-5", "1e3", "Infinity", "NaN", "5, 10", "soon"])("counts %j as absent", (value) => {
    expect(readRetryAfterMs(value)).toBeUndefined();
  });
});

describe("readRetryAfterFields", () => {
  it("takes the finer field first, and the other one where that cannot be read", () => {
    expect(readRetryAfterFields({ "Retry-After-Ms": "1250", "Retry-After": "2" }, now)).toBe(1250);
    expect(readRetryAfterFields(new Headers({ "retry-after-ms": "soon", "retry-after": "2" }), now)).toBe(2000);
    expect(readRetryAfterFields({ "retry-after": undefined }, now)).toBeUndefined();
  });

  it("counts a date from the server's own clock, so that a caller's clock that is wrong does no harm", () => {
    const headers = { date: "Sun, 29 Nov 2026 12:00:00 GMT", "retry-after": "Sun, 29 Nov 2026 12:00:30 GMT" };
    for (const offBy of [-3_600_000, 0, 3_600_000]) expect(readRetryAfterFields(headers, now + offBy)).toBe(30_000);
    expect(readRetryAfterFields({ "retry-after": headers["retry-after"] }, now)).toBe(29_750);
  });

  it("survives 10,000 fuzzed values without a throw, NaN or a negative wait", () => {
    const real = fc.constantFrom(
      ...["Sun, 29 Nov 2026 12:00:30 GMT", "Sunday, 29-Nov-26 12:00:30 GMT", "Sun Nov 29 12:00:30 2026"],
      ...[
        "0",
        "5",
        "120",
        "0.5",
        "1250",
        "9".repeat(400),
        "Sat, 31 Dec 9999 23:59:60 GMT",
        "Thu, 01 Jan 1970 00:00:00 GMT",
      ],
      ...["soon", "", " ", "1000abc", "-5", "1e3", "0x10", "Infinity", "NaN", "1.5", "5, 10", "\u00b2", "\0"],
    );
    const sign = fc.oneof(fc.constantFrom(..."0123456789-.,: GMTSunNov"), fc.string({ maxLength: 1 }));
    /** A value in which a few signs were overwritten or pushed in. */
    const spoiled = fc
      .tuple(real, fc.array(fc.tuple(fc.nat(30), sign, fc.nat(2)), { maxLength: 3 }))
      .map(([value, changes]) =>
        changes.reduce((text, [at, one, instead]) => text.slice(0, at) + one + text.slice(at + instead), value),
      );
    let read = 0;
    fc.assert(
      fc.property(
        fc.array(spoiled, { minLength: 3, maxLength: 3 }),
        fc.constantFrom(now, 0, Number.NaN),
        (values, nowMs) => {
          const [exact, plain, date] = values as [string, string, string];
          const headers = new Map([
            ["retry-after-ms", exact],
            ["retry-after", plain],
            ["date", date],
          ]);
          const ms = readRetryAfterFields(headers, nowMs);
          if (ms === undefined) return;
          read++;
          if (!(ms >= 0 && Number.isSafeInteger(ms))) throw new Error(`${JSON.stringify(values)} was read as ${ms}`);
        },
      ),
      { numRuns: 3400 },
    );
    // The values are near enough to real ones that many are read: about 1,000, by chance.
    expect(read).toBeGreaterThan(500);
  });
});
