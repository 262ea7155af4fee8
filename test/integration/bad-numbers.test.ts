import { commandCalls } from "@spillway/testkit";
import { type Cost, createRateLimiter, type PolicyOptions, SpillwayError } from "spillway";
import { describe, expect, it } from "vitest";
import { redisFixture } from "../support/redis-fixture.ts";

const redis = redisFixture();

describe("C06: a cost beside the burst", () => {
  const policies: readonly PolicyOptions[] = [
    { name: "tokens", limit: 10, period: "1s", burst: 10 },
    { name: "window", limit: 10, period: "1s", algorithm: "fixed-window" },
    // Twice a period until both of its windows are empty.
    { name: "counter", limit: 10, period: "0.5s", algorithm: "sliding-window-counter" },
    { name: "log", limit: 10, period: "1s", algorithm: "sliding-window-log" },
  ];

  it.each(policies)("C06 a: above it is never admitted, and the bucket stays as it is ($name)", async (policy) => {
    const limiter = redis.limiter({ policies: policy });
    const decision = await limiter.consume("k", { cost: 11 });
    expect(decision).toMatchObject({
      allowed: false,
      reason: "never",
      remaining: 10,
      retryAfterMs: Number.POSITIVE_INFINITY,
    });
    expect((await limiter.peek("k")).policies[0]?.remaining).toBe(10);
    expect(await limiter.consume("k", { cost: 11 })).toMatchObject({ allowed: false, reason: "never" });
    expect(await limiter.consume("k", { cost: 10 })).toMatchObject({ allowed: true });
  });

  it.each(policies)(
    "C06 c: equal to it waits a period on an empty bucket, and is admitted then ($name)",
    async (policy) => {
      const limiter = redis.limiter({ policies: policy, lease: false });
      await limiter.consume("k", { cost: 10 });
      const refused = await limiter.consume("k", { cost: 10 });
      if (refused.allowed) throw new Error("admitted");
      expect(refused.reason).toBe("limited");
      expect(refused.retryAfterMs).toBeGreaterThan(900);
      expect(refused.retryAfterMs).toBeLessThanOrEqual(1000);
      await new Promise((resolve) => setTimeout(resolve, refused.retryAfterMs + 5));
      expect(await limiter.consume("k", { cost: 10 })).toMatchObject({ allowed: true });
    },
  );
});

describe("C07: a cost that is no whole number from 0", () => {
  const costs: readonly (readonly [unknown, typeof RangeError | typeof TypeError])[] = [
    [-1, RangeError],
    [-0, RangeError],
    [1.5, RangeError],
    [Number.NaN, RangeError],
    [Number.POSITIVE_INFINITY, RangeError],
    [2 ** 53, RangeError],
    ["1", TypeError],
    [null, TypeError],
    [undefined, TypeError],
    [1n, TypeError],
    [{ five: -1 }, RangeError],
    [{ five: "1" }, TypeError],
    [{ other: 1 }, TypeError],
  ];

  it("is refused with an error before any command, and nothing is taken", async () => {
    const limiter = redis.limiter({ policies: { name: "five", limit: 5, period: "1h" }, lease: false });
    await limiter.consume("k", { cost: 3 });
    await redis.client.config("RESETSTAT");
    for (const [cost, kind] of costs) {
      await expect(limiter.consume("k", { cost: cost as Cost }), String(cost)).rejects.toThrow(kind);
      expect(() => limiter.consumeNow("k", { cost: cost as Cost }), String(cost)).toThrow(kind);
    }
    const calls = await commandCalls(redis.client);
    expect([...calls.keys()].filter((name) => name.startsWith("eval"))).toEqual([]);
    expect((await limiter.peek("k")).policies[0]?.remaining).toBe(2);
  });

  it("but cost 0 changes nothing and is admitted, on an empty bucket too", async () => {
    const limiter = redis.limiter({ policies: { name: "five", limit: 5, period: "1h" }, lease: false });
    await limiter.consume("k", { cost: 3 });
    expect(await limiter.consume("k", { cost: 0 })).toMatchObject({ allowed: true, remaining: 2 });
    await limiter.consume("k", { cost: 2 });
    expect(await limiter.consume("k", { cost: 0 })).toMatchObject({ allowed: true, remaining: 0 });
    expect(await limiter.consume("k")).toMatchObject({ allowed: false });
    expect(await limiter.consume("k", { cost: 0 })).toMatchObject({ allowed: true, remaining: 0 });
  });
});

describe("C07: a policy number that would open the gate", () => {
  const sound = { name: "five", limit: 5, period: "1s" };
  const bad: readonly (readonly [string, object, string])[] = [
    ...[0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "100", null, undefined, 1n].map(
      (limit) => [`limit ${String(limit)}`, { ...sound, limit }, "limit"] as const,
    ),
    ...[0, -5, 0.5, Number.NaN, Number.POSITIVE_INFINITY, "soon", "1", 1n, null].map(
      (period) => [`period ${String(period)}`, { ...sound, period }, "period"] as const,
    ),
    ...[0, -1, 0.5, Number.NaN, "10"].map((burst) => [`burst ${String(burst)}`, { ...sound, burst }, "burst"] as const),
    ["algorithm gcra2", { ...sound, algorithm: "gcra2" }, "algorithm"],
  ];

  it.each(bad)("%s is refused at construction and named", (_, policies, option) => {
    let error: unknown;
    try {
      createRateLimiter({ policies: policies as PolicyOptions });
    } catch (caught) {
      error = caught;
    }
    expect(error).toBeInstanceOf(SpillwayError);
    expect(error).toMatchObject({ code: "ERR_SPILLWAY_INVALID_OPTION" });
    expect(String(error)).toContain(`policies.${option}`);
  });

  it.each([
    ["a limit that is NaN", { ...sound, limit: Number.NaN }],
    ["nothing", undefined],
    ["a promise", Promise.resolve(sound)],
    ["a number", 5],
    ["no policies", []],
  ])("a function that returns %s ends in an error, never in unlimited", async (_, returned) => {
    const limiter = redis.limiter({ policies: () => returned as PolicyOptions });
    await expect(limiter.consume("k")).rejects.toMatchObject({ code: "ERR_SPILLWAY_INVALID_OPTION" });
    expect(() => limiter.consumeNow("k")).toThrow(SpillwayError);
    await expect(limiter.peek("k")).rejects.toMatchObject({ code: "ERR_SPILLWAY_INVALID_OPTION" });
  });

  it("a function that throws ends in its error", async () => {
    const fault = new Error("no tier");
    const limiter = redis.limiter({
      policies: () => {
        throw fault;
      },
    });
    await expect(limiter.consume("k")).rejects.toBe(fault);
  });
});
