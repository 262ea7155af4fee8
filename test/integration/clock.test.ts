import { createRateLimiter, type Decision, type PolicyOptions, type RateLimiter, SpillwayError } from "spillway";
import { manualClock } from "spillway/testing";
import { beforeAll, describe, expect, it } from "vitest";
import { packStored, type StoredValue } from "../model/stored-value.ts";
import { TimedRedisStore } from "../model/timed-redis.ts";
import { redisFixture } from "../support/redis-fixture.ts";

const redis = redisFixture();

const POLICIES: readonly PolicyOptions[] = [
  { name: "tokens", limit: 10, period: "10s" },
  { name: "window", limit: 10, period: "10s", algorithm: "fixed-window" },
  { name: "aligned", limit: 10, period: "10s", algorithm: "fixed-window", windowStart: "aligned" },
  { name: "counter", limit: 10, period: "5s", algorithm: "sliding-window-counter" },
  { name: "log", limit: 10, period: "10s", algorithm: "sliding-window-log" },
];
const TWO_DAYS_US = 172_800_000_000;
/** For all of them: the counter's is two periods. */
const LONGEST_WAIT_MS = 10_000;

function expectSane(decision: Decision): void {
  expect(decision.remaining).toBeGreaterThanOrEqual(0);
  expect(decision.remaining).toBeLessThanOrEqual(10);
  expect(decision.resetAfterMs).toBeGreaterThanOrEqual(0);
  expect(decision.resetAfterMs).toBeLessThanOrEqual(LONGEST_WAIT_MS);
}

describe("C02: a store whose clock goes back two days and forward again locks nobody out", () => {
  let openStore: (prefix: string, nowUs: number) => TimedRedisStore;
  beforeAll(async () => {
    openStore = await TimedRedisStore.load(redis.client);
  });

  it.each(POLICIES)("$name", async (policies) => {
    const store = openStore(`clock-${policies.name}`, 1_791_187_200_123_456);
    const open = (): RateLimiter => createRateLimiter({ store, policies, lease: false, deadlineMs: 5000 });
    const limiter = open();
    const other = open();
    redis.afterwards(async () => {
      await limiter.close();
      await other.close();
      await redis.client.del("model:lives", "model:deaths");
    });
    for (let i = 0; i < 3; i++) expect(await limiter.consume("k")).toMatchObject({ allowed: true, remaining: 9 - i });
    store.nowUs -= TWO_DAYS_US;
    const back = await limiter.consume("k");
    expect(back).toMatchObject({ allowed: true });
    expectSane(back);
    store.nowUs += TWO_DAYS_US + 1_000_000;
    const forward = await limiter.consume("k");
    expect(forward).toMatchObject({ allowed: true });
    expectSane(forward);

    const rest = await Promise.all(Array.from({ length: 20 }, () => limiter.consume("k")));
    expect(rest.filter(({ allowed }) => allowed).length).toBeLessThanOrEqual(10);
    for (const decision of rest) {
      expectSane(decision);
      if (!decision.allowed) expect(decision.retryAfterMs).toBeLessThanOrEqual(LONGEST_WAIT_MS);
    }
    store.nowUs -= TWO_DAYS_US;
    // Another limiter: the first one remembers for a moment what it was told before the clock moved.
    expectSane(await other.consume("k"));
    store.nowUs += 10_000_000;
    const third = open();
    expect(await third.consume("k", { cost: 10 })).toMatchObject({ allowed: true });
    await third.close();
  });
});

describe("C02: stored state that is 60 s ahead of the store's clock", () => {
  async function aheadUs(): Promise<number> {
    const [seconds, microseconds] = await redis.client.time();
    return (Number(seconds) + 60) * 1e6 + Number(microseconds);
  }

  /** Values that would be read as longer waits than the policy knows if their times were believed. */
  const cases: readonly (readonly [string, PolicyOptions, (us: number) => StoredValue, boolean])[] = [
    ["a token bucket with 3 left", POLICIES[0] as PolicyOptions, (us) => tokens(3000, us), true],
    ["an empty token bucket", POLICIES[0] as PolicyOptions, (us) => tokens(0, us), false],
    ["a token bucket deep in debt", POLICIES[0] as PolicyOptions, (us) => tokens(-9e12, us), false],
    ["a window with 3 used", POLICIES[1] as PolicyOptions, (us) => ({ form: 3, numbers: [us, 3] }), true],
    ["a window that is used up", POLICIES[1] as PolicyOptions, (us) => ({ form: 3, numbers: [us, 1000] }), false],
    ["an aligned window with 3 used", POLICIES[2] as PolicyOptions, (us) => ({ form: 3, numbers: [us, 3] }), true],
    ["a counter with 3 used", POLICIES[3] as PolicyOptions, (us) => ({ form: 4, numbers: [us, 1, 2] }), true],
    ["a counter that is used up", POLICIES[3] as PolicyOptions, (us) => ({ form: 4, numbers: [us, 900, 900] }), false],
    ["a log with 3 used", POLICIES[4] as PolicyOptions, (us) => log(us - 9e6, 1, us, 2), true],
    ["a log that is used up", POLICIES[4] as PolicyOptions, (us) => log(us - 9e6, 100, us, 900), false],
  ];

  function log(...runs: readonly number[]): StoredValue {
    return { form: 5, numbers: [10_000_000, runs[0] as number, 10, ...runs] };
  }

  function tokens(level: number, us: number): StoredValue {
    return { form: 1, numbers: [level * 1000, us, 1_000_000, 10_000_000] };
  }

  it.each(cases)("%s is clamped to what the policy can produce", async (_, policies, storedAt, allowed) => {
    const algorithm = policies.algorithm ?? "token-bucket";
    const key = `spillway:v1:{k}:${policies.name}:${algorithm}`;
    await redis.client.set(key, packStored(storedAt(await aheadUs())), "PX", 600_000);
    const limiter = redis.limiter({ policies, lease: false });
    const decision = await limiter.consume("k");
    expect(decision).toMatchObject({ allowed, source: "store" });
    expectSaneWithin(decision, policies.name === "tokens" && !allowed ? 2 * LONGEST_WAIT_MS : LONGEST_WAIT_MS);
    expect(await redis.client.pttl(key)).toBeLessThanOrEqual(20_002);
  });

  function expectSaneWithin(decision: Decision, longestMs: number): void {
    expect(decision.remaining).toBeGreaterThanOrEqual(0);
    expect(decision.remaining).toBeLessThanOrEqual(10);
    // A debt of one burst, the deepest there is, fills in twice the time.
    expect(decision.resetAfterMs).toBeLessThanOrEqual(longestMs);
    if (!decision.allowed) expect(decision.retryAfterMs).toBeLessThanOrEqual(longestMs);
  }
});

describe("C02: the wall clock of a process that decides by its share", () => {
  it.each(POLICIES)("can go back two days without a caller being locked out ($name)", async (policies) => {
    const clock = manualClock();
    const fault = new SpillwayError("ERR_SPILLWAY_STORE_FAILED", "away");
    const away = (): Promise<never> => Promise.reject(fault);
    const store = {
      ...{ name: "away", take: away, peek: away, adjust: away },
      ...{ block: away, reset: away, close: async () => {} },
    };
    const limiter = createRateLimiter({ store, policies, clock, onStateChange: () => {} });
    redis.afterwards(() => limiter.close());
    for (let i = 0; i < 3; i++) expect(await limiter.consume("k")).toMatchObject({ allowed: true, degraded: true });
    clock.stepWall(-2 * 86_400_000);
    expectSane(await limiter.consume("k"));
    clock.stepWall(2 * 86_400_000);
    clock.advance(1000);
    const forward = await limiter.consume("k");
    expect(forward).toMatchObject({ allowed: true, degraded: true });
    expectSane(forward);
  });
});
