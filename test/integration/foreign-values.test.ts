import { type PolicyOptions, SpillwayError } from "spillway";
import { describe, expect, it } from "vitest";
import { redisFixture } from "../support/redis-fixture.ts";

const redis = redisFixture();

const POLICIES: readonly PolicyOptions[] = [
  { name: "tokens", limit: 6, period: "1h" },
  { name: "window", limit: 6, period: "1h", algorithm: "fixed-window" },
  { name: "counter", limit: 6, period: "1h", algorithm: "sliding-window-counter" },
  { name: "log", limit: 6, period: "1h", algorithm: "sliding-window-log" },
];
const keyOf = ({ name, algorithm = "token-bucket" }: PolicyOptions, key = "k"): string =>
  `spillway:v1:{${key}}:${name}:${algorithm}`;

const VALUES: readonly (readonly [string, (key: string) => Promise<unknown>])[] = [
  ["the string 5", (key) => redis.client.set(key, "5")],
  ["a list", (key) => redis.client.rpush(key, "5")],
];

describe.each(VALUES)("C15 a: a bucket's key that somebody else has set to %s without expiry", (_, put) => {
  it.each(POLICIES)(
    "is decided by this process's share meanwhile, and named to those who ask ($name)",
    async (policies) => {
      const limiter = redis.limiter({ policies, replicas: 2 });
      redis.afterwards(() => redis.client.del(keyOf(policies)).then(() => {}));
      await put(keyOf(policies));
      const decisions = await Promise.all(Array.from({ length: 10 }, () => limiter.consume("k")));
      for (const decision of decisions) expect(decision).toMatchObject({ degraded: true, source: "backstop" });
      expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(3);
      const fault = await limiter.peek("k").catch((error: unknown) => error);
      expect(fault).toBeInstanceOf(SpillwayError);
      expect(fault).toMatchObject({ code: "ERR_SPILLWAY_BUCKET_UNREADABLE" });
      expect(String(fault)).toContain(keyOf(policies));
      expect(String(fault)).toContain("reset()");
      expect(limiter.stats().storeFaults).toBeGreaterThan(0);
    },
  );

  it.each(POLICIES)("touches neither other keys nor the store's health ($name)", async (policies) => {
    const limiter = redis.limiter({ policies });
    redis.afterwards(() => redis.client.del(keyOf(policies)).then(() => {}));
    await put(keyOf(policies));
    for (let i = 0; i < 60; i++) await limiter.consume("k");
    const together = await Promise.all(["k", "other", "another"].map((key) => limiter.consume(key)));
    expect(together.map(({ source }) => source)).toEqual(["backstop", "store", "store"]);
    expect(limiter.stats().health.degraded).toBe(false);
  });

  it.each(POLICIES)("is healed by reset(), and decided by the store from then on ($name)", async (policies) => {
    const limiter = redis.limiter({ policies, lease: false });
    await put(keyOf(policies));
    await limiter.consume("k");
    await limiter.reset("k");
    expect(await limiter.consume("k")).toMatchObject({ allowed: true, degraded: false, source: "store", remaining: 5 });
    expect(await redis.client.pttl(keyOf(policies))).toBeGreaterThan(0);
  });

  it.each(POLICIES)("is healed by deleting the key ($name)", async (policies) => {
    const limiter = redis.limiter({ policies, lease: false });
    await put(keyOf(policies));
    await limiter.consume("k");
    await redis.client.del(keyOf(policies));
    expect(await limiter.consume("k")).toMatchObject({ allowed: true, degraded: false, source: "store", remaining: 5 });
  });
});

it("C15 a: one policy of a key that cannot be read decides nothing for its others: none is charged", async () => {
  const [tokens, window] = POLICIES as [PolicyOptions, PolicyOptions];
  const limiter = redis.limiter({ policies: [tokens, window], lease: false });
  redis.afterwards(() => redis.client.del(keyOf(window)).then(() => {}));
  await redis.client.set(keyOf(window), "5");
  expect(await limiter.consume("k")).toMatchObject({ degraded: true });
  const alone = redis.limiter({ policies: tokens, lease: false });
  expect((await alone.peek("k")).policies[0]?.remaining).toBe(6);
});

it("C15 a: keys of other versions and of other ways of counting are never read", async () => {
  const [tokens] = POLICIES as [PolicyOptions, PolicyOptions];
  for (const key of [
    "spillway:{k}:tokens",
    "spillway:v0:{k}:tokens:token-bucket",
    "spillway:v1:{k}:tokens:fixed-window",
  ])
    await redis.client.set(key, "5", "PX", 60_000);
  const limiter = redis.limiter({ policies: tokens });
  expect(await limiter.consume("k")).toMatchObject({ allowed: true, source: "store", remaining: 5 });
});
