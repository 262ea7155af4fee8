import { createRateLimiter, type PolicyOptions, redisStore } from "spillway";
import { PERIOD_MS, type RedisLimiterKind } from "./redis-limiter.ts";

/** Every decision in Redis. */
export const spillwayExact: RedisLimiterKind = { ...spillwayCounting("token-bucket"), name: "spillway exact" };

/**
 * Every decision in Redis, counted in some way. The deadline is long, so that a slow moment of the machine does not turn
 * decisions of the store into quicker ones without it.
 */
export function spillwayCounting(algorithm: NonNullable<PolicyOptions["algorithm"]>): RedisLimiterKind {
  return {
    name: `spillway ${algorithm}`,
    async open(redis, limit) {
      const client = await redis.connect();
      const store = redisStore(client);
      const policies = { name: "bench", limit, period: PERIOD_MS, algorithm };
      const limiter = createRateLimiter({ store, policies, lease: false, deadlineMs: 10_000 });
      return {
        decide: async (key) => (await limiter.consume(key)).allowed,
        fault() {
          const { backstop, open, closed } = limiter.stats().sources;
          const degraded = backstop + open + closed;
          return degraded === 0 ? undefined : `${degraded} decisions were made without the store`;
        },
        async close() {
          await limiter.close();
          await store.close();
          client.disconnect();
        },
      };
    },
  };
}
