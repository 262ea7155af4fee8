import { setTimeout as sleep } from "node:timers/promises";
import { createRateLimiter, type RateLimiter, redisStore, SpillwayError } from "spillway";
import { manualClock } from "spillway/testing";
import { afterEach, describe, expect, it, vi } from "vitest";
import { PATIENT_MS, redisFixture } from "../support/redis-fixture.ts";
import { type ProgramEnd, startProgram } from "../support/run-program.ts";

const redis = redisFixture();

const told = ({ output }: ProgramEnd): unknown[] =>
  output
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as unknown);
const lived = ({ output }: ProgramEnd): number => Number(/^lived (\d+)$/m.exec(output)?.[1] ?? Number.NaN);

describe("C16 a: a program that closes nothing exits by itself within a second", { timeout: 60_000 }, () => {
  it.each([
    ["memory", [{ allowed: true, source: "store" }]],
    ["unused", []],
    ["redis", [{ allowed: true, source: "store" }]],
    ["leases", [{ allowed: true, source: "lease" }]],
    [
      "refused",
      [
        { allowed: true, source: "store" },
        { allowed: false, source: "store" },
      ],
    ],
  ])("%s", async (what, expected) => {
    const program = startProgram("end-of-file.mjs", { env: { WHAT: what, REDIS_PORT: String(redis.server.port) } });
    const end = await program.ended;
    expect([end.code, end.signal, end.errors]).toEqual([0, null, ""]);
    expect(told(end)).toEqual(expected);
    expect(lived(end)).toBeLessThan(1000);
  });

  it("and where nobody listens, between two tries to reach the store", async () => {
    const program = startProgram("end-of-file.mjs", { env: { WHAT: "away", REDIS_PORT: "1" } });
    const end = await program.ended;
    expect([end.code, end.signal, end.errors]).toEqual([0, null, ""]);
    expect(told(end)).toEqual(Array.from({ length: 5 }, () => ({ allowed: true, source: "backstop" })));
    expect(lived(end)).toBeLessThan(1000);
  });
});

it("C16 b: a program stays for callers who wait, and exits after them", { timeout: 60_000 }, async () => {
  const program = startProgram("end-of-file.mjs", { env: { WHAT: "waiting", REDIS_PORT: String(redis.server.port) } });
  redis.afterwards(() => redis.server.resume());
  expect(await program.next()).toBe("connected");
  redis.server.pause();
  program.send({ go: true });
  await sleep(400);
  redis.server.resume();
  const end = await program.ended;
  expect([end.code, end.signal, end.errors]).toEqual([0, null, ""]);
  expect(told(end)).toEqual(Array.from({ length: 3 }, () => ({ allowed: true, source: "store" })));
  expect(lived(end)).toBeGreaterThan(200);
});

describe("close()", () => {
  it("leaves no timer, with tokens on lease", async () => {
    const clock = manualClock();
    const store = redisStore(redis.connect());
    const closing = createRateLimiter({ store, clock, policies: { name: "p", limit: 10_000, period: "1s" } });
    for (let i = 0; i < 20; i++) await Promise.all(Array.from({ length: 20 }, () => closing.consume("k")));
    expect(closing.stats().sources.lease).toBeGreaterThan(0);
    expect(clock.pendingTimers).toBeGreaterThan(0);
    await closing.close();
    expect(clock.pendingTimers).toBe(0);
    await store.close();
  });

  it("leaves no timer, between two tries to reach a store that is away", async () => {
    const clock = manualClock();
    const away = (): Promise<never> => Promise.reject(new SpillwayError("ERR_SPILLWAY_STORE_UNAVAILABLE", "away"));
    const store = {
      ...{ name: "away", take: away, peek: away, adjust: away },
      ...{ block: away, reset: away, close: async () => {} },
    };
    const policies = { name: "p", limit: 5, period: "1s" } as const;
    const closing = createRateLimiter({ store, clock, policies, onStateChange: () => {} });
    await closing.consume("k");
    expect(closing.stats().health.degraded).toBe(true);
    expect(clock.pendingTimers).toBeGreaterThan(0);
    await closing.close();
    expect(clock.pendingTimers).toBe(0);
  });

  it("answers callers who wait for a store that says nothing, within the deadline", async () => {
    const store = redisStore(redis.connect());
    const policies = { name: "p", limit: 5, period: "1s" } as const;
    const closing = createRateLimiter({ store, policies, deadlineMs: 300, onStateChange: () => {} });
    await closing.consume("k");
    redis.server.pause();
    redis.afterwards(() => redis.server.resume());
    const startedMs = performance.now();
    const asked = Promise.all(Array.from({ length: 10 }, (_, index) => closing.consume(`k${index}`)));
    const closed = closing.close();
    expect((await asked).every(({ degraded }) => degraded)).toBe(true);
    await closed;
    expect(performance.now() - startedMs).toBeLessThan(1500);
    await expect(closing.consume("k")).rejects.toMatchObject({ code: "ERR_SPILLWAY_CLOSED" });
    await store.close();
  });
});

describe("a test runner's fake timers", () => {
  let limiter: RateLimiter | undefined;
  afterEach(async () => {
    vi.useRealTimers();
    await limiter?.close();
  });

  it("C16 c: a day back and a minute on, callers settle, and the minute refills", async () => {
    vi.useFakeTimers();
    limiter = createRateLimiter({ policies: { name: "p", limit: 2, period: "1m" } });
    await limiter.consume("k");
    vi.setSystemTime(new Date(Date.now() - 86_400_000).setHours(0, 0, 0, 0));
    expect(await limiter.consume("k")).toMatchObject({ allowed: true, remaining: 0 });
    expect(await limiter.consume("k")).toMatchObject({ allowed: false });
    vi.advanceTimersByTime(60_000);
    expect(await limiter.consume("k")).toMatchObject({ allowed: true, remaining: 1 });
  });

  it("C16 c: so does the share of a process whose store is away", async () => {
    vi.useFakeTimers();
    const away = (): Promise<never> => Promise.reject(new Error("away"));
    const store = {
      ...{ name: "away", take: away, peek: away, adjust: away },
      ...{ block: away, reset: away, close: async () => {} },
    };
    limiter = createRateLimiter({ store, policies: { name: "p", limit: 2, period: "1m" }, onStateChange: () => {} });
    for (let i = 0; i < 2; i++) expect(await limiter.consume("k")).toMatchObject({ allowed: true, degraded: true });
    vi.setSystemTime(new Date(Date.now() - 86_400_000).setHours(0, 0, 0, 0));
    expect(await limiter.consume("k")).toMatchObject({ allowed: false });
    vi.advanceTimersByTime(60_000);
    expect(await limiter.consume("k")).toMatchObject({ allowed: true });
  });

  it.each([
    ["exact", false],
    ["with leases", { maxDrainMs: 50 }],
  ] as const)("C16 d: a decision of a real Redis comes when Redis replies (%s)", async (_, lease) => {
    const store = redisStore(redis.connect());
    limiter = createRateLimiter({
      store,
      policies: { name: "p", limit: 5, period: "1h" },
      lease,
      deadlineMs: PATIENT_MS,
    });
    await limiter.peek("k");
    vi.useFakeTimers();
    for (let i = 0; i < 5; i++) expect(await limiter.consume("k")).toMatchObject({ allowed: true, degraded: false });
    expect(await limiter.consume("k")).toMatchObject({ allowed: false, degraded: false });
    const together = await Promise.all(Array.from({ length: 10 }, (_unused, index) => limiter?.consume(`k${index}`)));
    expect(together.every((decision) => decision?.allowed && decision.source === "store")).toBe(true);
    vi.useRealTimers();
    await limiter.close();
    await store.close();
  });
});
