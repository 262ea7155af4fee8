import type { BenchRedis } from "../harness/bench-redis.ts";
import { closedLoop, type Decide } from "../harness/closed-loop.ts";

/** A limit in Redis, by whatever library. */
export interface RedisLimiter {
  readonly decide: Decide;
  /** What it knows against itself after a round: a reason to disqualify it. */
  fault?(): string | undefined;
  close(): Promise<void>;
}

/** One library, set up as its documentation recommends. */
export interface RedisLimiterKind {
  readonly name: string;
  /** `limit` requests an hour and key. Each limiter has a connection of its own. */
  open(redis: BenchRedis, limit: number): Promise<RedisLimiter>;
}

/** The period of all limits here: so long that nothing comes back while a check runs. */
export const PERIOD_MS = 3_600_000;

const LIMIT = 100;
const ASKS = 150;

/** Whether a library admits exactly its limit of one key, asked by many at once, and leaves other keys alone. */
export async function checkLimit(kind: RedisLimiterKind, redis: BenchRedis): Promise<string | undefined> {
  await redis.flush();
  const limiter = await kind.open(redis, LIMIT);
  try {
    const { admitted } = await closedLoop(ASKS, limiter.decide, times(ASKS, "checked"));
    if (admitted !== LIMIT) return `of ${ASKS} at once it admitted ${admitted}; the limit is ${LIMIT}`;
    if (await limiter.decide("checked")) return "it admitted one more after the limit was used up";
    if (!(await limiter.decide("another"))) return "it refused a key that nobody had used";
    return limiter.fault?.();
  } finally {
    await limiter.close();
  }
}

function times(count: number, key: string): () => string | undefined {
  let left = count;
  return () => (left-- > 0 ? key : undefined);
}
