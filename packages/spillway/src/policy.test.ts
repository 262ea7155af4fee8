import { describe, expect, it } from "vitest";
import { type PolicyOptions, resolvePolicy } from "./policy.ts";

const GOOD = { name: "burst", limit: 70, period: "1s" } as const;
const WINDOW = { ...GOOD, algorithm: "fixed-window" } as const;
const COUNTER = { ...GOOD, algorithm: "sliding-window-counter" } as const;
const LOG = { ...GOOD, algorithm: "sliding-window-log" } as const;
const ALGORITHMS = 'one of "token-bucket", "fixed-window", "sliding-window-counter", "sliding-window-log"';
const LOG_LIMIT = "a whole number from 1 to 10000 for a sliding-window-log, which keeps the time of each token";
const WHOLE = "a whole number from 1 to 1000000000000";
const DURATION = "a duration from 1 ms to 31622400000 ms";
const NAME = "1 to 64 characters of a-z, 0-9 and -";

describe("resolvePolicy", () => {
  it("completes a token bucket: burst is the limit when left out", () => {
    expect(resolvePolicy(GOOD, "policies")).toMatchObject({
      name: "burst",
      algorithm: "token-bucket",
      limit: 70,
      periodMs: 1000,
      periodUs: 1_000_000,
      capacity: 70,
      shape: { kind: "token-bucket", burst: 70 },
      onStoreFailure: undefined,
    });
    expect(resolvePolicy({ ...GOOD, burst: 20 }, "policies").capacity).toBe(20);
  });

  it("completes a fixed window: it starts with the first request when nothing is said", () => {
    expect(resolvePolicy(WINDOW, "policies")).toMatchObject({
      algorithm: "fixed-window",
      capacity: 70,
      shape: { kind: "fixed-window", limit: 70, periodUs: 1_000_000, aligned: false },
    });
    const aligned = resolvePolicy({ ...WINDOW, windowStart: "aligned" }, "policies");
    expect(aligned.shape).toMatchObject({ aligned: true });
    expect(resolvePolicy({ ...WINDOW, windowStart: "first-request" }, "policies").shape).toMatchObject({
      aligned: false,
    });
  });

  it("completes sliding windows: a limit and a period are all there is", () => {
    for (const options of [COUNTER, LOG])
      expect(resolvePolicy(options, "policies")).toMatchObject({
        algorithm: options.algorithm,
        capacity: 70,
        shape: { kind: options.algorithm, limit: 70, periodUs: 1_000_000 },
      });
  });

  it("freezes what it returns, so that no later change of the options reaches it", () => {
    const options: { -readonly [K in keyof PolicyOptions]: PolicyOptions[K] } = { ...GOOD };
    const policy = resolvePolicy(options, "policies");
    options.limit = 1_000_000;
    expect(policy.limit).toBe(70);
    expect([Object.isFrozen(policy), Object.isFrozen(policy.shape)]).toEqual([true, true]);
  });

  it.each<[string, PolicyOptions]>([
    ["the smallest", { name: "a", limit: 1, period: 1, burst: 1 }],
    ["the largest", { name: "z".repeat(64), limit: 1e12, period: "366d", burst: 1e12 }],
    ["a period in fractions of a millisecond", { name: "0-9", limit: 3, period: 1500.5 }],
    ["the largest counter", { name: "c", limit: 1e12, period: "366d", algorithm: "sliding-window-counter" }],
    ["the largest log", { name: "l", limit: 10_000, period: "366d", algorithm: "sliding-window-log" }],
    ["the smallest log", { name: "l", limit: 1, period: 1, algorithm: "sliding-window-log" }],
    ["one per 30 days", { name: "-", limit: 1, period: "30d" }],
  ])("takes %s", (_, options) => {
    expect(() => resolvePolicy(options, "policies")).not.toThrow();
  });

  it.each<[option: string, expected: string, got: string, options: unknown]>([
    ["", "a policy object", "undefined", undefined],
    ["", "a policy object", "null", null],
    ["", "a policy object", '"70/s"', "70/s"],
    ["", "a policy object", "70", 70],
    [".name", NAME, "undefined", { ...GOOD, name: undefined }],
    [".name", NAME, '""', { ...GOOD, name: "" }],
    [".name", NAME, '"Burst"', { ...GOOD, name: "Burst" }],
    [".name", NAME, '"a_b"', { ...GOOD, name: "a_b" }],
    [".name", NAME, '"a:b"', { ...GOOD, name: "a:b" }],
    [".name", NAME, '"{a}"', { ...GOOD, name: "{a}" }],
    [".name", NAME, '"a\\n"', { ...GOOD, name: "a\n" }],
    [".name", NAME, '"ä"', { ...GOOD, name: "ä" }],
    [".name", NAME, `"${"a".repeat(60)}…"`, { ...GOOD, name: "a".repeat(65) }],
    [".name", NAME, "5", { ...GOOD, name: 5 }],
    [".limit", WHOLE, "undefined", { ...GOOD, limit: undefined }],
    [".limit", WHOLE, "NaN", { ...GOOD, limit: Number.NaN }],
    [".limit", WHOLE, '"100"', { ...GOOD, limit: "100" }],
    [".limit", WHOLE, "0", { ...GOOD, limit: 0 }],
    [".limit", WHOLE, "-0", { ...GOOD, limit: -0 }],
    [".limit", WHOLE, "-1", { ...GOOD, limit: -1 }],
    [".limit", WHOLE, "Infinity", { ...GOOD, limit: Number.POSITIVE_INFINITY }],
    [".limit", WHOLE, "1.5", { ...GOOD, limit: 1.5 }],
    [".limit", WHOLE, "100n", { ...GOOD, limit: 100n }],
    [".limit", WHOLE, "1000000000001", { ...GOOD, limit: 1e12 + 1 }],
    [".period", DURATION, "undefined", { ...GOOD, period: undefined }],
    [".period", DURATION, "NaN", { ...GOOD, period: Number.NaN }],
    [".period", DURATION, '"100"', { ...GOOD, period: "100" }],
    [".period", DURATION, "0", { ...GOOD, period: 0 }],
    [".period", DURATION, "-5", { ...GOOD, period: -5 }],
    [".period", DURATION, "Infinity", { ...GOOD, period: Number.POSITIVE_INFINITY }],
    [".period", DURATION, "0.5", { ...GOOD, period: 0.5 }],
    [".period", DURATION, '"0.999ms"', { ...GOOD, period: "0.999ms" }],
    [".period", DURATION, '"367d"', { ...GOOD, period: "367d" }],
    [".period", DURATION, '"1 year"', { ...GOOD, period: "1 year" }],
    [".burst", WHOLE, "NaN", { ...GOOD, burst: Number.NaN }],
    [".burst", WHOLE, '"100"', { ...GOOD, burst: "100" }],
    [".burst", WHOLE, "0", { ...GOOD, burst: 0 }],
    [".burst", WHOLE, "0.9", { ...GOOD, burst: 0.9 }],
    [".burst", WHOLE, "-1", { ...GOOD, burst: -1 }],
    [".burst", WHOLE, "Infinity", { ...GOOD, burst: Number.POSITIVE_INFINITY }],
    [".burst", "left out for a window", "5", { ...WINDOW, burst: 5 }],
    [".burst", "left out for a window", "70", { ...LOG, burst: 70 }],
    [".limit", LOG_LIMIT, "10001", { ...LOG, limit: 10_001 }],
    [".limit", LOG_LIMIT, "0", { ...LOG, limit: 0 }],
    [".limit", WHOLE, "1000000000001", { ...COUNTER, limit: 1e12 + 1 }],
    [".windowStart", "left out for a sliding window", '"aligned"', { ...COUNTER, windowStart: "aligned" }],
    [".windowStart", "left out for a sliding window", '"first-request"', { ...LOG, windowStart: "first-request" }],
    [".algorithm", ALGORITHMS, '"leaky"', { ...GOOD, algorithm: "leaky" }],
    [".algorithm", ALGORITHMS, '"toString"', { ...GOOD, algorithm: "toString" }],
    [".algorithm", ALGORITHMS, "5", { ...GOOD, algorithm: 5 }],
    [".windowStart", "left out for a token bucket", '"aligned"', { ...GOOD, windowStart: "aligned" }],
    [".windowStart", 'one of "first-request", "aligned"', '"monday"', { ...WINDOW, windowStart: "monday" }],
    [".onStoreFailure", 'one of "backstop", "open", "closed"', '"allow"', { ...GOOD, onStoreFailure: "allow" }],
    [".onStoreFailure", 'one of "backstop", "open", "closed"', "null", { ...GOOD, onStoreFailure: null }],
    [".brust", "one of name, limit, period, burst", '"brust"', { ...GOOD, brust: 5 }],
  ])("names option policies[1]%s, that it must be %s and that %s came", (option, expected, got, options) => {
    let error: unknown;
    try {
      resolvePolicy(options, "policies[1]");
    } catch (cause) {
      error = cause;
    }
    expect(error).toMatchObject({ name: "SpillwayError", code: "ERR_SPILLWAY_INVALID_OPTION" });
    const { message } = error as Error;
    expect(message.startsWith(`Option policies[1]${option} must be ${expected}`)).toBe(true);
    expect(message.endsWith(`, got ${got}.`)).toBe(true);
  });
});
