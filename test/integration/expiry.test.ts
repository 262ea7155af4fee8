import { setTimeout as sleep } from "node:timers/promises";
import { keysUnder } from "@spillway/testkit";
import { createRateLimiter, type PolicyOptions, redisStore } from "spillway";
import { describe, expect, it } from "vitest";
import { policyOf } from "../lua/on-redis.ts";
import { PATIENT_MS, redisFixture } from "../support/redis-fixture.ts";

const redis = redisFixture();

describe("C03 a: a bucket over its limit whose key lost its expiry", () => {
  const PERIOD_MS = 1500;
  it.each([
    { name: "window", limit: 5, period: PERIOD_MS, algorithm: "fixed-window" },
    { name: "tokens", limit: 5, period: PERIOD_MS },
    { name: "counter", limit: 5, period: PERIOD_MS / 2, algorithm: "sliding-window-counter" },
    { name: "log", limit: 5, period: PERIOD_MS, algorithm: "sliding-window-log" },
  ] as const)("gets one back, and its caller is served again within a period ($name)", async (policies) => {
    const limiter = redis.limiter({ policies, lease: false });
    for (let i = 0; i < 8; i++) await limiter.consume("k");
    const [key = ""] = await keysUnder(redis.client, "spillway:");
    await redis.client.persist(key);
    const persistedMs = performance.now();
    let healedMs: number | undefined;
    let servedMs: number | undefined;
    for (let calls = 0; calls < 300 && (healedMs === undefined || servedMs === undefined); calls++) {
      const decision = await limiter.consume("k");
      const pttl = await redis.client.pttl(key);
      if (pttl > 0) healedMs ??= performance.now() - persistedMs;
      if (decision.allowed) servedMs ??= performance.now() - persistedMs;
      await sleep(10);
    }
    // A refusal is remembered for a second at most; the call after that reaches the store.
    expect(healedMs).toBeLessThan(1300);
    expect(servedMs).toBeLessThan(PERIOD_MS + 300);
  });
});

describe("C03 b: 10,000 keys, one consume each", () => {
  const PERIOD_MS = 600_000;
  const policies: readonly PolicyOptions[] = [
    { name: "tokens", limit: 5, period: PERIOD_MS },
    { name: "window", limit: 5, period: PERIOD_MS, algorithm: "fixed-window" },
    { name: "aligned", limit: 5, period: PERIOD_MS, algorithm: "fixed-window", windowStart: "aligned" },
    { name: "counter", limit: 5, period: PERIOD_MS, algorithm: "sliding-window-counter" },
    { name: "log", limit: 5, period: PERIOD_MS, algorithm: "sliding-window-log" },
  ];
  it.each([
    ["each way of counting", policies, false],
    // A log does not lease: with one among its policies, a key does not either.
    ["with leases", policies.slice(0, 4), { maxDrainMs: 50 }],
  ] as const)(
    "leave no key without an expiry of at most twice the window (%s)",
    { timeout: 60_000 },
    async (_, chosen, lease) => {
      const limiter = redis.limiter({ policies: chosen, lease });
      for (let batch = 0; batch < 10; batch++) {
        const keys = Array.from({ length: 1000 }, (_unused, index) => `user-${batch * 1000 + index}`);
        const decisions = await Promise.all(keys.map((key) => limiter.consume(key)));
        expect(decisions.filter(({ allowed, source }) => !allowed || source !== "store")).toEqual([]);
      }
      const keys = await keysUnder(redis.client, "spillway:");
      expect(keys).toHaveLength(10_000 * chosen.length);
      for (let from = 0; from < keys.length; from += 1000) {
        const pipeline = redis.client.pipeline();
        for (const key of keys.slice(from, from + 1000)) pipeline.pttl(key);
        for (const [, pttl] of (await pipeline.exec()) ?? []) {
          expect(pttl).toBeGreaterThan(0);
          expect(pttl).toBeLessThanOrEqual(2 * PERIOD_MS + 2);
        }
      }
    },
  );
});

it("C03 c: 200 concurrent takes across the end of a window admit five in each window, 40 times", {
  timeout: 60_000,
}, async () => {
  const policy = policyOf({ name: "five", limit: 5, period: 50, algorithm: "fixed-window" });
  const store = redisStore(redis.connect());
  redis.afterwards(() => store.close());
  let across = 0;
  for (let round = 0; round < 40; round++) {
    const buckets = [{ key: `round-${round}`, policy, report: undefined }];
    const take = async (count: number): Promise<readonly [startUs: number, nowUs: number, served: number]> => {
      const {
        nowUs,
        served,
        buckets: readings,
      } = await store.take({ buckets, runs: [{ count, charges: [{ bucket: 0, cost: 1 }] }] });
      const reading = readings[0];
      if (reading?.kind !== "state" || reading.state.kind !== "fixed-window") throw new Error("no window");
      return [reading.state.startUs, nowUs, served[0] ?? 0];
    };
    const [startUs, nowUs, first] = await take(8);
    await sleep(Math.max(0, (startUs + policy.periodUs - nowUs) / 1000 - 3));
    const admitted = new Map<number, number>([[startUs, first]]);
    for (const [start, , served] of await Promise.all(Array.from({ length: 200 }, () => take(1))))
      admitted.set(start, (admitted.get(start) ?? 0) + served);
    expect([...admitted.values()].filter((tokens) => tokens > 5)).toEqual([]);
    if (admitted.size > 1) across++;
    expect(await redis.client.pttl(`spillway:v1:{round-${round}}:five:fixed-window`)).not.toBe(-1);
  }
  // A busy machine wakes too late for some of the ends.
  expect(across).toBeGreaterThan(5);
});

it.each([
  // Tokens that may go in within a time T, in parts of the period.
  ["token-bucket", (part: number) => 5 * (1 + part)],
  ["sliding-window-counter", (part: number) => 5 * (1 + part)],
  ["sliding-window-log", (part: number) => 5 * Math.ceil(part + 1e-9)],
] as const)(
  "C03 c: 200 concurrent takes across the end of a period, 20 times, keep to the limit (%s)",
  {
    timeout: 60_000,
  },
  async (algorithm, most) => {
    const policy = policyOf({ name: "five", limit: 5, period: 50, algorithm });
    const store = redisStore(redis.connect());
    redis.afterwards(() => store.close());
    for (let round = 0; round < 20; round++) {
      const buckets = [{ key: `round-${round}`, policy, report: undefined }];
      const taken: { readonly us: number; readonly tokens: number }[] = [];
      const take = async (count: number): Promise<void> => {
        const { nowUs, served } = await store.take({ buckets, runs: [{ count, charges: [{ bucket: 0, cost: 1 }] }] });
        if (served[0] !== 0) taken.push({ us: nowUs, tokens: served[0] as number });
      };
      await take(8);
      await sleep(45);
      await Promise.all(Array.from({ length: 200 }, () => take(1)));
      taken.sort((a, b) => a.us - b.us);
      for (const [from, { us }] of taken.entries()) {
        let sum = 0;
        for (const later of taken.slice(from)) {
          sum += later.tokens;
          expect(sum).toBeLessThanOrEqual(most((later.us - us) / policy.periodUs));
        }
      }
      expect(await redis.client.pttl(`spillway:v1:{round-${round}}:five:${algorithm}`)).not.toBe(-1);
    }
  },
);

it("an idle limiter leaves nothing behind once its keys have expired", async () => {
  const client = redis.connect({ lazyConnect: true });
  const store = redisStore(client);
  const limiter = createRateLimiter({
    store,
    policies: { name: "brief", limit: 100, period: "1s", burst: 5 },
    deadlineMs: PATIENT_MS,
  });
  redis.afterwards(async () => {
    await limiter.close();
    await store.close();
  });
  await Promise.all(Array.from({ length: 50 }, () => limiter.consume("k")));
  await sleep(400);
  expect(await redis.client.dbsize()).toBe(0);
});
