import { RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import { PERIOD_MS, type RedisLimiterKind } from "./redis-limiter.ts";

/** rate-limiter-flexible over ioredis, with the offline queue off as its documentation advises. */
export const rateLimiterFlexibleRedis: RedisLimiterKind = {
  name: "rate-limiter-flexible",
  async open(redis, limit) {
    const client = await redis.connect({ enableOfflineQueue: false });
    const limiter = new RateLimiterRedis({
      storeClient: client,
      keyPrefix: "rlf",
      points: limit,
      duration: PERIOD_MS / 1000,
    });
    return {
      async decide(key) {
        try {
          await limiter.consume(key);
          return true;
        } catch (refusal) {
          if (refusal instanceof RateLimiterRes) return false;
          throw refusal;
        }
      },
      async close() {
        client.disconnect();
      },
    };
  },
};
