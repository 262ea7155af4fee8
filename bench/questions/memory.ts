// What does a decision cost that needs no store but this process's memory?
import { createRequire } from "node:module";
import { MemoryStore as ExpressMemoryStore } from "express-rate-limit";
import { RateLimiterMemory } from "rate-limiter-flexible";
import { createRateLimiter } from "spillway";
import { type Contestant, Disqualified, type Heat, perSecond, type Question, type Work } from "../harness/question.ts";

const PERIOD_MS = 3_600_000;
const LIMIT = 1_000_000_000;
const CHECKED_LIMIT = 5;
/** Between two looks at the clock. */
const STRIDE = 500;
const KEYS = [1, 1000, 50_000];
const RIVAL = "rate-limiter-flexible memory";

export const memory: Question = {
  name: "memory",
  asks: "decisions a second in this process's memory alone",
  heats: (bench) => (bench.quick ? [1000] : KEYS).map((keys) => () => heatOf(keys)),
};

async function heatOf(count: number): Promise<Heat> {
  const keys = Array.from({ length: count }, (_, i) => `customer:${i}`);
  const peers = [RIVAL, "@fastify/rate-limit memory", "express-rate-limit memory"];
  const figure = { unit: "decisions/s", better: "more", peers, value: perSecond } as const;
  return {
    contestants: [spillwayNow(keys), spillwayAsync(keys), flexible(keys), fastify(keys), express(keys)],
    cases: [
      { name: `memory/consumeNow/${count}-keys`, ...figure, ours: "spillway consumeNow" },
      {
        name: `memory/consume/${count}-keys`,
        ...figure,
        ours: "spillway consume",
      },
    ],
  };
}

function spillwayOf(limit: number) {
  return createRateLimiter({ policies: { name: "memory", limit, period: PERIOD_MS } });
}

function spillwayNow(keys: readonly string[]): Contestant {
  const limiter = spillwayOf(LIMIT);
  return {
    name: "spillway consumeNow",
    check: async () => {
      const checked = spillwayOf(CHECKED_LIMIT);
      return await checkLimit(async (key) => checked.consumeNow(key)?.allowed === true);
    },
    run: ({ ms }) => loop(ms, keys, (key) => limiter.consumeNow(key)?.allowed === true),
    close: () => limiter.close(),
  };
}

function spillwayAsync(keys: readonly string[]): Contestant {
  const limiter = spillwayOf(LIMIT);
  return {
    name: "spillway consume",
    check: async () => {
      const checked = spillwayOf(CHECKED_LIMIT);
      return await checkLimit(async (key) => (await checked.consume(key)).allowed);
    },
    async run({ ms }) {
      const untilMs = performance.now() + ms;
      let operations = 0;
      while (performance.now() < untilMs)
        for (const end = operations + STRIDE; operations < end; operations++) {
          const { allowed } = await limiter.consume(keys[operations % keys.length] as string);
          if (!allowed) throw refusedTooEarly();
        }
      return { operations };
    },
    close: () => limiter.close(),
  };
}

function flexible(keys: readonly string[]): Contestant {
  const open = (points: number) => new RateLimiterMemory({ points, duration: PERIOD_MS / 1000 });
  const limiter = open(LIMIT);
  return {
    name: RIVAL,
    check: async () => {
      const checked = open(CHECKED_LIMIT);
      return await checkLimit((key) =>
        checked.consume(key).then(
          () => true,
          () => false,
        ),
      );
    },
    async run({ ms }) {
      const untilMs = performance.now() + ms;
      let operations = 0;
      // A refusal rejects.
      while (performance.now() < untilMs)
        for (const end = operations + STRIDE; operations < end; operations++)
          await limiter.consume(keys[operations % keys.length] as string);
      return { operations };
    },
    async close() {
      for (const key of keys) await limiter.delete(key);
    },
  };
}

/** What the plugin uses of its store. The package has no types for it. */
interface FastifyStore {
  incr(key: string, done: (error: Error | null, result: { current: number }) => void, ms: number, max: number): void;
}

const LocalStore = createRequire(import.meta.url)("@fastify/rate-limit/store/LocalStore.js") as new (
  continueExceeding: boolean,
  exponentialBackoff: boolean,
  cache: number,
) => FastifyStore;

/** The plugin's own store, with room for as many keys as Spillway has; it answers at once. */
function fastify(keys: readonly string[]): Contestant {
  const store = new LocalStore(false, false, 100_000);
  const isAllowed = (key: string, limit: number): boolean => {
    let allowed = false;
    store.incr(
      key,
      (_error, { current }) => {
        allowed = current <= limit;
      },
      PERIOD_MS,
      limit,
    );
    return allowed;
  };
  return {
    name: "@fastify/rate-limit memory",
    check: () => checkLimit(async (key) => isAllowed(key, CHECKED_LIMIT)),
    run: ({ ms }) => loop(ms, keys, (key) => isAllowed(key, LIMIT)),
  };
}

function express(keys: readonly string[]): Contestant {
  const store = new ExpressMemoryStore();
  store.init({ windowMs: PERIOD_MS } as Parameters<typeof store.init>[0]);
  return {
    name: "express-rate-limit memory",
    check: () => checkLimit(async (key) => (await store.increment(key)).totalHits <= CHECKED_LIMIT),
    async run({ ms }) {
      const untilMs = performance.now() + ms;
      let operations = 0;
      while (performance.now() < untilMs)
        for (const end = operations + STRIDE; operations < end; operations++) {
          const { totalHits } = await store.increment(keys[operations % keys.length] as string);
          if (totalHits > LIMIT) throw refusedTooEarly();
        }
      return { operations };
    },
    close: async () => store.shutdown(),
  };
}

function loop(ms: number, keys: readonly string[], isAllowed: (key: string) => boolean): Work {
  const untilMs = performance.now() + ms;
  let operations = 0;
  while (performance.now() < untilMs)
    for (const end = operations + STRIDE; operations < end; operations++)
      if (!isAllowed(keys[operations % keys.length] as string)) throw refusedTooEarly();
  return { operations };
}

function refusedTooEarly(): Disqualified {
  return new Disqualified("it refused a request within the limit");
}

async function checkLimit(isAllowed: (key: string) => Promise<boolean>): Promise<string | undefined> {
  let admitted = 0;
  for (let i = 0; i < CHECKED_LIMIT + 3; i++) if (await isAllowed("checked")) admitted++;
  if (admitted !== CHECKED_LIMIT) return `it admitted ${admitted}; the limit is ${CHECKED_LIMIT}`;
  return (await isAllowed("another")) ? undefined : "it refused a key that nobody had used";
}
