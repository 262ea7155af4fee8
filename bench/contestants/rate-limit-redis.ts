import { type RedisReply, RedisStore } from "rate-limit-redis";
import { PERIOD_MS, type RedisLimiterKind } from "./redis-limiter.ts";

/** The Redis store of express-rate-limit, without Express: the store alone decides nothing slower than that. */
export const rateLimitRedis: RedisLimiterKind = {
  name: "rate-limit-redis",
  async open(redis, limit) {
    const client = await redis.connect();
    const sendCommand = (command: string, ...args: string[]): Promise<RedisReply> =>
      client.call(command, ...args) as Promise<RedisReply>;
    const store = new RedisStore({ sendCommand });
    await store.init({ windowMs: PERIOD_MS } as Parameters<typeof store.init>[0]);
    return {
      decide: async (key) => (await store.increment(key)).totalHits <= limit,
      async close() {
        client.disconnect();
      },
    };
  },
};
