import type { ClientOptions } from "../harness/bench-redis.ts";
import { minimalGcra } from "./minimal-gcra.ts";
import { PERIOD_MS, type RedisLimiterKind } from "./redis-limiter.ts";

/** One EVALSHA for each decision through ioredis: what a careful service writes by hand. */
export const plainEvalsha: RedisLimiterKind = kind("plain EVALSHA", {});

/** The same with the batching that ioredis offers. */
export const pipelinedEvalsha: RedisLimiterKind = kind("EVALSHA, auto-pipelined", { enableAutoPipelining: true });

function kind(name: string, options: ClientOptions): RedisLimiterKind {
  return {
    name,
    async open(redis, limit) {
      const client = await redis.connect(options);
      await client.script("LOAD", minimalGcra.text);
      const costUs = String((PERIOD_MS * 1000) / limit);
      const burstUs = String(PERIOD_MS * 1000);
      return {
        async decide(key) {
          const [admitted] = (await client.evalsha(minimalGcra.sha1, 1, `gcra:${key}`, costUs, burstUs)) as [number];
          return admitted === 1;
        },
        async close() {
          client.disconnect();
        },
      };
    },
  };
}
