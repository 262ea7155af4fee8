// What does a key cost that is over its limit and keeps asking: to answer it, and to Redis?
import { setImmediate } from "node:timers/promises";
import { RateLimiterRedis } from "rate-limiter-flexible";
import { createRateLimiter, type RateLimiter, redisStore } from "spillway";
import type { BenchRedis } from "../harness/bench-redis.ts";
import { type Contestant, Disqualified, type Heat, perSecond, type Question } from "../harness/question.ts";
import type { Workbench } from "../harness/workbench.ts";

const PERIOD_MS = 3_600_000;
/** Between two looks at the clock. */
const STRIDE = 500;
const KEY = "over";
const RIVAL = "rate-limiter-flexible blocked";

const PACE = { perMs: 100, limit: 70, burst: 20 };
const MOST_CALLS_PER_SECOND = 200;

export const refusedKey: Question = {
  name: "refused-key",
  asks: "what a key costs that is refused: time to answer, and Redis calls a second at 100,000 asks a second",
  heats: (bench) => [() => answering(bench), () => pacing(bench)],
};

async function answering(bench: Workbench): Promise<Heat> {
  const redis = await bench.redis();
  await redis.flush();
  const marks = [{ peer: RIVAL, atLeast: 3 }];
  const figure = { unit: "decisions/s", better: "more", peers: [RIVAL], value: perSecond } as const;
  return {
    contestants: [await spillwayNow(redis), await spillwayAsync(redis), await blockedKey(redis)],
    cases: [
      { name: "refused-key/consumeNow", ...figure, ours: "spillway consumeNow", marks },
      { name: "refused-key/consume", ...figure, ours: "spillway consume" },
    ],
  };
}

async function spillwayOf(redis: BenchRedis, limit: number, burst: number, period: number) {
  const client = await redis.connect();
  const store = redisStore(client, { prefix: `refused-${limit}` });
  const limiter = createRateLimiter({ store, policies: { name: "refused", limit, burst, period }, deadlineMs: 10_000 });
  const close = async (): Promise<void> => {
    await limiter.close();
    await store.close();
    client.disconnect();
  };
  return { limiter, close };
}

async function spillwayNow(redis: BenchRedis): Promise<Contestant> {
  const { limiter, close } = await spillwayOf(redis, 1, 1, PERIOD_MS);
  /** Whether it was refused here as often as asked: about once a second a refusal is too old, and the store is to be asked. */
  const isRefusedHere = (): boolean => {
    for (let i = 0; i < STRIDE; i++) {
      const decision = limiter.consumeNow(KEY);
      if (decision === undefined) return false;
      if (decision.allowed) throw new Disqualified("it admitted a key that is over its limit");
    }
    return true;
  };
  return {
    name: "spillway consumeNow",
    check: () => checkRefusal(() => allowedBy(limiter)),
    async run({ ms }) {
      const untilMs = performance.now() + ms;
      let operations = 0;
      while (performance.now() < untilMs) {
        if (isRefusedHere()) operations += STRIDE;
        else await limiter.consume(KEY);
      }
      return { operations };
    },
    close,
  };
}

async function spillwayAsync(redis: BenchRedis): Promise<Contestant> {
  const { limiter, close } = await spillwayOf(redis, 1, 1, PERIOD_MS);
  return {
    name: "spillway consume",
    check: async () => undefined,
    async run({ ms }) {
      const untilMs = performance.now() + ms;
      let operations = 0;
      while (performance.now() < untilMs) {
        for (let i = 0; i < STRIDE; i++) {
          const decision = await limiter.consume(KEY);
          if (decision.allowed) throw new Disqualified("it admitted a key that is over its limit");
        }
        operations += STRIDE;
      }
      return { operations };
    },
    close,
  };
}

/** Its own cache of blocked keys, switched on as its documentation advises against floods. */
async function rivalOf(redis: BenchRedis, points: number, durationMs: number) {
  const client = await redis.connect({ enableOfflineQueue: false });
  const limiter = new RateLimiterRedis({
    storeClient: client,
    keyPrefix: `rlf-${points}`,
    points,
    duration: durationMs / 1000,
    inMemoryBlockOnConsumed: points,
  });
  return { limiter, close: async (): Promise<void> => client.disconnect() };
}

async function blockedKey(redis: BenchRedis): Promise<Contestant> {
  const { limiter, close } = await rivalOf(redis, 1, PERIOD_MS);
  const isAllowed = async (): Promise<boolean> => {
    try {
      await limiter.consume(KEY);
      return true;
    } catch {
      return false;
    }
  };
  return {
    name: RIVAL,
    check: () => checkRefusal(isAllowed),
    async run({ ms }) {
      const untilMs = performance.now() + ms;
      let operations = 0;
      while (performance.now() < untilMs) {
        for (let i = 0; i < STRIDE; i++) {
          try {
            await limiter.consume(KEY);
          } catch {
            operations++;
            continue;
          }
          throw new Disqualified("it admitted a key that is over its limit");
        }
      }
      return { operations };
    },
    close,
  };
}

async function allowedBy(limiter: RateLimiter): Promise<boolean> {
  return (await limiter.consume(KEY)).allowed;
}

async function checkRefusal(isAllowed: () => Promise<boolean>): Promise<string | undefined> {
  if (!(await isAllowed())) return "it refused the first request of a limit of 1";
  return (await isAllowed()) ? "it admitted a second request of a limit of 1" : undefined;
}

/** The same key asked for at a steady pace, with `limit` a second coming back, so that it is admitted now and then. */
async function pacing(bench: Workbench): Promise<Heat> {
  const redis = await bench.redis();
  await redis.flush();
  const ours = await spillwayOf(redis, PACE.limit, PACE.burst, 1000);
  const rival = await rivalOf(redis, PACE.limit, 1000);
  const name = "spillway";
  return {
    rounds: bench.quick ? 1 : 3,
    counters: () => redis.counters(),
    contestants: [
      paced(name, bench, PACE.burst, ours.close, (count) => {
        const now = ours.limiter.consumeNow(KEY);
        if (now === undefined) void ours.limiter.consume(KEY).then(({ allowed }) => count(allowed));
        else count(now.allowed);
      }),
      paced(RIVAL, bench, PACE.limit, rival.close, (count) => {
        rival.limiter.consume(KEY).then(
          () => count(true),
          () => count(false),
        );
      }),
    ],
    cases: [
      {
        name: "refused-key/redis-calls",
        unit: "Redis calls/s",
        better: "less",
        ours: name,
        peers: [RIVAL],
        value: ({ counted, wallMs }) => ((counted.calls ?? 0) / wallMs) * 1000,
        marks: [{ oursBelow: MOST_CALLS_PER_SECOND }],
      },
    ],
  };
}

function paced(
  name: string,
  bench: Workbench,
  burst: number,
  close: () => Promise<void>,
  ask: (count: (allowed: boolean) => void) => void,
): Contestant {
  const seconds = bench.quick ? 1 : 2;
  return {
    name,
    check: async () => undefined,
    async run() {
      const startedMs = performance.now();
      let asked = 0;
      let admitted = 0;
      let answered = 0;
      const count = (allowed: boolean): void => {
        answered++;
        if (allowed) admitted++;
      };
      for (let ms = 0; ms < seconds * 1000; ms = performance.now() - startedMs) {
        for (const owed = ms * PACE.perMs; asked < owed; asked++) ask(count);
        await setImmediate();
      }
      while (answered < asked) await setImmediate();
      const bound = burst + (PACE.limit * (performance.now() - startedMs)) / 1000;
      // A window may let twice its limit through around its edge; that is not what is asked here.
      if (admitted > bound + PACE.limit)
        throw new Disqualified(`it admitted ${admitted}; the bound is ${bound.toFixed(0)}`);
      return { operations: asked };
    },
    close,
  };
}
