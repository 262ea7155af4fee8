// What does a decision cost that a lease answers, beside the least that any limiter has to do?
import { setImmediate } from "node:timers/promises";
import { RateLimiterMemory } from "rate-limiter-flexible";
import { createRateLimiter, type Decision, type RateLimiter, redisStore } from "spillway";
import { rateLimiterFlexibleRedis } from "../contestants/rate-limiter-flexible-redis.ts";
import { checkLimit, type RedisLimiter } from "../contestants/redis-limiter.ts";
import type { BenchRedis } from "../harness/bench-redis.ts";
import { closedLoop, oneUntil } from "../harness/closed-loop.ts";
import { type Contestant, Disqualified, type Heat, nsEach, perSecond, type Question } from "../harness/question.ts";
import { inSlices } from "../harness/slices.ts";
import type { Workbench } from "../harness/workbench.ts";

const SLICE = 1000;
const KEYS = [1, 8, 64];
const IN_FLIGHT = 100;
const PERIOD_MS = 3_600_000;
/** So much that no bucket runs dry, and half a period of it lasts as long as a lease may. */
const POLICY = { name: "hit", limit: 1_000_000_000, period: "1s", burst: 100_000_000 } as const;
const LEASED_WITHIN_MS = 3000;

const FLOOR = "floor loop";
const WHOLE_FLOOR = "floor loop, both clocks and a whole decision";
const NOW = "spillway consumeNow";
const ASYNC = "spillway consume";
const MEMORY = "rate-limiter-flexible memory";
const REDIS = "rate-limiter-flexible Redis";

export const leaseHit: Question = {
  name: "lease-hit",
  asks: "what a decision costs that a lease answers",
  heats: (bench) => (bench.quick ? KEYS.slice(0, 1) : KEYS).map((keys) => () => heatOf(bench, keys)),
};

async function heatOf(bench: Workbench, count: number): Promise<Heat> {
  const redis = await bench.redis();
  await redis.flush();
  const keys = Array.from({ length: count }, (_, i) => `customer:${i}`);
  const suffix = `${count}-${count === 1 ? "key" : "keys"}`;
  const speed = { unit: "decisions/s", better: "more", value: perSecond } as const;
  return {
    contestants: [
      floor(keys),
      wholeFloor(keys),
      await now(redis, keys),
      await later(redis, keys),
      memory(keys),
      overRedis(redis),
    ],
    cases: [
      {
        ...{ name: `lease-hit/consumeNow/${suffix}`, unit: "ns/decision", better: "less", value: nsEach },
        ...{ ours: NOW, peers: [FLOOR, WHOLE_FLOOR] },
        marks: [
          { peer: FLOOR, atMost: 3 },
          { peer: WHOLE_FLOOR, atMost: 2 },
        ],
      },
      {
        ...{ ...speed, name: `lease-hit/consume/${suffix}`, ours: ASYNC, peers: [MEMORY] },
        marks: [{ peer: MEMORY, atLeast: 1 }],
      },
      {
        ...{ ...speed, name: `lease-hit/beside-redis/${suffix}`, ours: NOW, peers: [REDIS] },
        marks: [{ peer: REDIS, atLeast: 30 }],
      },
    ],
  };
}

/** Map lookup, decrement, one clock read, result object. */
function floor(keys: readonly string[]): Contestant {
  const shelves = new Map(keys.map((key) => [key, { left: Number.MAX_SAFE_INTEGER, deathMs: Number.MAX_VALUE }]));
  const decide = (key: string): { allowed: boolean; remaining: number } | undefined => {
    const shelf = shelves.get(key);
    if (shelf === undefined || shelf.left < 1 || performance.now() >= shelf.deathMs) return undefined;
    shelf.left--;
    return { allowed: true, remaining: shelf.left };
  };
  return {
    name: FLOOR,
    check: async () => undefined,
    run: ({ ms }) =>
      inSlices(ms, () => {
        for (let i = 0; i < SLICE; i++) if (decide(keys[i % keys.length] as string)?.allowed !== true) return undefined;
        return SLICE;
      }),
  };
}

/** The same with what the contract asks for: a lease is over by either clock, and a decision tells how the policy stands. */
function wholeFloor(keys: readonly string[]): Contestant {
  const costs = [1];
  const { name: policy, limit } = POLICY;
  const shelves = new Map(
    keys.map((key, i) => [key, { left: Number.MAX_SAFE_INTEGER, overMs: Number.MAX_VALUE, resetAfterMs: 0.5 + i }]),
  );
  const decide = (key: string): Decision | undefined => {
    const shelf = shelves.get(key);
    if (shelf === undefined || shelf.left < 1) return undefined;
    if (performance.now() >= shelf.overMs || Date.now() >= shelf.overMs) return undefined;
    shelf.left--;
    const { left: remaining, resetAfterMs } = shelf;
    const status = { policy, limit, periodMs: 1000, remaining, refillAfterMs: 0, resetAfterMs, retryAfterMs: 0 };
    return {
      allowed: true,
      key,
      costs,
      policy,
      limit,
      remaining,
      resetAfterMs,
      source: "lease",
      degraded: false,
      policies: [status],
    };
  };
  return {
    name: WHOLE_FLOOR,
    check: async () => undefined,
    run: ({ ms }) =>
      inSlices(ms, () => {
        for (let i = 0; i < SLICE; i++) if (decide(keys[i % keys.length] as string)?.allowed !== true) return undefined;
        return SLICE;
      }),
  };
}

interface Leased {
  readonly limiter: RateLimiter;
  close(): Promise<void>;
}

async function leasedOf(redis: BenchRedis, prefix: string): Promise<Leased> {
  const client = await redis.connect();
  const store = redisStore(client, { prefix });
  const limiter = createRateLimiter({ store, policies: POLICY, deadlineMs: 10_000 });
  const close = async (): Promise<void> => {
    await limiter.close();
    await store.close();
    client.disconnect();
  };
  return { limiter, close };
}

/** Asks until each key has a lease. */
async function warmUp({ limiter }: Leased, keys: readonly string[]): Promise<void> {
  const untilMs = performance.now() + LEASED_WITHIN_MS;
  const isLeased = (key: string): boolean => limiter.consumeNow(key)?.source === "lease";
  while (!keys.every(isLeased)) {
    if (performance.now() > untilMs) throw new Disqualified("it leases nothing");
    for (let i = 0; i < SLICE; i++) await limiter.consume(keys[i % keys.length] as string);
    await setImmediate();
  }
}

async function checkLeased(redis: BenchRedis): Promise<string | undefined> {
  const kind = {
    name: NOW,
    async open(_redis: BenchRedis, limit: number) {
      const client = await redis.connect();
      const store = redisStore(client, { prefix: "checked" });
      const policies = { name: "hit", limit, period: PERIOD_MS };
      const limiter = createRateLimiter({ store, policies, deadlineMs: 10_000 });
      return {
        decide: async (key: string) => (limiter.consumeNow(key) ?? (await limiter.consume(key))).allowed,
        async close() {
          await limiter.close();
          await store.close();
          client.disconnect();
        },
      };
    },
  };
  return await checkLimit(kind, redis);
}

async function now(redis: BenchRedis, keys: readonly string[]): Promise<Contestant> {
  const leased = await leasedOf(redis, "hit-now");
  const { limiter, close } = leased;
  return {
    name: NOW,
    check: () => checkLeased(redis),
    prepare: () => warmUp(leased, keys),
    run: ({ ms }) =>
      inSlices(ms, () => {
        for (let i = 0; i < SLICE; i++) {
          const key = keys[i % keys.length] as string;
          if (limiter.consumeNow(key)?.source !== "lease") return limiter.consume(key).then(() => undefined);
        }
        return SLICE;
      }),
    close,
  };
}

async function later(redis: BenchRedis, keys: readonly string[]): Promise<Contestant> {
  const leased = await leasedOf(redis, "hit-later");
  const { limiter, close } = leased;
  return {
    name: ASYNC,
    check: async () => undefined,
    prepare: () => warmUp(leased, keys),
    run: ({ ms }) =>
      inSlices(ms, async () => {
        for (let i = 0; i < SLICE; i++) {
          const { source } = await limiter.consume(keys[i % keys.length] as string);
          if (source !== "lease") return undefined;
        }
        return SLICE;
      }),
    close,
  };
}

function memory(keys: readonly string[]): Contestant {
  const limiter = new RateLimiterMemory({ points: Number.MAX_SAFE_INTEGER, duration: PERIOD_MS / 1000 });
  return {
    name: MEMORY,
    check: async () => undefined,
    run: ({ ms }) =>
      inSlices(ms, async () => {
        for (let i = 0; i < SLICE; i++) await limiter.consume(keys[i % keys.length] as string);
        return SLICE;
      }),
    async close() {
      for (const key of keys) await limiter.delete(key);
    },
  };
}

function overRedis(redis: BenchRedis): Contestant {
  let limiter: RedisLimiter | undefined;
  return {
    name: REDIS,
    check: async () => undefined,
    async prepare() {
      limiter ??= await rateLimiterFlexibleRedis.open(redis, 1_000_000_000);
    },
    async run({ ms }) {
      const { decide } = limiter as RedisLimiter;
      const { admitted } = await closedLoop(IN_FLIGHT, decide, oneUntil("hot", performance.now() + ms));
      return { operations: admitted };
    },
    close: async () => limiter?.close(),
  };
}
