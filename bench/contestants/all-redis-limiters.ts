import { fastifyRateLimit } from "./fastify-rate-limit.ts";
import { pipelinedEvalsha, plainEvalsha } from "./plain-evalsha.ts";
import { rateLimitRedis } from "./rate-limit-redis.ts";
import { rateLimiterFlexibleRedis } from "./rate-limiter-flexible-redis.ts";
import type { RedisLimiterKind } from "./redis-limiter.ts";

/** What Spillway's exact mode is held against. */
export const redisPeers: readonly RedisLimiterKind[] = [
  plainEvalsha,
  pipelinedEvalsha,
  rateLimiterFlexibleRedis,
  rateLimitRedis,
  fastifyRateLimit,
];
