import fc from "fast-check";
import type { Clock } from "spillway";
import { expect, it } from "vitest";
import { createClient } from "./client.ts";

const WALL_MS = Date.UTC(2026, 10, 29, 12, 0, 0);
/** `maxRetryAfter` as it is by default. */
const CAP_MS = 60_000;
/** Behind a pause that long, which many callers are told alike. */
const SPREAD_MS = CAP_MS / 10;
const ROUNDING_MS = 0.001;

/** A clock of one caller: whatever is waited for is over at once, and was as long as it said. */
class JumpingClock implements Clock {
  nowMs = 0;
  readonly waitsMs: number[] = [];

  monotonicMs(): number {
    return this.nowMs;
  }

  wallMs(): number {
    return WALL_MS + this.nowMs;
  }

  startTimer(run: () => void, delayMs: number): { cancel(): void } {
    this.waitsMs.push(delayMs);
    let cancelled = false;
    queueMicrotask(() => {
      if (cancelled) return;
      this.nowMs += delayMs;
      run();
    });
    return {
      cancel() {
        cancelled = true;
      },
    };
  }

  afterTurn(run: () => void): void {
    queueMicrotask(run);
  }
}

const date = fc.integer({ min: -1e8, max: 1e8 }).map((ms) => new Date(WALL_MS + ms).toUTCString());
const junk = fc.constantFrom("", " ", "soon", "-5", "1e3", "0x10", "Infinity", "NaN", "1.5", "5, 10", "9".repeat(400));
const value = fc.oneof(
  fc.nat(100).map(String),
  fc.nat().map(String),
  date,
  junk,
  fc.stringMatching(/^[!-~][ -~]{0,20}$/),
);
const policy = fc.tuple(fc.nat(3), value).map(([left, reset]) => `"p";r=${left};t=${reset}`);
const quota = fc.tuple(fc.nat(5), fc.nat(1e6)).map(([limit, seconds]) => `"p";q=${limit};w=${seconds}`);
const headers = fc.record(
  {
    "retry-after": value,
    "retry-after-ms": value,
    ratelimit: fc.oneof(policy, value),
    "ratelimit-policy": fc.oneof(quota, value),
    "ratelimit-remaining": value,
    "ratelimit-reset": value,
    "x-should-retry": fc.constantFrom("true", "false", "maybe"),
    date: fc.oneof(date, junk),
    age: value,
    "content-type": fc.constantFrom("application/json", "text/plain", ";;json"),
  },
  { requiredKeys: [] },
);
const answer = fc.record({
  status: fc.constantFrom(200, 429, 500, 503, 529),
  headers,
  body: fc.constantFrom("", "{", "null"),
});

it("2,000 fuzzed exchanges throw nothing, wait for no time that is none or above the cap, and for no less than was asked", async () => {
  let retried = 0;
  const property = fc.asyncProperty(fc.array(answer, { minLength: 1, maxLength: 4 }), async (answers) => {
    const clock = new JumpingClock();
    const sentMs: number[] = [];
    const fetch = async (): Promise<Response> => {
      const { status, headers, body } = answers[
        Math.min(sentMs.push(clock.nowMs), answers.length) - 1
      ] as (typeof answers)[0];
      return new Response(body, { status, headers: headers as Record<string, string> });
    };
    const client = createClient({ fetch, clock, deadline: false, budget: false, throttle: false });
    for (let call = 0; call < 2; call++) {
      const from = sentMs.length;
      const { kind, attempts } = await client.request("http://service.test/");
      expect(kind).toBe("answered");
      for (const [index, { retryAfterMs }] of attempts.slice(0, -1).entries()) {
        retried++;
        const waitedMs = (sentMs[from + index + 1] as number) - (sentMs[from + index] as number);
        expect(waitedMs).toBeGreaterThanOrEqual((retryAfterMs ?? 0) - ROUNDING_MS);
        expect(retryAfterMs ?? 0).toBeLessThanOrEqual(CAP_MS);
        const digits = /^\d{1,9}$/.exec(
          answers[Math.min(from + index, answers.length - 1)]?.headers["retry-after"] ?? "",
        );
        // A second less where milliseconds say the same time better.
        if (digits !== null) expect(waitedMs).toBeGreaterThan((Number(digits[0]) - 1) * 1000);
      }
    }
    const most = CAP_MS + SPREAD_MS + ROUNDING_MS;
    expect(clock.waitsMs.filter((waitMs) => !(waitMs >= 0 && waitMs <= most))).toEqual([]);
    expect(client.stats()).toMatchObject({ inFlight: 0, waiting: 0 });
  });
  await fc.assert(property, { numRuns: 2000 });
  expect(retried).toBeGreaterThan(1000);
}, 60_000);
