import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { writeLegacyFields } from "./legacy-fields.ts";
import type { QuotaStatus } from "./rate-limit-fields.ts";
import { readRateLimits } from "./rate-limit-reader.ts";

const now = Date.UTC(2026, 10, 29, 12, 0, 0, 250);
const status: QuotaStatus = {
  policy: "minute",
  limit: 60,
  periodMs: 60_000,
  remaining: 12,
  refillAfterMs: 700,
  resetAfterMs: 47_100,
  retryAfterMs: 0,
};

describe("writeLegacyFields", () => {
  it("tells when all is back while something is left, as a delta or an epoch", () => {
    const fields = { "X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "12" };
    expect(writeLegacyFields([status], "delta", now)).toEqual({ ...fields, "X-RateLimit-Reset": "48" });
    // 12:00:00.250 and 47.1 s.
    const at = Date.UTC(2026, 10, 29, 12, 0, 48) / 1000;
    expect(writeLegacyFields([status], "epoch", now)).toEqual({ ...fields, "X-RateLimit-Reset": String(at) });
    expect(String(at)).toMatch(/^\d{10}$/);
  });

  it("tells when more appears once nothing is left, and a refused caller when its request fits", () => {
    const resetOf = (one: QuotaStatus) => writeLegacyFields([one], "delta", now)?.["X-RateLimit-Reset"];
    expect(resetOf({ ...status, remaining: 0 })).toBe("1");
    expect(resetOf({ ...status, remaining: 2, retryAfterMs: 3001 })).toBe("4");
    expect(resetOf({ ...status, retryAfterMs: Number.POSITIVE_INFINITY })).toBe("1");
    const { resetAfterMs, ...unknown } = status;
    expect(resetAfterMs).toBeDefined();
    expect(resetOf(unknown)).toBe("1");
  });

  it("speaks of the policy that refuses longest, else of the one with the least left", () => {
    const limitOf = (...all: QuotaStatus[]) => writeLegacyFields(all, "delta", now)?.["X-RateLimit-Limit"];
    const other = { ...status, limit: 9, remaining: 11 };
    expect(limitOf(status, other)).toBe("9");
    expect(limitOf(other, status)).toBe("9");
    expect(limitOf(other, { ...status, retryAfterMs: 1 })).toBe("60");
    expect(limitOf({ ...other, retryAfterMs: 2 }, { ...status, retryAfterMs: 1 })).toBe("9");
  });

  it("gives nothing for no policies, and leaves the reset out where no wait helps", () => {
    expect(writeLegacyFields([], "delta", now)).toBeUndefined();
    const never = { ...status, remaining: 0, refillAfterMs: Number.POSITIVE_INFINITY };
    expect(writeLegacyFields([never], "delta", now)).toEqual({
      "X-RateLimit-Limit": "60",
      "X-RateLimit-Remaining": "0",
    });
  });

  it("refuses another way to tell the time", () => {
    expect(() => writeLegacyFields([status], "ms" as never, now)).toThrow(
      'Option reset must be "delta" or "epoch", got "ms".',
    );
  });

  it("writes digits alone, whatever the numbers, and never a wait that is too short", () => {
    const number = fc.oneof(fc.double(), fc.nat(), fc.constantFrom(1e15, 1e21, -0, Number.MAX_VALUE));
    fc.assert(
      fc.property(number, number, fc.nat(1e9), fc.constantFrom("delta", "epoch"), (limit, remaining, us, reset) => {
        const waitMs = us / 1000;
        const told = { ...status, limit, remaining, refillAfterMs: waitMs, resetAfterMs: waitMs };
        const fields = { ...writeLegacyFields([told], reset, now) };
        for (const value of Object.values(fields)) expect(value).toMatch(/^\d{1,16}$/);
        const resetAfterMs = readRateLimits({ "x-ratelimit-reset": fields["X-RateLimit-Reset"] }, now)[0]?.resetAfterMs;
        expect(resetAfterMs).toBeGreaterThanOrEqual(waitMs);
        expect(resetAfterMs).toBeLessThan(waitMs + 1001);
      }),
    );
  });
});
