// How many decisions a second does one process make about one hot key, with few and with many callers in flight?
import { redisPeers } from "../contestants/all-redis-limiters.ts";
import { checkLimit, type RedisLimiter, type RedisLimiterKind } from "../contestants/redis-limiter.ts";
import { spillwayExact } from "../contestants/spillway-redis.ts";
import type { BenchRedis } from "../harness/bench-redis.ts";
import { closedLoop, oneUntil } from "../harness/closed-loop.ts";
import { type Contestant, Disqualified, type Heat, perSecond, type Question } from "../harness/question.ts";
import type { Workbench } from "../harness/workbench.ts";

/** So much that a round never uses it up. */
const LIMIT = 1_000_000_000;
/** Most first: with one caller a round is too short for code to be compiled well. */
const CALLERS = [256, 64, 1];

export const oneKey: Question = {
  name: "one-key",
  asks: "decisions a second on one key, every one in Redis",
  heats: (bench) => CALLERS.map((callers) => () => heatOf(bench, callers)),
};

async function heatOf(bench: Workbench, callers: number): Promise<Heat> {
  const redis = await bench.redis();
  const peers = redisPeers.map(({ name }) => name);
  const [first] = CALLERS;
  return {
    // Being right does not depend on the number of callers: it is tried once.
    contestants: [spillwayExact, ...redisPeers].map((kind) => contestant(kind, redis, callers, callers === first)),
    cases: [
      {
        name: `one-key/${callers}`,
        unit: "decisions/s",
        better: "more",
        ours: spillwayExact.name,
        peers,
        value: perSecond,
      },
    ],
  };
}

function contestant(kind: RedisLimiterKind, redis: BenchRedis, callers: number, isChecked: boolean): Contestant {
  let limiter: RedisLimiter | undefined;
  return {
    name: kind.name,
    check: async () => (isChecked ? await checkLimit(kind, redis) : undefined),
    async prepare() {
      limiter ??= await kind.open(redis, LIMIT);
    },
    async run({ ms }) {
      const { decide, fault } = limiter as RedisLimiter;
      const { admitted, refused } = await closedLoop(callers, decide, oneUntil("hot", performance.now() + ms));
      if (refused > 0) throw new Disqualified(`it refused ${refused} of ${admitted + refused} within the limit`);
      const reason = fault?.();
      if (reason !== undefined) throw new Disqualified(reason);
      return { operations: admitted };
    },
    close: async () => limiter?.close(),
  };
}
