import { setTimeout as sleep } from "node:timers/promises";
import { commandCalls, eventually, type RedisServer, startRedisServer } from "@spillway/testkit";
import { Redis } from "ioredis";
import { createRateLimiter, type Decision, type RateLimiterOptions, redisStore } from "spillway";
import { afterEach, describe, expect, it } from "vitest";
import { holdMs } from "../../packages/spillway/src/failover/common-return.ts";
import { redisFixture } from "../support/redis-fixture.ts";

const redis = redisFixture();

const admitted = (decisions: readonly Decision[]): number => decisions.filter(({ allowed }) => allowed).length;
const sourcesOf = (decisions: readonly Decision[]): string[] => [...new Set(decisions.map(({ source }) => source))];

describe.each([
  ["exact", false],
  ["with leases", { maxDrainMs: 50 }],
] as const)("C13 b: SCRIPT FLUSH between two bursts of 50 on a key with 60 (%s)", (_, lease) => {
  it.each(["token-bucket", "fixed-window", "sliding-window-counter", "sliding-window-log"] as const)(
    "is noticed by nobody (%s)",
    async (algorithm) => {
      const limiter = redis.limiter({ policies: { name: "sixty", limit: 60, period: "1h", algorithm }, lease });
      await redis.client.config("RESETSTAT");
      const burst = (): Promise<Decision[]> => Promise.all(Array.from({ length: 50 }, () => limiter.consume("k")));
      const first = await burst();
      await redis.client.script("FLUSH");
      const second = await burst();
      expect(admitted([...first, ...second])).toBe(60);
      expect([...first, ...second].some(({ degraded }) => degraded)).toBe(false);
      expect((await commandCalls(redis.client)).get("eval") ?? 0).toBeLessThanOrEqual(4);
      expect(limiter.stats()).toMatchObject({ storeFaults: 0, storeMisses: 0 });
    },
  );
});

it("SCRIPT FLUSH again and again under load: every decision is the store's, and the limit holds", async () => {
  const limiter = redis.limiter({ policies: { name: "two-hundred", limit: 200, period: "1h" }, lease: false });
  const decisions: Decision[] = [];
  let flushing = true;
  const flushes = (async () => {
    for (let i = 0; flushing && i < 1000; i++) {
      await redis.client.script("FLUSH");
      await sleep(5);
    }
  })();
  for (let round = 0; round < 60; round++) {
    const keys = ["k", `cold-${round}`, `cold-${round + 1000}`];
    decisions.push(...(await Promise.all(keys.map((key) => limiter.consume(key)))));
    for (const decision of await Promise.all(Array.from({ length: 5 }, () => limiter.consume("k"))))
      decisions.push(decision);
    await sleep(5);
  }
  flushing = false;
  await flushes;
  expect(decisions.filter(({ degraded }) => degraded)).toEqual([]);
  expect(admitted(decisions.filter(({ key }) => key === "k"))).toBe(200);
  expect(limiter.stats()).toMatchObject({ storeFaults: 0, storeMisses: 0 });
});

describe("a Redis that is restarted empty", () => {
  let server: RedisServer | undefined;
  let closing: (() => Promise<void> | void)[] = [];
  afterEach(async () => {
    for (const close of closing.reverse()) await close();
    closing = [];
    await server?.stop();
  });

  async function start(options: Omit<RateLimiterOptions, "store">) {
    const started = await startRedisServer();
    server = started;
    const client = new Redis(started.url, { lazyConnect: true });
    client.on("error", () => {});
    const store = redisStore(client);
    const changes: string[] = [];
    const limiter = createRateLimiter({ store, onStateChange: ({ state }) => changes.push(state), ...options });
    closing.push(async () => {
      await limiter.close();
      await store.close();
      client.disconnect();
    });
    return { server: started, limiter, changes };
  }

  it("C13 c: between two bursts begins to count afresh, and no error reaches a caller", {
    timeout: 60_000,
  }, async () => {
    const { server: started, limiter } = await start({
      policies: { name: "sixty", limit: 60, period: "1h" },
      lease: false,
      deadlineMs: 1000,
      replicas: 60,
    });
    const burst = (): Promise<Decision[]> => Promise.all(Array.from({ length: 50 }, () => limiter.consume("k")));
    const first = await burst();
    expect([admitted(first), sourcesOf(first)]).toEqual([50, ["store"]]);
    await started.kill();
    const meanwhile = await burst();
    expect(meanwhile.every(({ degraded }) => degraded)).toBe(true);
    expect(admitted(meanwhile)).toBeLessThanOrEqual(1);
    await started.restart();
    const firstBack = await eventually(
      async () => {
        const decision = await limiter.consume("somebody else");
        return !decision.degraded && decision;
      },
      { withinMs: 5000 },
    );
    expect(firstBack.source).toBe("store");
    await sleep(holdMs(Number.POSITIVE_INFINITY, 1000) + 100);
    const second = await burst();
    expect([admitted(second), sourcesOf(second)]).toEqual([50, ["store"]]);
    expect(admitted(await burst())).toBe(10 - admitted(meanwhile));
  });

  it("in the middle of load is answered by the share of the process, and left again within three seconds", {
    timeout: 60_000,
  }, async () => {
    const {
      server: started,
      limiter,
      changes,
    } = await start({
      policies: { name: "p", limit: 1000, period: "1s" },
      deadlineMs: 1000,
      replicas: 4,
    });
    await limiter.consume("key-0");
    const decisions: { readonly atMs: number; readonly decision: Decision }[] = [];
    const pending: Promise<unknown>[] = [];
    const startedMs = performance.now();
    let restarted: Promise<void> | undefined;
    let killed = false;
    let backMs = 0;
    for (let issued = 0; performance.now() - startedMs < 4000; issued++) {
      const atMs = performance.now() - startedMs;
      if (atMs > 700 && !killed) {
        killed = true;
        restarted = started
          .kill()
          .then(() => sleep(300))
          .then(() => started.restart())
          .then(() => {
            backMs = performance.now() - startedMs;
          });
      }
      for (let i = 0; i < 4; i++) {
        const asked = limiter.consume(`key-${(issued * 4 + i) % 40}`);
        pending.push(asked.then((decision) => decisions.push({ atMs, decision })));
      }
      await sleep(5);
    }
    await restarted;
    await Promise.all(pending);
    const degraded = decisions.filter(({ decision }) => decision.degraded);
    expect(degraded.length).toBeGreaterThan(0);
    // What began before the end, or a second and a half after the return, is decided by the store or from a lease.
    expect(degraded.filter(({ atMs }) => atMs < 400)).toEqual([]);
    expect(degraded.filter(({ atMs }) => atMs > backMs + 1500)).toEqual([]);
    expect(changes).toEqual(["away", "back"]);
  });
});
