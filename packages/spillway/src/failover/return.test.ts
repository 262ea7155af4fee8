import { describe, expect, it } from "vitest";
import type { Decision } from "../decision.ts";
import { resolvePolicy } from "../policy.ts";
import type { Adjustment } from "../stores/store.ts";
import {
  answerProbe,
  DEADLINE_MS,
  DISTANT_BUCKET,
  type DistantSetup,
  distantLimiter,
  loseStore,
  passTime,
  probe,
  settled,
} from "../testing/test-support.ts";
import { holdMs } from "./common-return.ts";
import { processBucketsOf } from "./process-buckets.ts";

/** One of four processes; the policy is 10 a second with a burst of 100, so its share is 2.5 a second and 25 at a time. */
const REPLICAS = 4;
const POLICY = resolvePolicy(DISTANT_BUCKET, "policy");
/** The store has never answered it before. */
const HOLD_MS = holdMs(Number.POSITIVE_INFINITY, DEADLINE_MS);

interface World extends DistantSetup {
  readonly told: Adjustment[];
}

/** The store is away, and `key` has had all of this process's share. */
async function lost(maxKeys = 1000): Promise<World> {
  const all = distantLimiter({ replicas: REPLICAS, maxKeys });
  const told: Adjustment[] = [];
  const { adjust } = all.store;
  all.store.adjust = (adjustments) => {
    told.push(...adjustments);
    return adjust(adjustments);
  };
  await loseStore(all);
  return { ...all, told };
}

async function comeBack(all: World): Promise<void> {
  await answerProbe(all);
  all.store.holds = false;
  expect((await all.limiter.consume("trial")).source).toBe("store");
}

/** Asks for 1 until it is refused; how many went in, and what was said at last. */
async function drain(all: World, key: string): Promise<[number, Decision]> {
  for (let admitted = 0; ; admitted++) {
    const decision = await all.limiter.consume(key);
    if (!decision.allowed) return [admitted, decision];
    expect(decision.source).toBe("store");
  }
}

describe("when the store is back, a process", () => {
  it("goes on holding itself to its share beside it, until every other must have noticed", async () => {
    const all = await lost();
    await comeBack(all);
    const [admitted, refusal] = await drain(all, "key");
    expect([admitted, refusal.source, refusal.degraded]).toEqual([25, "backstop", true]);
    expect(all.limiter.consumeNow("key")).toMatchObject({ allowed: false, source: "backstop", retryAfterMs: 400 });
    await passTime(all, 400);
    expect((await drain(all, "key"))[0]).toBe(1);
    await passTime(all, HOLD_MS);
    expect((await drain(all, "key"))[0]).toBeGreaterThan(70);
  });

  it("is refused by the store too, where that has less", async () => {
    const all = await lost();
    await comeBack(all);
    await all.store.adjust([{ key: "key", policy: POLICY, tokens: -95 }]);
    const [admitted, refusal] = await drain(all, "key");
    expect([admitted, refusal.source]).toEqual([5, "store"]);
    // What the store refused has cost nothing of the share.
    await all.store.adjust([{ key: "key", policy: POLICY, tokens: 95 }]);
    await passTime(all, 1000);
    expect((await drain(all, "key"))[0]).toBe(22);
  });

  it("tells it of every key what went in, as soon as it answers a probe, and of what went in after that", async () => {
    const all = await lost();
    for (let i = 0; i < 3; i++) await all.limiter.consume("a");
    await all.limiter.consume("b", { cost: 5 });
    await answerProbe(all);
    const first = all.told.filter(({ key }) => key === "a" || key === "b");
    expect(first.map(({ key, tokens }) => `${key} ${tokens}`).sort()).toEqual(["a -3", "b -5"]);
    // The store is on trial with one call, so these are decided without it.
    const trial = all.limiter.consume("trial");
    await settled();
    expect(all.limiter.consumeNow("a", { cost: 2 })).toMatchObject({ source: "backstop", allowed: true });
    all.store.holds = false;
    all.store.held.at(-1)?.answer();
    await trial;
    await settled();
    expect(all.told.filter(({ key }) => key === "a").map(({ tokens }) => tokens)).toEqual([-3, -2]);
    await passTime(all, HOLD_MS);
    await drain(all, "a");
    expect(all.told.filter(({ key }) => key === "a" || key === "b").length).toBe(3);
  });

  it("tells it as much of a key that is asked for before it has come to it among very many", async () => {
    const all = await lost(10_000);
    const openedMs = all.clock.monotonicMs();
    while (all.limiter.consumeNow("key")?.allowed === true);
    await passTime(all, 12_000);
    for (let i = 0; i < 5000; i++) all.limiter.consumeNow(`other:${i}`);
    const sent = await probe(all);
    all.store.holds = false;
    sent.answer();
    for (let i = 0; i < 10; i++) await undefined;
    expect((await all.limiter.consume("key")).source).toBe("store");
    await settled();
    // Refill has paid since the store's bucket was full, for ten seconds at least, but for the time since the last probe that failed.
    const paid = (2.5 * (all.clock.monotonicMs() - openedMs - 10_000)) / 1000;
    const [report] = all.told.filter(({ key }) => key === "key");
    expect(report?.tokens).toBeLessThanOrEqual(-(25 - paid + 1));
  });

  it("owes nothing of what the store itself admitted while it held back", async () => {
    const all = await lost();
    await comeBack(all);
    await drain(all, "key");
    await passTime(all, HOLD_MS);
    await settled();
    expect(all.told.filter(({ key }) => key === "key")).toEqual([]);
  });

  it("counts a caller once whose call was lost on the way back", async () => {
    const all = await lost();
    await comeBack(all);
    all.store.holds = true;
    const callers = Array.from({ length: 5 }, () => all.limiter.consume("key"));
    await settled();
    await passTime(all, DEADLINE_MS);
    for (const caller of callers) expect(await caller).toMatchObject({ allowed: true, source: "backstop" });
    all.store.holds = false;
    expect((await drain(all, "key"))[0]).toBe(20);
    expect(all.told.filter(({ key }) => key === "key").map(({ tokens }) => tokens)).toEqual([-5]);
  });

  it("stays held when the store goes away once more meanwhile, and is let go after it is back for good", async () => {
    const all = await lost();
    await comeBack(all);
    await drain(all, "key");
    all.store.holds = true;
    while (!all.limiter.stats().health.degraded) {
      const caller = all.limiter.consume("x");
      await settled();
      await passTime(all, DEADLINE_MS);
      await caller;
    }
    await passTime(all, 2 * HOLD_MS);
    const before = all.limiter.consumeNow("key", { cost: 6 });
    expect(before).toMatchObject({ source: "backstop", allowed: true });
    await comeBack(all);
    await passTime(all, HOLD_MS);
    expect((await drain(all, "key"))[0]).toBeGreaterThan(60);
  });

  it("lets callers wait for the store where the first one comes after that time, and uses its share no more", async () => {
    const all = await lost();
    await answerProbe(all);
    expect(all.limiter.stats().health.degraded).toBe(true);
    await passTime(all, HOLD_MS + 60_000);
    const { degraded, nodes } = all.limiter.stats().health;
    expect([degraded, nodes[0]?.state]).toEqual([false, "trying"]);
    const { length } = all.store.calls;
    const callers = [all.limiter.consume("key")];
    await settled();
    for (let i = 0; i < 5; i++) callers.push(all.limiter.consume("key"), all.limiter.consume(`other:${i}`));
    await settled();
    expect(all.store.calls.length).toBe(length + 1);
    all.store.holds = false;
    all.store.held.at(-1)?.answer();
    expect(new Set((await Promise.all(callers)).map(({ source }) => source))).toEqual(new Set(["store"]));
    expect(all.changes).toEqual(["away", "back"]);
  });

  it("decides by its share where that first one is not answered either", async () => {
    const all = await lost();
    await answerProbe(all);
    await passTime(all, HOLD_MS + 60_000);
    const callers = [all.limiter.consume("key")];
    await settled();
    callers.push(all.limiter.consume("key"), all.limiter.consume("other"));
    await passTime(all, DEADLINE_MS);
    for (const caller of callers) expect(await caller).toMatchObject({ source: "backstop", allowed: true });
    expect(all.limiter.consumeNow("key")).toMatchObject({ source: "backstop" });
    expect(all.changes).toEqual(["away"]);
  });

  it("holds no policy back that is open or closed without the store", async () => {
    for (const onStoreFailure of ["open", "closed"] as const) {
      const all = distantLimiter({ replicas: REPLICAS, onStoreFailure });
      await loseStore(all);
      await answerProbe(all);
      all.store.holds = false;
      await all.limiter.consume("trial");
      const decision = await all.limiter.consume("key", { cost: 100 });
      expect(decision).toMatchObject({ allowed: true, source: "store" });
    }
  });

  it("forgets what was let go of once all are back, also where it is asked for nothing since", async () => {
    const all = distantLimiter({ replicas: REPLICAS, maxKeys: 16 });
    const { letGo } = processBucketsOf(all.store, all.clock, 16);
    await loseStore(all);
    for (let i = 0; i < 100; i++) all.limiter.consumeNow(`key:${i}`);
    expect(letGo.isEmpty).toBe(false);
    await answerProbe(all);
    await passTime(all, HOLD_MS);
    expect(letGo.isEmpty).toBe(true);
  });

  it("leaves no timer behind when it is closed meanwhile", async () => {
    const all = await lost();
    await comeBack(all);
    await all.limiter.close();
    expect(all.clock.pendingTimers).toBe(0);
  });
});

describe("a bucket that several lanes ask", () => {
  it("has one share while the store is away, whoever asks with which other key", async () => {
    const all = await lost();
    let admitted = 0;
    for (let user = 0; user < 60; user++) {
      const decision = all.limiter.consumeNow([
        { policy: "bucket", key: "tenant" },
        { policy: "bucket", key: `user:${user}` },
      ]);
      if (decision?.allowed === true) admitted++;
    }
    expect(admitted).toBe(25);
    expect(all.limiter.consumeNow("tenant")).toMatchObject({ allowed: false, source: "backstop" });
    expect(all.limiter.consumeNow("user:1")).toMatchObject({ allowed: true, remaining: 23 });
  });

  it("is told of once, with all that went in", async () => {
    const all = await lost();
    for (let user = 0; user < 3; user++)
      all.limiter.consumeNow([
        { policy: "bucket", key: "tenant" },
        { policy: "bucket", key: `user:${user}` },
      ]);
    all.limiter.consumeNow("tenant", { cost: 4 });
    await answerProbe(all);
    expect(all.told.filter(({ key }) => key === "tenant").map(({ tokens }) => tokens)).toEqual([-7]);
    expect(all.told.filter(({ key }) => key.startsWith("user")).map(({ tokens }) => tokens)).toEqual([-1, -1, -1]);
  });

  it("starts with a full share again when its key is reset", async () => {
    const all = await lost();
    while (all.limiter.consumeNow("key")?.allowed === true);
    all.store.holds = false;
    await all.limiter.reset("key");
    all.store.holds = true;
    let admitted = 0;
    while (all.limiter.consumeNow("key")?.allowed === true) admitted++;
    expect(admitted).toBe(25);
  });
});
