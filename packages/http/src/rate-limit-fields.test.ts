import fc from "fast-check";
import { type Item, parseList } from "structured-headers";
import { describe, expect, it } from "vitest";
import { type QuotaStatus, RateLimitWriter, writeRateLimit, writeRateLimitPolicy } from "./rate-limit-fields.ts";

const burst: QuotaStatus = {
  policy: "burst",
  limit: 70,
  periodMs: 1000,
  remaining: 11,
  refillAfterMs: 9,
  retryAfterMs: 0,
};
const daily: QuotaStatus = {
  policy: "daily",
  limit: 100_000,
  periodMs: 86_400_000,
  remaining: 99_990,
  refillAfterMs: 41_000,
  retryAfterMs: 0,
};

describe("RateLimit-Policy", () => {
  it("names each policy with its limit and its period in whole seconds", () => {
    expect(writeRateLimitPolicy([burst, daily])).toBe('"burst";q=70;w=1,"daily";q=100000;w=86400');
  });

  it("rounds a period up to whole seconds, and leaves w out below one second", () => {
    expect(writeRateLimitPolicy([{ ...burst, periodMs: 1500 }])).toBe('"burst";q=70;w=2');
    expect(writeRateLimitPolicy([{ ...burst, periodMs: 999.999 }])).toBe('"burst";q=70');
  });

  it("names the unit where it is not requests, and has no window for a limit without a period", () => {
    const inflight = { policy: "inflight", limit: 48, periodMs: Number.POSITIVE_INFINITY } as const;
    expect(writeRateLimitPolicy([{ ...inflight, unit: "concurrent-requests" }])).toBe(
      '"inflight";q=48;qu="concurrent-requests"',
    );
    expect(writeRateLimitPolicy([{ ...burst, unit: "requests" }])).toBe('"burst";q=70;w=1');
  });

  it("escapes quotes and backslashes in a name and refuses what is not printable ASCII", () => {
    expect(writeRateLimitPolicy([{ ...burst, policy: 'a"b\\c' }])).toBe('"a\\"b\\\\c";q=70;w=1');
    expect(() => writeRateLimitPolicy([{ ...burst, policy: "täglich" }])).toThrow(/printable ASCII, got "täglich"/);
    expect(() => writeRateLimitPolicy([{ ...burst, policy: "a\r\nb" }])).toThrow(TypeError);
  });
});

describe("RateLimit", () => {
  it("gives what remains and the seconds until more appears, rounded up", () => {
    expect(writeRateLimit([burst, daily])).toBe('"burst";r=11;t=1,"daily";r=99990;t=41');
  });

  it("says t=0 when full", () => {
    expect(writeRateLimit([{ ...burst, remaining: 70, refillAfterMs: 0 }])).toBe('"burst";r=70;t=0');
  });

  it("gives a refusing policy its own wait", () => {
    expect(writeRateLimit([{ ...burst, remaining: 2, refillAfterMs: 9, retryAfterMs: 3001 }])).toBe('"burst";r=2;t=4');
  });

  it("falls back to the refill where the cost never fits", () => {
    const never = { ...burst, refillAfterMs: 1200, retryAfterMs: Number.POSITIVE_INFINITY };
    expect(writeRateLimit([never])).toBe('"burst";r=11;t=2');
  });

  it("leaves t out where no wait helps, and never writes a fraction, a sign or an exponent", () => {
    const odd = { ...burst, remaining: -3, refillAfterMs: Number.POSITIVE_INFINITY };
    expect(writeRateLimit([odd])).toBe('"burst";r=0');
    expect(writeRateLimit([{ ...burst, remaining: 1.9, refillAfterMs: -5 }])).toBe('"burst";r=1;t=0');
    expect(writeRateLimit([{ ...burst, remaining: 1e21 }])).toBe('"burst";r=999999999999999;t=1');
    expect(writeRateLimit([{ ...burst, remaining: Number.NaN, refillAfterMs: Number.NaN }])).toBe('"burst";r=0');
  });
});

describe("a partition key", () => {
  it("stands in both fields as bytes, whatever its text", () => {
    expect(writeRateLimitPolicy([burst, daily], "hash")).toBe(
      '"burst";q=70;w=1;pk=:aGFzaA==:,"daily";q=100000;w=86400;pk=:aGFzaA==:',
    );
    expect(writeRateLimit([burst], "hash")).toBe('"burst";r=11;t=1;pk=:aGFzaA==:');
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (partitionKey) => {
        for (const field of [writeRateLimitPolicy([burst], partitionKey), writeRateLimit([burst], partitionKey)]) {
          const [item] = parseList(field) as Item[];
          expect(Buffer.from(item?.[1].get("pk") as ArrayBuffer).toString()).toBe(partitionKey);
        }
      }),
    );
  });
});

const anyNumber = fc.oneof(fc.double(), fc.nat(), fc.constantFrom(1e15, 1e21, -0, Number.MAX_VALUE));
const anyStatus: fc.Arbitrary<QuotaStatus> = fc.record({
  policy: fc.string({ unit: "grapheme-ascii" }),
  limit: anyNumber,
  periodMs: anyNumber,
  remaining: anyNumber,
  refillAfterMs: anyNumber,
  retryAfterMs: anyNumber,
  unit: fc.constantFrom("requests", "content-bytes", "concurrent-requests"),
});

describe("both fields under an independent parser", () => {
  it("parse as lists of named items with integers in range, whatever the numbers", () => {
    fc.assert(
      fc.property(fc.array(anyStatus, { minLength: 1, maxLength: 4 }), (statuses) => {
        const policies = parseList(writeRateLimitPolicy(statuses)) as Item[];
        const limits = parseList(writeRateLimit(statuses)) as Item[];
        const names = statuses.map((status) => status.policy);
        expect(policies.map(([name]) => name)).toEqual(names);
        expect(limits.map(([name]) => name)).toEqual(names);
        for (const [index, [, parameters]] of policies.entries()) {
          expect(parameters.get("qu") ?? "requests").toBe(statuses[index]?.unit);
          parameters.delete("qu");
          expectIntegers(parameters, { q: 0, w: 1 }, ["q"]);
        }
        for (const [, parameters] of limits) expectIntegers(parameters, { r: 0, t: 0 }, ["r"]);
      }),
    );
  });

  it("never promise quota before it is there", () => {
    const waitMs = fc.nat(1e12).map((us) => us / 1000);
    fc.assert(
      fc.property(waitMs, waitMs, (refillAfterMs, retryAfterMs) => {
        const [item] = parseList(writeRateLimit([{ ...burst, refillAfterMs, retryAfterMs }])) as Item[];
        const promisedMs = Number(item?.[1].get("t")) * 1000;
        const trueMs = retryAfterMs > 0 ? retryAfterMs : refillAfterMs;
        expect(promisedMs).toBeGreaterThanOrEqual(trueMs);
        expect(promisedMs).toBeLessThan(trueMs + 1000);
      }),
    );
  });

  it("are the same from the writer that remembers, in any order of policy sets", () => {
    const writer = new RateLimitWriter();
    fc.assert(
      fc.property(fc.array(anyStatus, { minLength: 1, maxLength: 3 }), (statuses) => {
        for (const set of [statuses, [burst], [burst, daily], statuses]) {
          const fields = writer.fieldsOf(set);
          expect(fields.rateLimitPolicy).toBe(writeRateLimitPolicy(set));
          expect(fields.rateLimit(set)).toBe(writeRateLimit(set));
        }
      }),
    );
  });
});

describe("RateLimitWriter", () => {
  it("writes the fields of a policy set once", () => {
    const writer = new RateLimitWriter();
    const first = writer.fieldsOf([burst, daily]);
    expect(writer.fieldsOf([{ ...burst, remaining: 0 }, daily])).toBe(first);
    expect(writer.fieldsOf([daily, burst])).not.toBe(first);
    expect(writer.fieldsOf([burst, daily])).toBe(first);
  });

  it("tells sets apart by name, limit, period and unit", () => {
    const writer = new RateLimitWriter();
    const first = writer.fieldsOf([burst]);
    for (const other of [{ policy: "other" }, { limit: 71 }, { periodMs: 2000 }, { unit: "content-bytes" }] as const)
      expect(writer.fieldsOf([{ ...burst, ...other }])).not.toBe(first);
    expect(writer.fieldsOf([{ ...burst, unit: "requests" }])).toBe(first);
  });

  it("tells each status its own, whatever the one before was told", () => {
    const fields = new RateLimitWriter().fieldsOf([burst]);
    const never = { remaining: 0, refillAfterMs: Number.POSITIVE_INFINITY };
    const changes = [
      {},
      { remaining: 10 },
      { refillAfterMs: 1001 },
      {},
      never,
      { remaining: 0 },
      never,
      { remaining: 0 },
    ];
    for (const change of changes) {
      const status = { ...burst, ...change };
      expect(fields.rateLimit([status])).toBe(writeRateLimit([status]));
    }
  });

  it("tells every number in full, up and down across thousands", () => {
    const fields = new RateLimitWriter().fieldsOf([burst]);
    const numbers = [0, 7, 42, 999, 1000, 1001, 1099, 999, 69_999, 70_000, 70_005, 99_999_999, 5, 1e15, 1e15 - 1, 1e14];
    for (const remaining of [...numbers, ...numbers.toReversed(), 12.9, -1, Number.NaN]) {
      for (const refillAfterMs of [0, 100_000, Number.POSITIVE_INFINITY]) {
        const status = { ...burst, remaining, refillAfterMs };
        expect(fields.rateLimit([status])).toBe(writeRateLimit([status]));
      }
    }
  });

  it("forgets the oldest of more than 64 sets", () => {
    const writer = new RateLimitWriter();
    const first = writer.fieldsOf([burst]);
    for (let limit = 1; limit <= 64; limit++) writer.fieldsOf([{ ...daily, limit }]);
    expect(writer.fieldsOf([burst])).not.toBe(first);
  });
});

function expectIntegers(
  parameters: Map<string, unknown>,
  least: Readonly<Record<string, number>>,
  required: readonly string[],
): void {
  expect([...parameters.keys()]).toEqual(Object.keys(least).filter((name) => parameters.has(name)));
  for (const name of required) expect(parameters.has(name)).toBe(true);
  for (const [name, value] of parameters) {
    expect(Number.isInteger(value)).toBe(true);
    expect(value).toBeGreaterThanOrEqual(least[name] as number);
    expect(value).toBeLessThanOrEqual(999_999_999_999_999);
  }
}
