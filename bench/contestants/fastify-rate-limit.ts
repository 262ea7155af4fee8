import { createRequire } from "node:module";
import type { Redis } from "ioredis";
import { PERIOD_MS, type RedisLimiterKind } from "./redis-limiter.ts";

/** What the plugin uses of its store. The package has no types for it. */
interface Store {
  incr(
    key: string,
    done: (error: Error | null, result: { current: number } | null) => void,
    ms: number,
    max: number,
  ): void;
}

const RedisStore = createRequire(import.meta.url)("@fastify/rate-limit/store/RedisStore.js") as new (
  continueExceeding: boolean,
  exponentialBackoff: boolean,
  redis: Redis,
) => Store;

/** The Redis store of @fastify/rate-limit, without Fastify, over a client set up as its example shows. */
export const fastifyRateLimit: RedisLimiterKind = {
  name: "@fastify/rate-limit",
  async open(redis, limit) {
    const client = await redis.connect({ connectTimeout: 500, maxRetriesPerRequest: 1 });
    const store = new RedisStore(false, false, client);
    const current = (key: string): Promise<number> =>
      new Promise((resolve, reject) => {
        store.incr(key, (error, result) => (result ? resolve(result.current) : reject(error)), PERIOD_MS, limit);
      });
    return {
      decide: async (key) => (await current(key)) <= limit,
      async close() {
        client.disconnect();
      },
    };
  },
};
