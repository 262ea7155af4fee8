import { describe, expect, it } from "vitest";
import { readAskedWait, spreadMs } from "./asked-wait.ts";

const wallMs = Date.UTC(2026, 10, 29, 12, 0, 0);
const asked = (headers: Record<string, string>) => readAskedWait(new Headers(headers), wallMs);

describe("what an answer asks to wait", () => {
  it.each([
    ["retry-after", "3", 3000, 1000],
    ["retry-after", "0", 0, 1000],
    ["retry-after", "Sun, 29 Nov 2026 12:00:03 GMT", 3000, 1000],
    ["retry-after", "Sunday, 29-Nov-26 12:00:03 GMT", 3000, 1000],
    ["retry-after", "Sun Nov 29 12:00:03 2026", 3000, 1000],
    ["retry-after", "Sun, 29 Nov 2026 11:59:00 GMT", 0, 1000],
    ["retry-after-ms", "250", 250, 0],
    ["retry-after-ms", "250.2", 251, 0],
    ["ratelimit", '"a";r=0;t=4,"b";r=0;t=7,"c";r=3;t=99', 7000, 1000],
  ])("%s: %s is %d ms, to %d ms", (name, value, ms, precisionMs) => {
    expect(asked({ [name]: value })).toEqual({ ms, precisionMs });
  });

  it.each(["soon", "", " ", "1000abc", "-5", "1e3", "0x10", "Infinity", "1.5", "5, 10", "\u00b2"])(
    "is nothing for a Retry-After of %j (C05)",
    (value) => {
      expect(asked({ "retry-after": value })).toBeUndefined();
    },
  );

  it.each(["-1", "1e3", "NaN", "soon", "", "1,2", "0x1"])("is nothing for a retry-after-ms of %j", (value) => {
    expect(asked({ "retry-after-ms": value })).toBeUndefined();
  });

  it("measures a date from the answer's own Date, since clocks differ", () => {
    const headers = { "retry-after": "Sun, 29 Nov 2026 13:00:05 GMT", date: "Sun, 29 Nov 2026 13:00:00 GMT" };
    expect(asked(headers)?.ms).toBe(5000);
    expect(asked({ ...headers, date: "yesterday" })?.ms).toBe(3_605_000);
  });

  it("takes milliseconds where seconds are the same rounded up, and else the longer", () => {
    expect(asked({ "retry-after-ms": "1200", "retry-after": "2" })).toEqual({ ms: 1200, precisionMs: 0 });
    expect(asked({ "retry-after-ms": "5", "retry-after": "60" })).toEqual({ ms: 60_000, precisionMs: 1000 });
    expect(asked({ "retry-after-ms": "9000", "retry-after": "1" })).toEqual({ ms: 9000, precisionMs: 0 });
  });

  it("is the Retry-After where RateLimit says something else", () => {
    expect(asked({ "retry-after": "2", ratelimit: '"a";r=0;t=9' })?.ms).toBe(2000);
  });
});

describe("the spread behind an asked wait", () => {
  const settings = { baseMs: 100, limitMs: 5000, jitter: "full" } as const;

  it("is a second behind whole seconds, and a tenth of long waits, since many are told the same", () => {
    expect(spreadMs({ ms: 2000, precisionMs: 1000 }, settings, 0)).toBe(1000);
    expect(spreadMs({ ms: 60_000, precisionMs: 1000 }, settings, 0)).toBe(6000);
  });

  it("is the backoff behind milliseconds, so it grows where the wait told turns out too short", () => {
    expect(spreadMs({ ms: 4700, precisionMs: 0 }, settings, 0)).toBe(100);
    expect(spreadMs({ ms: 4700, precisionMs: 0 }, settings, 4)).toBe(1600);
  });

  it("is nothing without jitter", () => {
    expect(spreadMs({ ms: 2000, precisionMs: 1000 }, { ...settings, jitter: "none" }, 3)).toBe(0);
  });
});
