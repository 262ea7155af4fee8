// How long do decisions take when Redis falls silent: its connections stay open, and nothing answers?
import { setTimeout as sleep } from "node:timers/promises";
import { findRedisServer, startRedisServer } from "@spillway/testkit";
import { Redis } from "ioredis";
import {
  type OutageLimiter,
  spillwayDefaults,
  withInsurance,
  withPassOnStoreError,
  withSkipOnError,
} from "../contestants/outage-limiters.ts";
import { type Contestant, Disqualified, type Heat, type Question } from "../harness/question.ts";

const STEADY_MS = 1_000;
const SILENT_MS = 8_000;
const EVERY_MS = 2;
const KEYS = 20;
/** Spillway waits 50 ms; the rest is what timers and the event loop may be late by. */
const LONG_MS = 100;
const RIVALS = [withInsurance, withSkipOnError, withPassOnStoreError];

/** What turns add to: a sample has no fields for it. */
interface Tally {
  longestMs: number;
  asked: number;
  long: number;
}

export const stalledStore: Question = {
  name: "stalled-store",
  asks: "how long decisions take while Redis is stopped for 8 s, with each library set up to go on without it",
  // A minute is not quick, and a container's server cannot be stopped from here.
  heats: ({ quick }) => (quick || findRedisServer() === undefined ? [] : [stopping]),
};

async function stopping(): Promise<Heat> {
  const tally: Tally = { longestMs: 0, asked: 0, long: 0 };
  const figure = { better: "less", ours: spillwayDefaults.name, peers: RIVALS.map(({ name }) => name) } as const;
  return {
    rounds: 1,
    contestants: [spillwayDefaults, ...RIVALS].map((limiter) => contestantOf(limiter, tally)),
    counters: async () => ({ ...tally }),
    cases: [
      {
        ...figure,
        name: "stalled-store/longest",
        unit: "ms, cut off at 8,000",
        value: ({ counted }) => counted.longestMs ?? 0,
        marks: [{ oursBelow: LONG_MS }],
      },
      {
        ...figure,
        name: "stalled-store/long",
        unit: `% of decisions over ${LONG_MS} ms`,
        value: ({ counted }) => (100 * (counted.long ?? 0)) / (counted.asked ?? 1),
        marks: [{ oursBelow: 0.1 }],
      },
    ],
  };
}

/** One turn: a second with Redis, then eight without an answer, on a server of its own. */
function contestantOf(limiter: OutageLimiter, tally: Tally): Contestant {
  return {
    name: limiter.name,
    check: async () => undefined,
    async run({ number }) {
      if (number === 0) return { operations: 1 };
      const server = await startRedisServer();
      const client = new Redis(server.port, server.host, { ...limiter.client, lazyConnect: true } as object);
      client.on("error", () => {}); // What fails shows in the decisions.
      try {
        await client.connect();
        const opened = await limiter.open(client);
        const calm = load(opened.decide);
        await sleep(STEADY_MS);
        if (calm.stop().refused > 0) throw new Disqualified("it refused requests while Redis was there");
        server.pause();
        const silent = load(opened.decide);
        await sleep(SILENT_MS);
        const { longestMs, asked, long } = silent.stop();
        server.resume();
        await sleep(STEADY_MS);
        await opened.close();
        tally.longestMs += longestMs;
        tally.asked += asked;
        tally.long += long;
        return { operations: asked };
      } finally {
        client.disconnect();
        await server.stop();
      }
    },
  };
}

interface LoadSeen extends Tally {
  /** Refused, or rejected with an error. */
  readonly refused: number;
}

/** 500 decisions a second. What is not answered when it stops counts as answered then. */
function load(decide: (key: string) => Promise<boolean>): { stop(): LoadSeen } {
  const startedMs = performance.now();
  const waiting = new Set<number>();
  const tookMs: number[] = [];
  let asked = 0;
  let refused = 0;
  const ask = (): void => {
    const askedMs = performance.now() + asked / 1e9; // No two are alike.
    waiting.add(askedMs);
    const answered = (allowed: boolean): void => {
      if (!waiting.delete(askedMs)) return;
      tookMs.push(performance.now() - askedMs);
      if (!allowed) refused++;
    };
    decide(`key-${asked++ % KEYS}`).then(answered, () => answered(false));
  };
  const timer = setInterval(() => {
    while (asked < (performance.now() - startedMs) / EVERY_MS) ask();
  }, EVERY_MS);
  return {
    stop() {
      clearInterval(timer);
      const nowMs = performance.now();
      const all = [...tookMs, ...Array.from(waiting, (askedMs) => nowMs - askedMs)];
      waiting.clear();
      const longestMs = all.reduce((most, ms) => Math.max(most, ms), 0);
      return { longestMs, asked, long: all.filter((ms) => ms > LONG_MS).length, refused };
    },
  };
}
