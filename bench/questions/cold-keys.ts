// How many decisions a second does one process make about keys that it has never seen, many of them in flight?
import { redisPeers } from "../contestants/all-redis-limiters.ts";
import { checkLimit, type RedisLimiter, type RedisLimiterKind } from "../contestants/redis-limiter.ts";
import { spillwayExact } from "../contestants/spillway-redis.ts";
import type { BenchRedis } from "../harness/bench-redis.ts";
import { closedLoop, eachOnce } from "../harness/closed-loop.ts";
import { type Contestant, Disqualified, type Heat, perSecond, type Question } from "../harness/question.ts";
import type { Workbench } from "../harness/workbench.ts";

const KEYS = 20_000;
const MARKED_CALLERS = 256;
const CALLERS = [16, 64, MARKED_CALLERS];

export const coldKeys: Question = {
  name: "cold-keys",
  asks: `decisions a second on ${KEYS.toLocaleString("en-US")} different keys, every one in Redis`,
  heats: (bench) => (bench.quick ? [MARKED_CALLERS] : CALLERS).map((callers) => () => heatOf(bench, callers)),
};

async function heatOf(bench: Workbench, callers: number): Promise<Heat> {
  const redis = await bench.redis();
  const peers = redisPeers.map(({ name }) => name);
  const isMarked = callers === MARKED_CALLERS;
  return {
    contestants: [spillwayExact, ...redisPeers].map((kind) => contestant(kind, redis, callers)),
    cases: [
      {
        name: isMarked ? "cold-keys" : `cold-keys/${callers}-callers`,
        unit: "decisions/s",
        better: "more",
        ours: spillwayExact.name,
        peers,
        value: perSecond,
        marks: isMarked ? peers.map((peer) => ({ peer, atLeast: peer === "plain EVALSHA" ? 1.8 : 1 })) : [],
      },
    ],
  };
}

function contestant(kind: RedisLimiterKind, redis: BenchRedis, callers: number): Contestant {
  let limiter: RedisLimiter | undefined;
  let keys: string[] = [];
  return {
    name: kind.name,
    check: () => checkLimit(kind, redis),
    async prepare({ number }) {
      await redis.flush();
      limiter ??= await kind.open(redis, 1000);
      keys = Array.from({ length: KEYS }, (_, i) => `customer:${number}:${i}`);
    },
    async run() {
      const { decide, fault } = limiter as RedisLimiter;
      const { refused } = await closedLoop(callers, decide, eachOnce(keys));
      if (refused > 0) throw new Disqualified(`it refused ${refused} keys that nobody had used`);
      const reason = fault?.();
      if (reason !== undefined) throw new Disqualified(reason);
      return { operations: KEYS };
    },
    close: async () => limiter?.close(),
  };
}
