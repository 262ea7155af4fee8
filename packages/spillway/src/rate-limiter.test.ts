import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Decision } from "./decision.ts";
import type { PolicyOptions } from "./policy.ts";
import type { Cost, PoliciesOption } from "./policy-set.ts";
import { createRateLimiter, type RateLimiter } from "./rate-limiter.ts";
import { memoryStore } from "./stores/memory-store.ts";
import { manualClock } from "./testing/manual-clock.ts";
import { remainingOf, memoryLimiter as setup } from "./testing/test-support.ts";

const BUCKET: PolicyOptions = { name: "bucket", limit: 10, period: "1s", burst: 5 };
const WINDOW: PolicyOptions = { name: "window", limit: 5, period: "1m", algorithm: "fixed-window" };

/** Makes calls in a row and says which were admitted. */
async function admitted(limiter: RateLimiter, key: string, ...costs: Cost[]): Promise<boolean[]> {
  const decisions: Decision[] = [];
  for (const cost of costs) decisions.push(await limiter.consume(key, { cost }));
  return decisions.map((decision) => decision.allowed);
}

describe("a decision", () => {
  it("that admits says what is left and when the policy is as if unused", async () => {
    const { limiter } = setup([WINDOW, BUCKET]);
    expect(await limiter.consume("key", { cost: { window: 3, bucket: 4 } })).toEqual({
      allowed: true,
      key: "key",
      costs: [3, 4],
      policy: "bucket",
      limit: 10,
      remaining: 1,
      resetAfterMs: 400,
      source: "store",
      degraded: false,
      policies: [
        {
          policy: "window",
          limit: 5,
          periodMs: 60_000,
          remaining: 2,
          refillAfterMs: 60_000,
          resetAfterMs: 60_000,
          retryAfterMs: 0,
        },
        {
          policy: "bucket",
          limit: 10,
          periodMs: 1000,
          remaining: 1,
          refillAfterMs: 100,
          resetAfterMs: 400,
          retryAfterMs: 0,
        },
      ],
    });
  });

  it("that refuses says which policy binds, why, and when to come back", async () => {
    const { limiter } = setup([WINDOW, BUCKET]);
    await limiter.consume("key", { cost: { bucket: 4 } });
    expect(await limiter.consume("key", { cost: 3 })).toMatchObject({
      allowed: false,
      costs: [3, 3],
      policy: "bucket",
      limit: 10,
      remaining: 1,
      reason: "limited",
      retryAfterMs: 200,
      resetAfterMs: 400,
      source: "store",
      degraded: false,
      policies: [
        { policy: "window", remaining: 5, retryAfterMs: 0 },
        { policy: "bucket", remaining: 1, retryAfterMs: 200 },
      ],
    });
  });

  it("about a cost that can never fit says so at once, offers no wait and takes nothing (C06 a)", async () => {
    const { limiter } = setup(BUCKET);
    expect(await limiter.consume("key", { cost: 6 })).toMatchObject({
      allowed: false,
      reason: "never",
      retryAfterMs: Number.POSITIVE_INFINITY,
      remaining: 5,
    });
    expect(await admitted(limiter, "key", 5, 5)).toEqual([true, false]);
  });

  it("about a cost equal to the burst is a wait for the time to full, and then an admission (C06 c)", async () => {
    const { limiter, clock } = setup(BUCKET);
    await limiter.consume("key", { cost: 5 });
    expect(await limiter.consume("key", { cost: 5 })).toMatchObject({ reason: "limited", retryAfterMs: 500 });
    clock.advance(499.999);
    expect(await admitted(limiter, "key", 5)).toEqual([false]);
    clock.advance(0.001);
    expect(await admitted(limiter, "key", 5)).toEqual([true]);
  });

  it("is the same from consumeNow as from consume, step by step", async () => {
    const anyStep = fc.tuple(fc.constantFrom("a", "b"), fc.nat(6), fc.nat(2000));
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { maxLength: 12 }), async (steps) => {
        const [now, later] = [setup([BUCKET, WINDOW]), setup([BUCKET, WINDOW])];
        for (const [key, cost, ms] of steps) {
          for (const { clock } of [now, later]) clock.advance(ms);
          expect(now.limiter.consumeNow(key, { cost })).toEqual(await later.limiter.consume(key, { cost }));
        }
        expect(now.limiter.stats()).toEqual(later.limiter.stats());
      }),
      { numRuns: 30 },
    );
  });

  it.each([
    ["a token bucket", { name: "any", limit: 7, period: "1s", burst: 3 }],
    ["a token bucket of an odd period", { name: "any", limit: 3, period: 1500.5, burst: 4 }],
    ["a fixed window", { name: "any", limit: 3, period: 333.333, algorithm: "fixed-window" }],
    [
      "an aligned window",
      { name: "any", limit: 3, period: 777.001, algorithm: "fixed-window", windowStart: "aligned" },
    ],
  ] as const)(
    "of %s keeps its word: who comes back alone after retryAfterMs is admitted (C04 d)",
    async (_, policy) => {
      const { limiter, clock } = setup(policy);
      for (let i = 0; i < 200; i++) {
        const cost = 1 + (i % 3);
        const decision = await limiter.consume("key", { cost });
        if (decision.allowed) continue;
        expect(decision.retryAfterMs).toBeGreaterThan(0);
        clock.advance(decision.retryAfterMs);
        expect((await limiter.consume("key", { cost })).allowed).toBe(true);
      }
    },
  );

  it("does not move with the wall clock (C02)", async () => {
    const { limiter, clock } = setup([BUCKET, WINDOW]);
    expect(await admitted(limiter, "key", 3)).toEqual([true]);
    clock.stepWall(-2 * 86_400_000);
    expect(await admitted(limiter, "key", 1)).toEqual([true]);
    clock.stepWall(2 * 86_400_000);
    clock.advance(100);
    expect(await admitted(limiter, "key", 1)).toEqual([true]);
    expect(await limiter.consume("key", { cost: 5 })).toMatchObject({ policy: "window", retryAfterMs: 59_900 });
  });
});

describe("several policies", () => {
  it("admit together or not at all, and a refusal by one takes nothing from the others (C25)", async () => {
    const { limiter } = setup([
      { ...WINDOW, limit: 10 },
      { ...BUCKET, burst: 1 },
    ]);
    expect(await admitted(limiter, "key", 1, 1, 1)).toEqual([true, false, false]);
    expect(await remainingOf(limiter)).toEqual([9, 0]);
  });

  it("charge a long window for admitted calls only, so that refused ones shut nobody out (C25 b)", async () => {
    const { limiter, clock } = setup([
      { name: "minute", limit: 10, period: "1m" },
      { name: "half-hour", limit: 30, period: "30m", algorithm: "fixed-window" },
    ]);
    let count = 0;
    for (let call = 0; call < 31; call++) {
      if ((await limiter.consume("key")).allowed) count++;
      clock.advance(3871);
    }
    expect(count).toBe(29);
    expect((await remainingOf(limiter))[1]).toBe(1);
  });

  it("take each their own cost", async () => {
    const { limiter } = setup([BUCKET, WINDOW]);
    await limiter.consume("key", { cost: { window: 4 } });
    await limiter.consume("key", { cost: { bucket: 2, window: 1 } });
    expect(await remainingOf(limiter)).toEqual([3, 0]);
    expect(await admitted(limiter, "key", { bucket: 1 }, { window: 1 }, {})).toEqual([true, false, true]);
  });
});

describe("peek", () => {
  it("tells how a key stands and takes nothing", async () => {
    const { limiter } = setup(BUCKET);
    await limiter.consume("key", { cost: 4 });
    for (let i = 0; i < 3; i++)
      expect(await limiter.peek("key")).toEqual({
        key: "key",
        policies: [
          {
            policy: "bucket",
            limit: 10,
            periodMs: 1000,
            remaining: 1,
            refillAfterMs: 100,
            resetAfterMs: 400,
            retryAfterMs: 0,
          },
        ],
      });
    const [full] = (await limiter.peek("unknown")).policies;
    expect(full).toMatchObject({ remaining: 5, refillAfterMs: 0, resetAfterMs: 0 });
    expect(limiter.stats()).toMatchObject({ allowed: 1, refused: 0 });
  });
});

describe("refund", () => {
  it("gives back what an admission took, once", async () => {
    const { limiter } = setup([BUCKET, WINDOW]);
    const decision = await limiter.consume("key", { cost: { bucket: 2, window: 3 } });
    await Promise.all([limiter.refund(decision), limiter.refund(decision)]);
    await limiter.refund(decision);
    expect(await remainingOf(limiter)).toEqual([5, 5]);
    await limiter.consume("key", { cost: 3 });
    await limiter.refund(decision);
    expect(await remainingOf(limiter)).toEqual([2, 2]);
  });

  it("never gives above full", async () => {
    const { limiter, clock } = setup([BUCKET, WINDOW]);
    const decision = await limiter.consume("key", { cost: 4 });
    clock.advance(60_000);
    await limiter.refund(decision);
    expect(await remainingOf(limiter)).toEqual([5, 5]);
  });

  it("gives nothing for a refusal, nor for a call that cost nothing", async () => {
    const { limiter } = setup(BUCKET);
    await limiter.consume("key", { cost: 5 });
    await limiter.refund(await limiter.consume("key", { cost: 1 }));
    await limiter.refund(await limiter.consume("key", { cost: 0 }));
    expect(await remainingOf(limiter)).toEqual([0]);
  });

  it.each<[string, object | null]>([
    ["nothing", null],
    ["no list of costs", { costs: undefined }],
    ["no list of policies", { policies: undefined }],
    ["text for a cost", { costs: ["5"] }],
    ["a cost without end", { costs: [Number.POSITIVE_INFINITY] }],
    ["a part of a token", { costs: [1.5] }],
  ])("gives nothing for what consume cannot have given: %s", async (_what, damage) => {
    const { limiter } = setup(BUCKET);
    const decision = await limiter.consume("key", { cost: 4 });
    const damaged = (damage === null ? null : { ...decision, ...damage }) as Decision;
    await expect(limiter.refund(damaged)).rejects.toMatchObject({
      code: expect.stringMatching(/INVALID_(OPTION|COST)$/),
    });
    expect(await remainingOf(limiter)).toEqual([1]);
  });
});

describe("reset", () => {
  it("makes a key as if unused, and no other", async () => {
    const { limiter } = setup([BUCKET, WINDOW]);
    await admitted(limiter, "key", 5, 1);
    await limiter.consume("other", { cost: 5 });
    await limiter.reset("key");
    expect([await remainingOf(limiter), await remainingOf(limiter, "other")]).toEqual([
      [5, 5],
      [0, 0],
    ]);
  });
});

describe("a policy function", () => {
  const TIERS = { free: { ...BUCKET, limit: 1, burst: 1 }, paid: [BUCKET, WINDOW] };
  const tierOf = (key: string): PolicyOptions | PolicyOptions[] => (key.startsWith("paid") ? TIERS.paid : TIERS.free);

  it("gives each key the policies of its tier", async () => {
    const { limiter } = setup(tierOf);
    expect(await remainingOf(limiter, "paid:1")).toEqual([5, 5]);
    expect(await admitted(limiter, "free:1", 1, 1)).toEqual([true, false]);
    expect(await admitted(limiter, "free:2", 1, 1)).toEqual([true, false]);
  });

  it("may move a key to another tier; the bucket of the same name goes along (C09)", async () => {
    let isPaid = false;
    const { limiter, clock } = setup(() => (isPaid ? { ...BUCKET, limit: 1000, burst: 1000 } : BUCKET));
    await limiter.consume("key", { cost: 3 });
    isPaid = true;
    expect(await limiter.consume("key", { cost: 2 })).toMatchObject({ allowed: true, limit: 1000, remaining: 0 });
    clock.advance(50);
    expect(await remainingOf(limiter)).toEqual([50]);
    isPaid = false;
    expect(await limiter.consume("key")).toMatchObject({ allowed: false, limit: 10, retryAfterMs: 50 });
  });

  it("counts a key once, also when it makes its objects anew each time", async () => {
    const { limiter } = setup(() => ({ ...BUCKET }));
    expect(await admitted(limiter, "key", 3, 3, 2)).toEqual([true, false, true]);
  });

  it.each([
    ["undefined", undefined],
    ["NaN", Number.NaN],
    ["a promise", Promise.resolve(BUCKET)],
    ["an empty array", []],
    ["a limit that is NaN", { ...BUCKET, limit: Number.NaN }],
  ])("that returns %s ends in a clear error, never in unlimited (C07)", async (_, returned) => {
    const { limiter } = setup((() => returned) as PoliciesOption);
    const error = expect.objectContaining({ name: "SpillwayError", code: "ERR_SPILLWAY_INVALID_OPTION" });
    await expect(limiter.consume("key")).rejects.toEqual(error);
    await expect(limiter.peek("key")).rejects.toEqual(error);
    await expect(limiter.reset("key")).rejects.toEqual(error);
    expect(() => limiter.consumeNow("key")).toThrow(error);
    expect(limiter.stats()).toMatchObject({ allowed: 0, refused: 0 });
  });

  it("that throws rejects with what it threw", async () => {
    const { limiter } = setup(() => {
      throw new Error("no such tier");
    });
    await expect(limiter.consume("key")).rejects.toThrow("no such tier");
  });
});

describe("a limiter", () => {
  it("counts what it decided", async () => {
    const { limiter } = setup(BUCKET);
    await admitted(limiter, "key", 3, 3, 2);
    limiter.consumeNow("key");
    await limiter.consume("").catch(() => {});
    expect(limiter.stats()).toMatchObject({
      allowed: 2,
      refused: 2,
      sources: { store: 4, "denial-cache": 0, lease: 0, backstop: 0, open: 0, closed: 0 },
      keys: 0,
      store: "memory",
    });
  });
});

describe("close", () => {
  it("ends the limiter once and for all, and says so to whoever comes later", async () => {
    const { limiter } = setup(BUCKET);
    const decision = await limiter.consume("key");
    await limiter.close();
    await limiter.close();
    await limiter[Symbol.asyncDispose]();
    const error = expect.objectContaining({ name: "SpillwayError", code: "ERR_SPILLWAY_CLOSED" });
    await expect(limiter.consume("key")).rejects.toEqual(error);
    await expect(limiter.peek("key")).rejects.toEqual(error);
    await expect(limiter.reset("key")).rejects.toEqual(error);
    await expect(limiter.refund(decision)).rejects.toEqual(error);
    expect(() => limiter.consumeNow("key")).toThrow(error);
  });

  it("leaves no timer behind", async () => {
    const { limiter, clock } = setup(BUCKET);
    await admitted(limiter, "key", 1, 5);
    await limiter.peek("key");
    await limiter.close();
    expect(clock.pendingTimers).toBe(0);
  });

  it("closes a store that it made, not one that it was given", async () => {
    const clock = manualClock();
    const store = memoryStore({ clock });
    const first = createRateLimiter({ policies: BUCKET, store, clock });
    await first.consume("key", { cost: 5 });
    await first.close();
    const second = createRateLimiter({ policies: BUCKET, store, clock });
    expect(await remainingOf(second)).toEqual([0]);
  });
});

describe("a dry run", () => {
  it("lets in whom it would refuse, says why, counts it, and takes nothing for it", async () => {
    const { limiter } = setup(BUCKET, { dryRun: true });
    expect(await limiter.consume("key", { cost: 4 })).not.toHaveProperty("waived");
    expect(await limiter.consume("key", { cost: 2 })).toMatchObject({
      allowed: true,
      remaining: 1,
      waived: { allowed: false, reason: "limited", retryAfterMs: 100, policy: "bucket" },
    });
    expect(limiter.consumeNow("key", { cost: 6 })).toMatchObject({ allowed: true, waived: { reason: "never" } });
    expect(await remainingOf(limiter)).toEqual([1]);
    expect(limiter.stats()).toMatchObject({ allowed: 1, refused: 2 });
  });

  it("gives nothing back for what was waived", async () => {
    const { limiter } = setup(BUCKET, { dryRun: true });
    await limiter.consume("key", { cost: 5 });
    await limiter.refund(await limiter.consume("key", { cost: 5 }));
    expect(await remainingOf(limiter)).toEqual([0]);
  });
});

describe("the policies of a limiter", () => {
  it("can be read with what was left out, unless they depend on the key", () => {
    expect(setup([BUCKET, WINDOW]).limiter.policies).toEqual([
      { name: "bucket", algorithm: "token-bucket", limit: 10, periodMs: 1000, capacity: 5 },
      { name: "window", algorithm: "fixed-window", limit: 5, periodMs: 60_000, capacity: 5 },
    ]);
    expect(setup(() => BUCKET).limiter.policies).toBeUndefined();
  });
});
