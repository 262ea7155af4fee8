import type { AskPart, Decision } from "spillway";
import { describe, expect, it } from "vitest";
import { redisFixture } from "../support/redis-fixture.ts";

const redis = redisFixture();

const POLICIES = [
  { name: "user", limit: 30, period: "1h", burst: 30 },
  { name: "tenant", limit: 50, period: "1h", burst: 50 },
  { name: "daily", limit: 40, period: "1d", algorithm: "fixed-window" },
] as const;
const part = (policy: (typeof POLICIES)[number]["name"], key: string, cost = 1): AskPart => ({ policy, key, cost });

/** What went in, by policy and key. */
function admittedTokens(decisions: readonly Decision[]): Map<string, number> {
  const tokens = new Map<string, number>();
  for (const { allowed, keys, policies, costs } of decisions) {
    if (!allowed) continue;
    for (const [i, { policy }] of policies.entries()) {
      const bucket = `${policy} ${keys?.[i]}`;
      tokens.set(bucket, (tokens.get(bucket) ?? 0) + (costs[i] as number));
    }
  }
  return tokens;
}

describe("requests about several keys on a real server", () => {
  it("that share a bucket and travel in one call charge it for each of them", async () => {
    const limiter = redis.limiter({ policies: POLICIES, lease: false });
    await limiter.consume("somebody else");
    const before = limiter.stats().storeCalls;
    const asks = Array.from({ length: 80 }, (_, i) => limiter.consume([part("user", `u${i}`), part("tenant", "acme")]));
    const alone = limiter.consume("acme", { cost: { tenant: 1 } });
    const decisions = await Promise.all([...asks, alone]);
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(50);
    expect(limiter.stats().storeCalls - before).toBeLessThanOrEqual(3);
    expect(decisions.every(({ degraded }) => !degraded)).toBe(true);
  });

  it.each([
    ["without leases", false],
    ["with leases", {}],
  ] as const)("never go beyond any bucket, from three limiters at once (%s)", async (_, lease) => {
    const limiters = [1, 2, 3].map(() => redis.limiter({ policies: POLICIES, lease }));
    const decisions: Promise<Decision>[] = [];
    for (let turn = 0; turn < 30; turn++) {
      for (const [i, limiter] of limiters.entries()) {
        const [user, tenant] = [`u${(turn * 7 + i) % 4}`, `t${turn % 2}`];
        decisions.push(limiter.consume([part("user", user), part("tenant", tenant, 2), part("daily", tenant)]));
        decisions.push(limiter.consume([part("tenant", tenant), part("user", user, 3)]));
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    const settled = await Promise.all(decisions);
    const tokens = admittedTokens(settled);
    const most = { user: 30, tenant: 50, daily: 40 };
    for (const [bucket, taken] of tokens)
      expect(taken, bucket).toBeLessThanOrEqual(most[bucket.split(" ")[0] as keyof typeof most]);
    expect([...tokens.values()].some((taken) => taken >= 29)).toBe(true);
    expect(settled.every(({ degraded }) => !degraded)).toBe(true);
  });
});
