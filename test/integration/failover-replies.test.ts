import { commandCalls, eventually } from "@spillway/testkit";
import { describe, expect, it } from "vitest";
import { failoverScene, remainingOf, type SceneOptions } from "./failover-scene.ts";

// Long enough that a busy machine misses nothing by itself.
const PATIENT: SceneOptions = { policies: { name: "hour", limit: 100, period: "1h" }, lease: false, deadlineMs: 2_000 };

describe("a call whose connection breaks", () => {
  it("C12 b: after it was executed is charged once, decided by the share, and not sent again", async () => {
    const { proxy, limiter, changes } = await failoverScene(PATIENT);
    await limiter.consume("warm");
    proxy.cutAfterExecution(1, "EVALSHA");
    expect(await limiter.consume("k")).toMatchObject({ allowed: true, source: "backstop", degraded: true });
    expect(await limiter.consume("k")).toMatchObject({ allowed: true, source: "store", remaining: 98 });
    expect([await remainingOf(limiter, "k"), changes]).toEqual([98, []]);
    expect(limiter.stats()).toMatchObject({ storeMisses: 0, storeFaults: 1 });
  });

  it("before it was executed is charged nothing", async () => {
    const { proxy, limiter, changes } = await failoverScene(PATIENT);
    await limiter.consume("warm");
    proxy.cutBeforeExecution(1, "EVALSHA");
    expect(await limiter.consume("k")).toMatchObject({ allowed: true, source: "backstop", degraded: true });
    expect(await limiter.consume("k")).toMatchObject({ allowed: true, source: "store", remaining: 99 });
    expect([await remainingOf(limiter, "k"), changes]).toEqual([99, []]);
  });

  it("charges each of the callers that it carried once, with all their costs", async () => {
    const { proxy, limiter } = await failoverScene(PATIENT);
    await limiter.consume("warm");
    proxy.cutAfterExecution(1, "EVALSHA");
    const carried = [1, 3, 3, 5].map((cost) => limiter.consume("k", { cost }));
    for (const decision of await Promise.all(carried)) expect(decision).toMatchObject({ degraded: true });
    expect(await limiter.consume("k")).toMatchObject({ source: "store", remaining: 87 });
  });

  it("loses the tokens that it would have brought on lease, and no more", async () => {
    const { proxy, limiter } = await failoverScene({
      policies: { name: "second", limit: 200, period: "1s" },
      deadlineMs: 2_000,
    });
    for (let i = 0; i < 50; i++) await limiter.consume("k");
    proxy.cutAfterExecution(1, "EVALSHA");
    await eventually(() => limiter.consume("k").then(() => limiter.stats().storeFaults > 0), {
      withinMs: 5_000,
      everyMs: 1,
    });
    // What was on lease is back when the lease has died, and the bucket full a second later.
    await eventually(async () => (await remainingOf(limiter, "k")) === 200, { withinMs: 5_000 });
  });
});

describe("a call whose reply is swallowed", () => {
  it("C12 c: is decided by the share after the deadline, charged once, and not sent again", async () => {
    const { proxy, admin, limiter, back } = await failoverScene({ ...PATIENT, deadlineMs: 100 });
    await back("warm");
    // What a bucket is written by; what else the limiter says to Redis now and then writes none.
    const written = async (): Promise<number> => (await commandCalls(admin)).get("set") ?? 0;
    const before = await written();
    proxy.swallowReplies();
    const startedMs = performance.now();
    expect(await limiter.consume("k")).toMatchObject({ allowed: true, source: "backstop", degraded: true });
    const tookMs = performance.now() - startedMs;
    expect(tookMs).toBeGreaterThanOrEqual(95);
    expect(tookMs).toBeLessThan(100 + 150);
    expect((await written()) - before).toBe(1);
    proxy.resume();
    await back();
    expect(await remainingOf(limiter, "k")).toBe(99);
  });

  it("counts as missed three times, then nobody waits", async () => {
    const { proxy, limiter, changes, back } = await failoverScene({ ...PATIENT, deadlineMs: 100 });
    await back("warm");
    const before = limiter.stats().storeMisses;
    proxy.commands.clear();
    proxy.swallowReplies();
    for (let round = 0; changes.length === 0 && round < 4; round++) {
      const callers = Array.from({ length: 40 }, (_, i) => limiter.consume(`key-${i}`));
      for (const decision of await Promise.all(callers)) expect(decision.degraded).toBe(true);
    }
    expect(limiter.consumeNow("key-1")).toMatchObject({ degraded: true });
    expect(limiter.stats().storeMisses - before).toBe(3);
    proxy.resume();
    await back();
    expect(changes.map(({ state }) => state)).toEqual(["away", "back"]);
  });
});
