import { describe, expect, it } from "vitest";
import type { Decision } from "../decision.ts";
import type { Duration } from "../duration.ts";
import { LONGEST_TRUST_MS } from "../lease/denial.ts";
import type { PolicyOptions } from "../policy.ts";
import { busy, held, holding, neighbour } from "./leasing/test-support.ts";
import { distantLimiter, loseStore, memoryLimiter, passTime, remainingOf, settled } from "./test-support.ts";

const POLICIES: readonly PolicyOptions[] = [
  { name: "burst", limit: 10, period: "1s", burst: 20 },
  { name: "daily", limit: 1000, period: "1d", algorithm: "fixed-window" },
];
const BLOCKED = { allowed: false, reason: "blocked" };

describe("a blocked key", () => {
  it("is refused whatever it has left and whatever the cost, for the rest of the block", async () => {
    const { limiter, clock } = memoryLimiter(POLICIES);
    await limiter.block("key", "1m");
    clock.advance(20_000);
    for (const cost of [1, 0, { burst: 0, daily: 3 }]) {
      const decision = await limiter.consume("key", { cost });
      expect(decision).toMatchObject({ ...BLOCKED, retryAfterMs: 40_000, remaining: 0, degraded: false });
      expect(decision.policies.map(({ blockedForMs }) => blockedForMs)).toEqual([40_000, 40_000]);
    }
    expect(limiter.consumeNow("key")).toMatchObject(BLOCKED);
    expect((await limiter.consume("other")).allowed).toBe(true);
  });

  it("is admitted when the told wait is over, with what it had", async () => {
    const setup = distantLimiter({ policies: POLICIES });
    await setup.limiter.consume("key", { cost: 5 });
    await setup.limiter.block("key", 1500);
    const refusal = await setup.limiter.consume("key");
    expect(refusal).toMatchObject({ ...BLOCKED, retryAfterMs: 1500 });
    await passTime(setup, 1499.999);
    expect(await setup.limiter.consume("key")).toMatchObject(BLOCKED);
    await passTime(setup, 0.001);
    expect(await setup.limiter.consume("key", { cost: { daily: 995 } })).toMatchObject({ allowed: true });
  });

  it("waits for what its policies want as well, where that is longer", async () => {
    const { limiter } = memoryLimiter(POLICIES);
    await limiter.consume("key", { cost: 20 });
    await limiter.block("key", 500);
    expect(await limiter.consume("key", { cost: 15 })).toMatchObject({
      ...BLOCKED,
      retryAfterMs: 1500,
      policy: "burst",
    });
    expect(await limiter.consume("key", { cost: 21 })).toMatchObject({ allowed: false, reason: "never" });
  });

  it("says so when it is looked at", async () => {
    const { limiter } = memoryLimiter(POLICIES);
    await limiter.block("key", "1m");
    const { policies } = await limiter.peek("key");
    for (const status of policies)
      expect(status).toMatchObject({ remaining: 0, blockedForMs: 60_000, refillAfterMs: 60_000, retryAfterMs: 60_000 });
    await limiter.block("key", 0);
    for (const status of (await limiter.peek("key")).policies) expect(status).not.toHaveProperty("blockedForMs");
  });

  it("is let go by a reset, by a block of 0, and sooner by a shorter block", async () => {
    for (const setup of [memoryLimiter(POLICIES), distantLimiter({ policies: POLICIES })]) {
      const { limiter, clock } = setup;
      await limiter.block("key", "1h");
      await limiter.reset("key");
      expect((await limiter.consume("key")).allowed).toBe(true);
      await limiter.block("key", "1h");
      await limiter.block("key", 0);
      expect((await limiter.consume("key")).allowed).toBe(true);
      await limiter.block("key", "1h");
      await limiter.block("key", "2s");
      clock.advance(2000);
      expect((await limiter.consume("key")).allowed).toBe(true);
    }
  });

  it("refuses a request about several keys, and takes nothing of the others", async () => {
    const { limiter } = memoryLimiter(POLICIES);
    await limiter.block("a", "1m");
    const asked = [
      { policy: "burst", key: "a" },
      { policy: "burst", key: "b" },
    ];
    expect(await limiter.consume(asked)).toMatchObject({ ...BLOCKED, key: "a", retryAfterMs: 60_000 });
    expect(await remainingOf(limiter, "b")).toEqual([20, 1000]);
  });

  it("stays blocked through refunds and penalties", async () => {
    const setup = distantLimiter({ policies: POLICIES });
    const decision = await setup.limiter.consume("key", { cost: 5 });
    await setup.limiter.block("key", "1m");
    await setup.limiter.refund(decision);
    await setup.limiter.penalize("key", 2);
    expect(await setup.limiter.consume("key")).toMatchObject({ ...BLOCKED, source: "denial-cache" });
    await setup.limiter.block("key", 0);
    expect(await remainingOf(setup.limiter)).toEqual([18, 998]);
  });

  it("is let in in a dry run, and it is told why it would not be", async () => {
    const { limiter } = memoryLimiter(POLICIES, { dryRun: true });
    await limiter.block("key", "1m");
    expect(await limiter.consume("key")).toMatchObject({ allowed: true, waived: BLOCKED });
  });
});

describe("who has met a block", () => {
  it("refuses by itself, and asks the store about once in the time that it trusts a refusal", async () => {
    const setup = distantLimiter({ policies: POLICIES });
    await setup.limiter.block("key", "1h");
    const { length } = setup.store.calls;
    for (let ms = 0; ms < 3 * LONGEST_TRUST_MS; ms += 10) {
      expect(await setup.limiter.consume("key", { cost: (ms / 10) % 3 })).toMatchObject(BLOCKED);
      await passTime(setup, 10);
    }
    expect(setup.store.calls.length - length).toBeLessThanOrEqual(3);
  });

  it("hears within that time that another process has ended it", async () => {
    const setup = distantLimiter({ policies: POLICIES });
    const other = neighbour(setup, { policies: [...POLICIES] });
    await setup.limiter.block("key", "1h");
    await setup.limiter.consume("key");
    await other.block("key", 0);
    await passTime(setup, LONGEST_TRUST_MS);
    expect((await setup.limiter.consume("key")).allowed).toBe(true);
  });

  it("keeps to it to its end while the store is away, and no longer", async () => {
    for (const onStoreFailure of ["backstop", "open"] as const) {
      const setup = distantLimiter({ policies: POLICIES, onStoreFailure });
      await setup.limiter.block("key", "1m");
      await loseStore(setup);
      expect((await setup.limiter.consume("other")).allowed).toBe(true);
      await passTime(setup, 30_000);
      const decision = await setup.limiter.consume("key", { cost: 0 });
      expect(decision).toMatchObject({ ...BLOCKED, source: "backstop", degraded: true });
      expect((decision as { retryAfterMs: number }).retryAfterMs).toBeLessThan(30_000);
      await passTime(setup, 30_000);
      expect(await setup.limiter.consume("key")).toMatchObject({ allowed: true, degraded: true });
      await setup.limiter.close();
    }
  });

  it("forgets it for an outage once the store has said that it is over", async () => {
    const setup = distantLimiter({ policies: POLICIES });
    const other = neighbour(setup, { policies: [...POLICIES] });
    await setup.limiter.block("key", "1h");
    await other.block("key", 0);
    await passTime(setup, LONGEST_TRUST_MS);
    await setup.limiter.consume("key");
    await loseStore(setup);
    await passTime(setup, 1000);
    expect(await setup.limiter.consume("key")).toMatchObject({ allowed: true, degraded: true });
  });

  it("learns of it from a call that was sent for somebody else's key too", async () => {
    const setup = distantLimiter({ policies: POLICIES });
    const other = neighbour(setup, { policies: [...POLICIES] });
    await other.block("key", "1h");
    const both = await Promise.all(["key", "free"].map((key) => setup.limiter.consume(key)));
    expect(both.map(({ allowed }) => allowed)).toEqual([false, true]);
    expect(setup.limiter.consumeNow("key")).toMatchObject({ ...BLOCKED, source: "denial-cache" });
  });

  it("does not take a reply from before the block for the end of it", async () => {
    const setup = distantLimiter({ policies: POLICIES });
    setup.store.holds = true;
    const early = setup.limiter.consume("key");
    await settled();
    const reply = setup.store.held[0];
    setup.clock.advance(1);
    await setup.limiter.block("key", "1h");
    expect(setup.limiter.consumeNow("key")).toMatchObject(BLOCKED);
    reply?.answer();
    await early;
    expect(setup.limiter.consumeNow("key")).toMatchObject(BLOCKED);
  });
});

describe("tokens on lease when a key is blocked", () => {
  it("go back at once where the block is made, and are not spent meanwhile", async () => {
    const setup = await holding();
    const before = held(setup);
    expect(before).toBeGreaterThan(10);
    await setup.limiter.block("key", "1m");
    expect(setup.limiter.consumeNow("key")).toMatchObject(BLOCKED);
    await settled();
    expect(held(setup)).toBe(0);
    const { returned } = setup.limiter.stats().leases;
    expect(returned).toBeGreaterThanOrEqual(before);
  });

  it("may be spent elsewhere until the lease ends, and no longer", async () => {
    const setup = await holding();
    const other = neighbour(setup);
    await other.block("key", "1m");
    const admittedAtMs: number[] = [];
    for (let ms = 0; ms < 300; ms++) {
      const [decision] = (await busy(setup, 1, 1)) as [Decision];
      if (decision.allowed) admittedAtMs.push(ms);
      else expect(decision).toMatchObject(BLOCKED);
    }
    expect(admittedAtMs.length).toBeGreaterThan(0);
    expect(Math.max(...admittedAtMs)).toBeLessThanOrEqual(75);
    expect(held(setup)).toBe(0);
  });
});

describe("a bad block", () => {
  it.each([["-1s"], [-1], ["soon"], [Number.NaN], [Number.POSITIVE_INFINITY], ["3651d"], [undefined], [0.0001]])(
    "of %s is refused by name before anything is sent",
    async (duration) => {
      const setup = distantLimiter({ policies: POLICIES });
      await expect(setup.limiter.block("key", duration as Duration)).rejects.toThrow(/duration must be/);
    },
  );

  it("of a bad key, or of a closed limiter, is refused", async () => {
    const { limiter } = distantLimiter();
    await expect(limiter.block("", "1m")).rejects.toMatchObject({ code: "ERR_SPILLWAY_INVALID_KEY" });
    await expect(limiter.block(5 as never, "1m")).rejects.toMatchObject({ code: "ERR_SPILLWAY_INVALID_KEY" });
    await limiter.close();
    await expect(limiter.block("key", "1m")).rejects.toMatchObject({ code: "ERR_SPILLWAY_CLOSED" });
  });

  it("is none where the store did not answer in time: then it rejects", async () => {
    const setup = distantLimiter({ policies: POLICIES });
    setup.store.block = () => new Promise(() => {});
    const blocking = setup.limiter.block("key", "1m");
    await passTime(setup, 50);
    await expect(blocking).rejects.toMatchObject({ code: "ERR_SPILLWAY_STORE_TIMEOUT" });
    expect((await setup.limiter.consume("key")).allowed).toBe(true);
  });
});
