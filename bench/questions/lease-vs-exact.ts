// What do leases save: decisions a second, and calls to Redis for each?
import { setImmediate } from "node:timers/promises";
import { createRateLimiter, redisStore } from "spillway";
import { rateLimiterFlexibleRedis } from "../contestants/rate-limiter-flexible-redis.ts";
import type { RedisLimiter } from "../contestants/redis-limiter.ts";
import type { BenchRedis } from "../harness/bench-redis.ts";
import {
  type Contestant,
  Disqualified,
  type Heat,
  perSecond,
  type Question,
  type Sample,
} from "../harness/question.ts";
import type { Workbench } from "../harness/workbench.ts";

const CALLERS = 100;
const KEYS = [1, 10, CALLERS];
/** So much that no bucket runs dry. */
const LIMIT = 1_000_000_000;

const LEASED = "spillway leases";
const EXACT = "spillway exact";

export const leaseVsExact: Question = {
  name: "lease-vs-exact",
  asks: `decisions a second and Redis calls for each, with ${CALLERS} callers in each turn of the event loop`,
  heats: (bench) => (bench.quick ? KEYS.slice(0, 1) : KEYS).map((keys) => () => heatOf(bench, keys)),
};

async function heatOf(bench: Workbench, count: number): Promise<Heat> {
  const redis = await bench.redis();
  await redis.flush();
  const keys = Array.from({ length: count }, (_, i) => `customer:${i}`);
  const suffix = `${count}-${count === 1 ? "key" : "keys"}`;
  const sides = { ours: LEASED, peers: [EXACT, rateLimiterFlexibleRedis.name] };
  return {
    counters: () => redis.counters(),
    contestants: [
      contestant(LEASED, keys, () => spillwayOf(redis, true)),
      contestant(EXACT, keys, () => spillwayOf(redis, false)),
      contestant(rateLimiterFlexibleRedis.name, keys, () => rateLimiterFlexibleRedis.open(redis, LIMIT)),
    ],
    cases: [
      { ...sides, name: `lease-vs-exact/${suffix}`, unit: "decisions/s", better: "more", value: perSecond },
      {
        ...{ ...sides, name: `lease-vs-exact/redis-calls/${suffix}` },
        ...{ unit: "Redis calls/decision", better: "less", value: callsEach },
      },
    ],
  };
}

function callsEach({ counted, operations }: Sample): number {
  return (counted.calls ?? 0) / operations;
}

async function spillwayOf(redis: BenchRedis, isLeased: boolean): Promise<RedisLimiter> {
  const client = await redis.connect();
  const store = redisStore(client, { prefix: isLeased ? "leased" : "exact" });
  const policies = { name: "bench", limit: LIMIT, period: "1s", burst: LIMIT / 10 } as const;
  const limiter = createRateLimiter({ store, policies, deadlineMs: 10_000, ...(isLeased ? {} : { lease: false }) });
  return {
    decide: async (key) => (await limiter.consume(key)).allowed,
    async close() {
      await limiter.close();
      await store.close();
      client.disconnect();
    },
  };
}

/** All callers ask in one turn, and again in the next one after the last answer: as a server sees its requests. */
function contestant(name: string, keys: readonly string[], open: () => Promise<RedisLimiter>): Contestant {
  let limiter: RedisLimiter | undefined;
  return {
    name,
    check: async () => undefined,
    async prepare() {
      limiter ??= await open();
    },
    async run({ ms }) {
      const { decide } = limiter as RedisLimiter;
      const untilMs = performance.now() + ms;
      let operations = 0;
      while (performance.now() < untilMs) {
        const answers = await Promise.all(
          Array.from({ length: CALLERS }, (_, i) => decide(keys[i % keys.length] as string)),
        );
        if (answers.includes(false)) throw new Disqualified("it refused a request within the limit");
        operations += CALLERS;
        await setImmediate();
      }
      return { operations };
    },
    close: async () => limiter?.close(),
  };
}
