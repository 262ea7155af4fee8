import { describe, expect, it } from "vitest";
import type { PolicyOptions } from "../policy.ts";
import type { RateLimiter } from "../rate-limiter.ts";
import { createRateLimiter } from "../rate-limiter.ts";
import { manualClock } from "./manual-clock.ts";
import { DistantStore, remainingOf, memoryLimiter as setup } from "./test-support.ts";

const ALGORITHMS = ["token-bucket", "fixed-window", "sliding-window-counter", "sliding-window-log"] as const;
type Algorithm = (typeof ALGORITHMS)[number];

/** How long it takes at most until a policy is as if unused, in periods. */
const PERIODS_TO_FULL: Readonly<Record<Algorithm, number>> = {
  "token-bucket": 1,
  "fixed-window": 1,
  "sliding-window-counter": 2,
  "sliding-window-log": 1,
};

function policyOf(algorithm: Algorithm, limit = 10, period: PolicyOptions["period"] = "10s"): PolicyOptions {
  return { name: "any", limit, period, algorithm };
}

async function admitted(limiter: RateLimiter, ...costs: number[]): Promise<boolean[]> {
  const decisions = [];
  for (const cost of costs) decisions.push(await limiter.consume("key", { cost }));
  return decisions.map((decision) => decision.allowed);
}

async function waitOf(limiter: RateLimiter, cost = 1): Promise<number> {
  const decision = await limiter.consume("key", { cost });
  return decision.allowed ? 0 : decision.retryAfterMs;
}

describe("known sequences", () => {
  it("a bucket of 5/s and 10: of 12 at once 10, then 0.2 s to wait; at 0.2 s one; after 10 s idle 10 of 20", async () => {
    const { limiter, clock } = setup({ name: "bucket", limit: 5, period: "1s", burst: 10 });
    expect((await admitted(limiter, ...Array(12).fill(1))).filter(Boolean)).toHaveLength(10);
    expect(await waitOf(limiter)).toBe(200);
    clock.advance(200);
    expect(await admitted(limiter, 1, 1)).toEqual([true, false]);
    clock.advance(10_000);
    expect((await admitted(limiter, ...Array(20).fill(1))).filter(Boolean)).toHaveLength(10);
  });

  it("a log of 3 per 60 s at 0, 10, 59, 59.5, 60, 70 and 71 s: all but the fourth and the last", async () => {
    const { limiter, clock } = setup(policyOf("sliding-window-log", 3, "60s"));
    const decisions = [];
    for (const [i, s] of [0, 10, 59, 59.5, 60, 70, 71].entries()) {
      clock.advance((s - ([0, 10, 59, 59.5, 60, 70, 71][i - 1] ?? 0)) * 1000);
      decisions.push((await limiter.consume("key")).allowed);
    }
    expect(decisions).toEqual([true, true, true, false, true, true, false]);
  });

  it("around an edge a fixed window lets twice its limit in, a counter its limit and what slid in, a log its limit", async () => {
    const within = async (algorithm: Algorithm): Promise<number> => {
      const { limiter, clock } = setup(policyOf(algorithm, 100, "10s"));
      await limiter.consume("key", { cost: 0 });
      clock.advance(9999);
      let count = (await admitted(limiter, ...Array(150).fill(1))).filter(Boolean).length;
      clock.advance(1001);
      count += (await admitted(limiter, ...Array(150).fill(1))).filter(Boolean).length;
      return count;
    };
    const counts = [];
    for (const algorithm of ALGORITHMS) counts.push(await within(algorithm));
    // 1.001 s apart: the bucket has refilled 10, the counter a tenth of its former window.
    expect(counts).toEqual([110, 200, 110, 100]);
  });
});

describe.each(ALGORITHMS)("%s", (algorithm) => {
  const longestWaitMs = PERIODS_TO_FULL[algorithm] * 10_000;

  it("admits a small ask after a large one was refused, which took nothing", async () => {
    const { limiter } = setup(policyOf(algorithm));
    expect(await admitted(limiter, 8, 5, 1, 1, 1)).toEqual([true, false, true, true, false]);
  });

  it("keeps its word: who comes back alone after retryAfterMs is admitted (C04 d)", async () => {
    for (const period of [10_000, 333.333, 1] as const) {
      const { limiter, clock } = setup(policyOf(algorithm, 5, period));
      let refusals = 0;
      for (let i = 0; i < 200; i++) {
        const cost = 1 + (i % 5);
        const waitMs = await waitOf(limiter, cost);
        if (waitMs === 0) continue;
        refusals++;
        clock.advance(waitMs);
        expect(await admitted(limiter, cost)).toEqual([true]);
      }
      expect(refusals).toBeGreaterThan(50);
    }
  });

  it("tells what is left, and when it is as if unused", async () => {
    const { limiter, clock } = setup(policyOf(algorithm));
    const decision = await limiter.consume("key", { cost: 4 });
    expect(decision).toMatchObject({ allowed: true, remaining: 6 });
    clock.advance(decision.resetAfterMs - 0.001);
    expect((await remainingOf(limiter))[0]).toBeLessThan(10);
    clock.advance(0.001);
    expect(await remainingOf(limiter)).toEqual([10]);
    expect(decision.resetAfterMs).toBeLessThanOrEqual(longestWaitMs);
  });

  it("says of a cost above the limit that it never fits, and waits for one that equals it (C06 a, c)", async () => {
    const { limiter, clock } = setup(policyOf(algorithm));
    expect(await limiter.consume("key", { cost: 11 })).toMatchObject({
      allowed: false,
      reason: "never",
      remaining: 10,
    });
    expect(await admitted(limiter, 10)).toEqual([true]);
    const waitMs = await waitOf(limiter, 10);
    expect(waitMs).toBe(longestWaitMs);
    clock.advance(waitMs);
    expect(await admitted(limiter, 10)).toEqual([true]);
  });

  it("takes no bad cost for one (C07)", async () => {
    const { limiter } = setup(policyOf(algorithm, 5));
    await limiter.consume("key", { cost: 3 });
    for (const cost of [-1, Number.NaN, Number.POSITIVE_INFINITY, 0.5, "1", null, 1n])
      await expect(limiter.consume("key", { cost } as never)).rejects.toThrow(/must be a whole number/);
    expect([await admitted(limiter, 0), await remainingOf(limiter)]).toEqual([[true], [2]]);
  });

  it("works with a period of 1 ms, of 1,500.5 ms and of a year (C08)", async () => {
    for (const period of [1, 1500.5, 366 * 86_400_000]) {
      const { limiter, clock } = setup(policyOf(algorithm, 6, period));
      expect(await admitted(limiter, 6, 1)).toEqual([true, false]);
      const waitMs = await waitOf(limiter);
      expect(waitMs).toBeGreaterThan(0);
      expect(waitMs).toBeLessThanOrEqual(PERIODS_TO_FULL[algorithm] * period);
      clock.advance(waitMs - 0.001);
      expect(await admitted(limiter, 1)).toEqual([false]);
      clock.advance(0.001);
      expect(await admitted(limiter, 1)).toEqual([true]);
    }
  });

  it("serves at once after its limit was raised, and waits no longer than the new policy can make it (C09)", async () => {
    let policy = policyOf(algorithm, 10, "20s");
    const { limiter } = setup(() => policy);
    expect(await admitted(limiter, 3)).toEqual([true]);
    policy = policyOf(algorithm, 1000, "20s");
    expect(await admitted(limiter, 1)).toEqual([true]);
    policy = policyOf(algorithm, 10, "10s");
    expect((await limiter.consume("key")).remaining).toBeLessThanOrEqual(9);
    expect(await waitOf(limiter, 10)).toBeLessThanOrEqual(longestWaitMs);
  });

  it("never meets another way of counting of the same name (C09 d)", async () => {
    let policy = policyOf(algorithm);
    const { limiter } = setup(() => policy);
    await limiter.consume("key", { cost: 10 });
    for (const other of ALGORITHMS.filter((name) => name !== algorithm)) {
      policy = policyOf(other);
      expect(await remainingOf(limiter)).toEqual([10]);
    }
  });

  it("gives a refund back, never more than was taken", async () => {
    const { limiter, clock } = setup(policyOf(algorithm));
    const first = await limiter.consume("key", { cost: 4 });
    clock.advance(1);
    const second = await limiter.consume("key", { cost: 6 });
    await limiter.refund(second);
    expect(await remainingOf(limiter)).toEqual([6]);
    clock.advance(3 * 10_000);
    await limiter.refund(first);
    expect(await remainingOf(limiter)).toEqual([10]);
    expect(await admitted(limiter, 10, 1)).toEqual([true, false]);
  });

  it("is charged with policies of the other ways of counting, or not at all (C25)", async () => {
    const others = ALGORITHMS.filter((name) => name !== algorithm);
    const policies = others.map((name) => ({ ...policyOf(name, 20), name }));
    const { limiter } = setup([{ ...policyOf(algorithm, 3), name: "small" }, ...policies]);
    expect(await admitted(limiter, 1, 2, 1, 1)).toEqual([true, true, false, false]);
    expect(await remainingOf(limiter)).toEqual([0, 17, 17, 17]);
  });

  it("tells callers of one call what was left at each one's turn, each refused cost its own wait (C25 a)", async () => {
    const clock = manualClock();
    const store = new DistantStore(clock);
    const limiter = createRateLimiter({ policies: policyOf(algorithm), clock, store, lease: false, maxKeys: 10 });
    for (const cost of [2, 1, 3]) {
      await limiter.consume("key", { cost });
      clock.advance(10);
    }
    const decisions = await Promise.all([1, 2, 1, 3, 7, 10].map((cost) => limiter.consume("key", { cost })));
    expect(decisions.map((decision) => (decision.allowed ? decision.remaining : "refused"))).toEqual([
      3,
      1,
      0,
      "refused",
      "refused",
      "refused",
    ]);
    const waits = decisions.flatMap((decision) => (decision.allowed ? [] : [decision.retryAfterMs]));
    expect(store.calls).toHaveLength(4);
    for (const [i, cost] of [3, 7, 10].entries()) {
      const alone = createRateLimiter({ policies: policyOf(algorithm), clock, store, lease: false, maxKeys: 10 });
      expect(await alone.consume("key", { cost })).toMatchObject({ allowed: false, retryAfterMs: waits[i] });
      await alone.close();
    }
    await limiter.close();
  });
});
