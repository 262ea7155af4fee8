import { describe, expect, it } from "vitest";
import type { PolicyOptions } from "./policy.ts";
import type { Cost } from "./policy-set.ts";
import { createRateLimiter, type RateLimiterOptions } from "./rate-limiter.ts";
import { remainingOf, memoryLimiter as setup } from "./testing/test-support.ts";

const BUCKET: PolicyOptions = { name: "bucket", limit: 10, period: "1s", burst: 5 };

describe("a bad cost (C07)", () => {
  it.each<[unknown, ErrorConstructor]>([
    [-1, RangeError],
    [-0, RangeError],
    [Number.NaN, RangeError],
    [Number.POSITIVE_INFINITY, RangeError],
    [1.5, RangeError],
    [2 ** 53, RangeError],
    ["1", TypeError],
    [null, TypeError],
    [undefined, TypeError],
    [1n, TypeError],
    [Promise.resolve(1), TypeError],
    [{ bucket: Number.NaN }, RangeError],
    [{ basket: 1 }, TypeError],
  ])("of %s is refused with a code before anything is taken", async (cost, type) => {
    const { limiter } = setup(BUCKET);
    await limiter.consume("key", { cost: 3 });
    const options = { cost: cost as Cost };
    await expect(limiter.consume("key", options)).rejects.toBeInstanceOf(type);
    await expect(limiter.consume("key", options)).rejects.toMatchObject({ code: "ERR_SPILLWAY_INVALID_COST" });
    expect(() => limiter.consumeNow("key", options)).toThrow(type);
    expect(await remainingOf(limiter)).toEqual([2]);
  });

  it("is none of 0, which changes nothing and always passes", async () => {
    const { limiter } = setup(BUCKET);
    await limiter.consume("key", { cost: 3 });
    expect(await limiter.consume("key", { cost: 0 })).toMatchObject({ allowed: true, remaining: 2 });
    await limiter.consume("key", { cost: 2 });
    expect(await limiter.consume("key", { cost: 0 })).toMatchObject({ allowed: true, remaining: 0 });
  });
});

describe("a key", () => {
  it.each([["a"], [" "], ["{"], ["}x{"], ["\ud800"], ["__proto__"], ["k".repeat(65_536)]])("may be %j", async (key) => {
    const { limiter } = setup(BUCKET);
    expect(await limiter.consume(key, { cost: 5 })).toMatchObject({ allowed: true, remaining: 0 });
    expect(await remainingOf(limiter, `${key.slice(1)}x`)).toEqual([5]);
  });

  it.each<[unknown, string]>([
    ["", 'A key must be 1 to 65536 characters long, got "".'],
    ["k".repeat(65_537), `A key must be 1 to 65536 characters long, got "${"k".repeat(60)}…".`],
    [undefined, "A key must be a string, got undefined."],
    [null, "A key must be a string, got null."],
    [42, "A key must be a string, got 42."],
    [{}, "A key must be a string, got an object of Object."],
  ])("must not be anything else (%#)", async (key, message) => {
    const { limiter } = setup(BUCKET);
    const error = { name: "TypeError", code: "ERR_SPILLWAY_INVALID_KEY", message };
    await expect(limiter.consume(key as string)).rejects.toMatchObject(error);
    await expect(limiter.peek(key as string)).rejects.toMatchObject(error);
    await expect(limiter.reset(key as string)).rejects.toMatchObject(error);
    expect(() => limiter.consumeNow(key as string)).toThrow(expect.objectContaining(error));
  });
});

describe("createRateLimiter", () => {
  it.each<[string, string, unknown]>([
    ["options", "an object", undefined],
    ["options.limit", "one of ", { policies: BUCKET, limit: 5 }],
    ["policies", "a policy, an array of policies, or a function of the key that returns either", {}],
    ["policies", "one policy, or an array of 1 to 16", { policies: [] }],
    ["policies.limit", "a whole number", { policies: { ...BUCKET, limit: "100" } }],
    ["dryRun", "true or false", { policies: BUCKET, dryRun: 1 }],
    ["store", "a store", { policies: BUCKET, store: "redis://localhost" }],
    ["store", "a store", { policies: BUCKET, store: {} }],
    ["deadlineMs", "a number from 1 to 60000", { policies: BUCKET, deadlineMs: Number.NaN }],
    ["deadlineMs", "a number from 1 to 60000", { policies: BUCKET, deadlineMs: 0 }],
    ["deadlineMs", "a number from 1 to 60000", { policies: BUCKET, deadlineMs: "50" }],
    ["onStoreFailure", 'one of "backstop", "open", "closed"', { policies: BUCKET, onStoreFailure: "allow" }],
    ["replicas", "a whole number from 1", { policies: BUCKET, replicas: 0 }],
    ["replicas", "a whole number from 1", { policies: BUCKET, replicas: Number.NaN }],
    ["maxKeys", "a whole number from 1", { policies: BUCKET, maxKeys: Number.POSITIVE_INFINITY }],
    ["clock", "a clock", { policies: BUCKET, clock: Date }],
    ["lease", "false or an object such as { maxDrainMs: 50 }", { policies: BUCKET, lease: true }],
    ["lease.maxDrainMs", "a number from 5 to 1000", { policies: BUCKET, lease: { maxDrainMs: Number.NaN } }],
    ["onStateChange", "a function", { policies: BUCKET, onStateChange: "log" }],
  ])("refuses a bad option %s (%#)", (option, expected, options) => {
    expect(() => createRateLimiter(options as RateLimiterOptions)).toThrow(
      expect.objectContaining({
        name: "SpillwayError",
        code: "ERR_SPILLWAY_INVALID_OPTION",
        message: expect.stringMatching(new RegExp(`^Option ${option} must be ${expected}.*, got .+\\.$`)),
      }),
    );
  });
});
