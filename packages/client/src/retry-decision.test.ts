import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readAskedWait } from "./asked-wait.ts";
import { retrySettings } from "./client-settings.ts";
import { type AttemptFacts, type CallTraits, decideRetry, type Verdict } from "./retry-decision.ts";
import { verdictOfAnswer } from "./verdict.ts";

const settings = retrySettings({});
const plain: CallTraits = { idempotent: true, replayable: true, nested: false };
const transient: Verdict = { kind: "transient", unsent: false };
const first: AttemptFacts = {
  attempt: 1,
  verdict: transient,
  asked: undefined,
  remainingMs: 10_000,
  expectedMs: 0,
  previousMs: 0,
};
const decide = (traits: Partial<CallTraits>, facts: Partial<AttemptFacts>, chance = 0.5) =>
  decideRetry({ ...plain, ...traits }, { ...first, ...facts }, settings, chance);
const stoppedBy = (traits: Partial<CallTraits>, facts: Partial<AttemptFacts>) => {
  const decision = decide(traits, facts);
  return decision.retry ? undefined : decision.stopped;
};

describe("whether to try again", () => {
  it.each([
    ["answered", {}, { verdict: { kind: "done" } }],
    ["quota-spent", {}, { verdict: { kind: "hopeless", reason: "quota-spent" } }],
    ["nested", { nested: true }, {}],
    ["attempts-used", {}, { attempt: 4 }],
    ["not-idempotent", { idempotent: false }, {}],
    ["not-replayable", { replayable: false }, {}],
    ["not-replayable", { replayable: false }, { verdict: { kind: "transient", unsent: true } }],
    ["wait-too-long", {}, { asked: { ms: 60_001, precisionMs: 1000 }, remainingMs: 1e9 }],
    ["out-of-time", {}, { asked: { ms: 10_000, precisionMs: 1000 } }],
    ["out-of-time", {}, { asked: { ms: 9000, precisionMs: 1000 }, expectedMs: 1000 }],
    ["out-of-time", {}, { remainingMs: 40 }],
  ] as const)("is no: %s", (reason, traits, facts) => {
    expect(stoppedBy(traits, facts)).toBe(reason);
  });

  it("is yes for a request of any method that nobody has seen", () => {
    expect(decide({ idempotent: false }, { verdict: { kind: "transient", unsent: true } }).retry).toBe(true);
  });
});

describe("the wait", () => {
  it("is full jitter where nothing was asked", () => {
    expect(decide({}, {})).toEqual({ retry: true, delayMs: 50, cause: "backoff" });
    expect(decide({}, { attempt: 3 }, 0.25)).toEqual({ retry: true, delayMs: 100, cause: "backoff" });
  });

  it("is what was asked and a little more, never past the cap or the deadline", () => {
    const asked = { ms: 2000, precisionMs: 1000 };
    expect(decide({}, { asked }, 0)).toMatchObject({ delayMs: 2000, cause: "retry-after" });
    expect(decide({}, { asked }, 0.5)).toMatchObject({ delayMs: 2500 });
    expect(decide({}, { asked, remainingMs: 2100 }, 0.5)).toMatchObject({ delayMs: 2050 });
    expect(decide({}, { asked: { ms: 59_900, precisionMs: 1000 }, remainingMs: 1e9 }, 0.5)).toMatchObject({
      delayMs: 59_950,
    });
  });
});

describe("10,000 fuzzed sets of headers", () => {
  const wallMs = Date.UTC(2026, 10, 29, 12, 0, 0);
  const date = fc
    .integer({ min: wallMs - 100_000_000, max: wallMs + 100_000_000 })
    .map((ms) => new Date(ms).toUTCString());
  const junk = fc.constantFrom(
    "",
    " ",
    "soon",
    "-5",
    "1e3",
    "0x10",
    "Infinity",
    "NaN",
    "1.5",
    "5, 10",
    "1000abc",
    "\u00b2",
    "9".repeat(400),
  );
  const value = fc.oneof(
    fc.nat(100).map(String),
    fc.nat().map(String),
    fc.double({ min: 0, max: 1e6, noNaN: true }).map(String),
    date,
    junk,
    fc.stringMatching(/^[!-~][ -~]{0,20}$/),
  );
  const rateLimit = fc.tuple(fc.nat(3), value).map(([left, reset]) => `"p";r=${left};t=${reset}`);
  const headerSets = fc.record(
    {
      "retry-after": value,
      "retry-after-ms": value,
      ratelimit: fc.oneof(rateLimit, value),
      "ratelimit-policy": value,
      "ratelimit-remaining": value,
      "ratelimit-reset": value,
      "x-should-retry": fc.constantFrom("true", "false", "maybe"),
      date: fc.oneof(date, junk),
      age: value,
    },
    { requiredKeys: [] },
  );
  /** What a header of digits asks for at least, found out in another way than the code does. */
  const plainlyAskedMs = (headers: Record<string, string | undefined>): number => {
    const seconds = /^\d{1,9}$/.test(headers["retry-after"] ?? "") ? Number(headers["retry-after"]) * 1000 : 0;
    const milliseconds = /^\d{1,12}$/.test(headers["retry-after-ms"] ?? "") ? Number(headers["retry-after-ms"]) : 0;
    // Milliseconds may be the same time told better.
    return milliseconds > 0 && Math.ceil(milliseconds / 1000) * 1000 === seconds
      ? milliseconds
      : Math.max(seconds - 999, milliseconds);
  };

  it("never throw, never give a wait that is no number, is above the cap, or is shorter than asked", () => {
    let retried = 0;
    const property = fc.property(
      headerSets,
      fc.constantFrom(429, 500, 503, 529),
      fc.nat(3),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (given, status, attempt, chance) => {
        const headers = new Headers(given as Record<string, string>);
        const asked = readAskedWait(headers, wallMs);
        const verdict = verdictOfAnswer(status, headers, undefined, settings.statusCodes);
        const decision = decide({}, { attempt, verdict, asked, remainingMs: 1e12 }, chance);
        if (!decision.retry) return;
        retried++;
        expect(Number.isFinite(decision.delayMs)).toBe(true);
        expect(decision.delayMs).toBeGreaterThanOrEqual(asked?.ms ?? 0);
        expect(decision.delayMs).toBeGreaterThanOrEqual(plainlyAskedMs(given));
        expect(decision.delayMs).toBeLessThanOrEqual(asked === undefined ? settings.limitMs : settings.maxRetryAfterMs);
      },
    );
    fc.assert(property, { numRuns: 10_000 });
    expect(retried).toBeGreaterThan(2000);
  });
});
