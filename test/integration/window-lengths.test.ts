import { setTimeout as sleep } from "node:timers/promises";
import { keysUnder } from "@spillway/testkit";
import { createRateLimiter, type Decision, type PolicyOptions, redisStore, type Store } from "spillway";
import { describe, expect, it } from "vitest";
import { PATIENT_MS, redisFixture } from "../support/redis-fixture.ts";

const redis = redisFixture();

const ALGORITHMS = ["token-bucket", "fixed-window", "sliding-window-counter", "sliding-window-log"] as const;
const fullAfterMs = (algorithm: (typeof ALGORITHMS)[number], periodMs: number): number =>
  algorithm === "sliding-window-counter" ? 2 * periodMs : periodMs;
const THIRTY_DAYS_MS = 2_592_000_000;

/** Warnings of this process and the longest timer that it set, while something runs. */
async function observed(work: () => Promise<void>): Promise<{ warnings: string[]; longestTimerMs: number }> {
  const warnings: string[] = [];
  const note = ({ name, message }: Error): void => void warnings.push(`${name}: ${message}`);
  const { setTimeout: original } = globalThis;
  let longestTimerMs = 0;
  const spy = (run: () => void, ms?: number): unknown => {
    longestTimerMs = Math.max(longestTimerMs, ms ?? 0);
    return original(run, ms);
  };
  process.on("warning", note);
  globalThis.setTimeout = Object.assign(spy, original) as typeof globalThis.setTimeout;
  try {
    await work();
    await sleep(20);
  } finally {
    globalThis.setTimeout = original;
    process.off("warning", note);
  }
  return { warnings, longestTimerMs };
}

describe("C08 a: 6 per 30 days", () => {
  const policies: readonly PolicyOptions[] = [
    { name: "tokens", limit: 6, period: THIRTY_DAYS_MS },
    { name: "window", limit: 6, period: "30d", algorithm: "fixed-window" },
    { name: "counter", limit: 6, period: "30d", algorithm: "sliding-window-counter" },
    { name: "log", limit: 6, period: "30d", algorithm: "sliding-window-log" },
  ];
  /** Until one more is there, and until all are, in periods. */
  const WAITS = { tokens: [1 / 6, 1], window: [1, 1], counter: [7 / 6, 2], log: [1, 1] } as const;
  const waitsOf = ({ name }: PolicyOptions): number[] =>
    WAITS[name as keyof typeof WAITS].map((periods) => periods * THIRTY_DAYS_MS);

  function expectLongWait(decision: Decision, policy: PolicyOptions): void {
    if (decision.allowed) throw new Error("admitted");
    const [wait = 0, full = 0] = waitsOf(policy);
    expect(decision.retryAfterMs).toBeGreaterThan(wait - 60_000);
    expect(decision.retryAfterMs).toBeLessThanOrEqual(wait);
    expect(decision.resetAfterMs).toBeGreaterThan(full - 60_000);
    expect(decision.resetAfterMs).toBeLessThanOrEqual(full);
  }

  it.each(policies)("is still used up after 50 ms, without a timer that overflows ($name)", async (policy) => {
    const limiter = redis.limiter({ policies: policy });
    const { warnings, longestTimerMs } = await observed(async () => {
      for (let i = 0; i < 6; i++) expect(await limiter.consume("k")).toMatchObject({ allowed: true });
      expectLongWait(await limiter.consume("k"), policy);
      await sleep(50);
      expectLongWait(await limiter.consume("k"), policy);
    });
    expect(warnings).toEqual([]);
    expect(longestTimerMs).toBeLessThanOrEqual(2 ** 31 - 1);
    const [key = ""] = await keysUnder(redis.client, "spillway:");
    const pttl = await redis.client.pttl(key);
    const [, full = 0] = waitsOf(policy);
    expect(pttl).toBeGreaterThan(full - 60_000);
    expect(pttl).toBeLessThanOrEqual(full + 200);
  });

  it.each(policies)("is used up for a process that decides by its share, too ($name)", async (policy) => {
    const away = (): Promise<never> => Promise.reject(new Error("away"));
    const store: Store = {
      name: "away",
      take: away,
      peek: away,
      adjust: away,
      block: away,
      reset: away,
      close: async () => {},
    };
    const limiter = createRateLimiter({ store, policies: policy, onStateChange: () => {} });
    redis.afterwards(() => limiter.close());
    const { warnings, longestTimerMs } = await observed(async () => {
      for (let i = 0; i < 6; i++)
        expect(await limiter.consume("k")).toMatchObject({ allowed: true, source: "backstop" });
      await sleep(50);
      expectLongWait(await limiter.consume("k"), policy);
    });
    expect(warnings).toEqual([]);
    expect(longestTimerMs).toBeLessThanOrEqual(2 ** 31 - 1);
  });
});

describe("C08 b: sub-second periods, one request each 5 ms for 3 s", { timeout: 60_000 }, () => {
  const OFFER_MS = 3000;
  interface Seen {
    readonly atMs: number;
    readonly decision: Decision;
  }

  async function offer(policies: PolicyOptions, lease: false | object): Promise<Seen[]> {
    const limiter = redis.limiter({ policies, lease });
    await limiter.peek("k");
    const startedMs = performance.now();
    const seen: Promise<Seen>[] = [];
    for (let atMs = 0; atMs < OFFER_MS; atMs = performance.now() - startedMs) {
      seen.push(limiter.consume("k").then((decision) => ({ atMs: performance.now() - startedMs, decision })));
      await sleep(Math.max(1, 5 * seen.length - (performance.now() - startedMs)));
    }
    return await Promise.all(seen);
  }

  /** Slices in which requests came as planned; a machine that is busy with something else leaves holes in the offer. */
  function admittedPerSlice(seen: readonly Seen[]): number[] {
    const slices: number[] = [];
    let previousWasWhole = false;
    for (let from = 100; from + 100 <= OFFER_MS; from += 100) {
      const within = seen.filter(({ atMs }) => atMs >= from && atMs < from + 100);
      const times = [from, ...within.map(({ atMs }) => atMs), from + 100];
      const widest = Math.max(...times.slice(1).map((at, i) => at - (times[i] ?? 0)));
      const isWhole = widest < 12;
      if (isWhole && previousWasWhole) slices.push(within.filter(({ decision }) => decision.allowed).length);
      previousWasWhole = isWhole;
    }
    return slices;
  }

  it.each([
    [8, { name: "tokens", limit: 10, period: 100 }],
    // What another call has on lease comes back a little later.
    [6, { name: "leased", limit: 10, period: 100 }],
    [6, { name: "window", limit: 10, period: 100, algorithm: "fixed-window" }],
    [6, { name: "counter", limit: 10, period: 100, algorithm: "sliding-window-counter" }],
    [6, { name: "log", limit: 10, period: 100, algorithm: "sliding-window-log" }],
    // With burst 1, a request that comes a moment before its token is refused, and the next one comes 5 ms later.
    [5, { name: "hundred", limit: 100, period: "1s", burst: 1 }],
  ] as const)("are admitted evenly, %i to 12 in each 100 ms (%j)", async (least, policy) => {
    const seen = await offer(policy, policy.name === "leased" ? {} : false);
    const slices = admittedPerSlice(seen);
    process.stdout.write(`C08 b: ${policy.name} admits ${slices.join(" ")} in slices of 100 ms\n`);
    for (const admitted of slices) {
      expect(admitted).toBeLessThanOrEqual(12);
      expect(admitted).toBeGreaterThanOrEqual(least);
    }
    for (const { decision } of seen) {
      if (decision.allowed) continue;
      expect(decision.retryAfterMs).toBeGreaterThan(0);
      expect(decision.retryAfterMs).toBeLessThanOrEqual(policy.name === "counter" ? 200 : 100);
    }
  });
});

describe("C08 c: periods at the edge of what is allowed", () => {
  it.each(ALGORITHMS)("1 ms works as stated (%s)", async (algorithm) => {
    const client = redis.connect();
    const store = redisStore(client);
    const limiter = createRateLimiter({
      store,
      deadlineMs: PATIENT_MS,
      policies: { name: "p", limit: 2, period: 1, algorithm },
    });
    redis.afterwards(async () => {
      await limiter.close();
      await store.close();
    });
    for (let i = 0; i < 50; i++) {
      const decision = await limiter.consume("k");
      expect(decision.degraded).toBe(false);
      if (!decision.allowed) expect(decision.retryAfterMs).toBeLessThanOrEqual(fullAfterMs(algorithm, 1));
    }
    await sleep(5);
    expect(await redis.client.exists(`spillway:v1:{k}:p:${algorithm}`)).toBe(0);
    expect(await limiter.consume("k", { cost: 2 })).toMatchObject({ allowed: true });
  });

  it("0.5 ms is refused at construction", () => {
    expect(() => createRateLimiter({ policies: { name: "p", limit: 1, period: 0.5 } })).toThrow(/policies\.period/);
  });

  it.each(ALGORITHMS)("1,500.5 ms is kept to the microsecond (%s)", async (algorithm) => {
    const limiter = redis.limiter({ policies: { name: "p", limit: 1, period: 1500.5, algorithm }, lease: false });
    const fullMs = fullAfterMs(algorithm, 1500.5);
    expect(await limiter.consume("k")).toMatchObject({ allowed: true, resetAfterMs: fullMs });
    const refused = await limiter.consume("k");
    if (refused.allowed) throw new Error("admitted");
    expect(refused.retryAfterMs).toBeGreaterThan(fullMs - 100);
    expect(refused.retryAfterMs).toBeLessThan(fullMs);
    expect(await redis.client.pttl(`spillway:v1:{k}:p:${algorithm}`)).toBeLessThanOrEqual(fullMs + 2);
  });
});
