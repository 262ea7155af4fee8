import { expect, it } from "vitest";
import { redisFixture } from "../support/redis-fixture.ts";

const redis = redisFixture();
const POLICIES = [
  { name: "bucket", limit: 1000, period: "1s", burst: 200 },
  { name: "log", limit: 1000, period: "1h", algorithm: "sliding-window-log" },
] as const;

it("a block holds in every process, and ends in every process", async () => {
  const [one, other] = [redis.limiter({ policies: POLICIES }), redis.limiter({ policies: POLICIES })] as const;
  await one.consume("key");
  await one.block("key", "1h");
  for (const limiter of [one, other])
    expect(await limiter.consume("key", { cost: 0 })).toMatchObject({ allowed: false, reason: "blocked" });
  expect((await other.peek("key")).policies[0]?.blockedForMs).toBeGreaterThan(3_590_000);
  expect((await other.consume("another")).allowed).toBe(true);
  for (const name of await redis.client.keys("spillway:v1:{key}*"))
    expect(await redis.client.pttl(name)).toBeGreaterThan(3_590_000);
  await other.reset("key");
  expect((await other.consume("key")).allowed).toBe(true);
});

it("tokens on lease elsewhere are spent for one and a half drain times more at most, under load", async () => {
  const holder = redis.limiter({ policies: POLICIES.slice(0, 1) });
  const blocker = redis.limiter({ policies: POLICIES.slice(0, 1) });
  const end = performance.now() + 20_000;
  // Busy until it spends leased tokens.
  while (holder.stats().sources.lease < 50 && performance.now() < end) {
    holder.consumeNow("key") ?? (await holder.consume("key"));
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  expect(holder.stats().sources.lease).toBeGreaterThanOrEqual(50);
  await blocker.block("key", "1h");
  const blockedMs = performance.now();
  let lastMs = 0;
  for (let ms = 0; ms < 400; ms = performance.now() - blockedMs) {
    const askedMs = performance.now() - blockedMs;
    const decision = holder.consumeNow("key") ?? (await holder.consume("key"));
    if (decision.allowed) lastMs = askedMs;
    else expect(decision.reason).toBe("blocked");
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  expect(lastMs).toBeLessThanOrEqual(75);
  expect(await holder.consume("key")).toMatchObject({ allowed: false, reason: "blocked" });
});

it("a long log is blocked and let go without losing an entry", async () => {
  const limiter = redis.limiter({ policies: POLICIES.slice(1) });
  for (let i = 0; i < 40; i++) await limiter.consume("key", { cost: 3 });
  await limiter.block("key", "1h");
  await limiter.penalize("key", 7);
  expect((await limiter.consume("key")).allowed).toBe(false);
  await limiter.block("key", 0);
  expect((await limiter.peek("key")).policies[0]?.remaining).toBe(1000 - 120 - 7);
  await limiter.consume("key", { cost: 2 });
  expect((await limiter.peek("key")).policies[0]?.remaining).toBe(1000 - 120 - 9);
});
