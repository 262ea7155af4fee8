import { setImmediate as turn } from "node:timers/promises";
import {
  createRateLimiter,
  memoryStore,
  type PoliciesOption,
  type PolicyOptions,
  type RateLimiter,
  type RateLimiterOptions,
  type Store,
} from "spillway";
import { type ManualClock, manualClock } from "spillway/testing";
import { describe, it } from "vitest";
import { TimedRedisStore } from "../../model/timed-redis.ts";
import { type RedisFixture, redisFixture } from "../../support/redis-fixture.ts";

export const ALGORITHMS = ["token-bucket", "fixed-window", "sliding-window-counter", "sliding-window-log"] as const;
export type Algorithm = (typeof ALGORITHMS)[number];

/** How long it takes at most until a policy of each kind is as if unused, in periods. */
export const PERIODS_TO_FULL: Readonly<Record<Algorithm, number>> = {
  "token-bucket": 1,
  "fixed-window": 1,
  "sliding-window-counter": 2,
  "sliding-window-log": 1,
};

export const STORES = ["memory", "Redis"] as const;
/** Each way of counting on each store. */
export const EACH = STORES.flatMap((store) => ALGORITHMS.map((algorithm) => ({ store, algorithm })));

/** A policy of any kind, that no period of minutes brings anything back to while a test goes on. */
export function policyOf(algorithm: Algorithm, given: Partial<PolicyOptions> = {}): PolicyOptions {
  return { name: "any", limit: 10, period: "10s", ...given, algorithm };
}

/** A store, and limiters that share it as processes would, on a clock that the test moves. */
export interface Scene {
  readonly clock: ManualClock;
  readonly store: Store;
  /** Closed after the test. Without leases unless told otherwise. */
  limiter(policies: PoliciesOption, options?: Partial<RateLimiterOptions>): RateLimiter;
  /** Lets time pass for store and limiters, and what they do meanwhile come to an end. */
  pass(ms: number): Promise<void>;
}

export interface Scenes {
  readonly redis: RedisFixture;
  open(store: (typeof STORES)[number]): Promise<Scene>;
}

/** 2026-10-05: sixteen digits of microseconds. */
const START_US = 1_791_187_200_123_456;

/** Scenes in memory and on a real server whose scripts are told the time. */
export function openScenes(): Scenes {
  const redis = redisFixture();
  let opened = 0;

  async function onRedis(): Promise<Scene> {
    const openStore = await TimedRedisStore.load(redis.client);
    const store = openStore(`case-${++opened}`, START_US);
    redis.afterwards(async () => void (await redis.client.del("model:lives", "model:deaths")));
    const clock = manualClock(START_US / 1000);
    return sceneOf(store, clock, async (ms) => {
      store.nowUs += Math.round(ms * 1000);
      clock.advance(ms);
      for (let round = 0; round < 2; round++) {
        await turn();
        // Replies come in the order of their calls.
        await redis.client.ping();
        await turn();
      }
    });
  }

  function inMemory(): Scene {
    const clock = manualClock(START_US / 1000);
    const store = memoryStore({ clock });
    redis.afterwards(() => store.close());
    return sceneOf(store, clock, async (ms) => {
      clock.advance(ms);
      for (let round = 0; round < 4; round++) await turn();
    });
  }

  function sceneOf(store: Store, clock: ManualClock, pass: Scene["pass"]): Scene {
    return {
      clock,
      store,
      pass,
      limiter(policies, options = {}) {
        const quiet = { lease: false, onStateChange: () => {} } as const;
        const isLeasing = (options.lease ?? false) !== false;
        const chosen = { ...quiet, ...options, store: isLeasing ? distant(store) : store };
        const limiter = createRateLimiter({ ...chosen, policies, clock });
        redis.afterwards(() => limiter.close());
        return limiter;
      },
    };
  }

  return { redis, open: async (store) => (store === "memory" ? inMemory() : await onRedis()) };
}

/** A store that cannot be asked at once, as one in another process: else nothing is leased of it. */
function distant(store: Store): Store {
  return {
    name: store.name,
    take: (call) => store.take(call),
    peek: (addresses) => store.peek(addresses),
    adjust: (adjustments) => store.adjust(adjustments),
    block: (addresses, durationUs) => store.block(addresses, durationUs),
    reset: (addresses) => store.reset(addresses),
    close: () => store.close(),
  };
}

/** Whether each of these costs was admitted, asked one after the other. */
export async function admitted(limiter: RateLimiter, ...costs: number[]): Promise<boolean[]> {
  const decisions = [];
  for (const cost of costs) decisions.push((await limiter.consume("k", { cost })).allowed);
  return decisions;
}

/** How many requests of cost 1 were admitted of so many, one after the other. */
export async function admittedOf(limiter: RateLimiter, count: number): Promise<number> {
  return (await admitted(limiter, ...Array<number>(count).fill(1))).filter(Boolean).length;
}

/** Whole tokens left of each policy. */
export async function remainingOf(limiter: RateLimiter, key = "k"): Promise<number[]> {
  return (await limiter.peek(key)).policies.map(({ remaining }) => remaining);
}

/** Names what a case does not say anything about, and why; shown as skipped, so that it is seen. */
export function notFor(rows: readonly (readonly [about: string, why: string])[]): void {
  describe("does not apply", () => {
    for (const [about, why] of rows) it.skip(`${about}: ${why}`, () => {});
  });
}
