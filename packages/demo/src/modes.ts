import type { Redis } from "ioredis";
import { createRateLimiter, memoryStore, type PolicyOptions, type RateLimiter, redisStore } from "spillway";
import { type Judge, judgePerProcess, judgeShared } from "./marks.ts";

/** What a worker has at hand to make a mode's limiter. */
export interface LimiterParts {
  readonly policy: PolicyOptions;
  /** How many workers enforce the limit. */
  readonly workers: number;
  /** The keys of one mode in one run lie under a prefix of their own. */
  readonly prefix: string;
  /** This worker's connection in this mode. @throws when the demo runs without Redis. */
  readonly redis: () => Redis;
}

/** The part of a run during which servers cannot reach the store, as shares of its length. */
export interface Outage {
  readonly from: number;
  readonly to: number;
}

/** One way to enforce the limit: an entry of the table below is all that a mode needs. */
export interface Mode {
  readonly name: string;
  /** One line for help and report. */
  readonly summary: string;
  readonly needsRedis: boolean;
  readonly outage?: Outage;
  createLimiter(parts: LimiterParts): RateLimiter;
  readonly judge: Judge;
}

/**
 * How long a decision may wait for Redis here. Far longer than the default, so that on a machine busy with workers, Redis and
 * load generator at once the modes differ in how they count and in nothing else.
 */
const PATIENT_DEADLINE_MS = 1000;

/** All modes, in the order in which they run. */
export const MODES: readonly Mode[] = [
  {
    name: "per-process",
    summary: "each worker counts alone, in its own memory: the leak",
    needsRedis: false,
    createLimiter: ({ policy }) => createRateLimiter({ store: memoryStore(), policies: [policy] }),
    judge: judgePerProcess,
  },
  {
    name: "exact",
    summary: "all workers count together, every decision in Redis",
    needsRedis: true,
    createLimiter: ({ policy, workers, prefix, redis }) =>
      createRateLimiter({
        store: redisStore(redis(), { prefix }),
        policies: [policy],
        deadlineMs: PATIENT_DEADLINE_MS,
        replicas: workers,
      }),
    judge: judgeShared,
  },
];

/** The names of all modes, in the order in which they run. */
export const MODE_NAMES: readonly string[] = MODES.map((mode) => mode.name);

/** @throws Error for a name that is not in the table. */
export function modeNamed(name: string): Mode {
  const mode = MODES.find((candidate) => candidate.name === name);
  if (mode === undefined)
    throw new Error(`There is no mode ${JSON.stringify(name)}; there are ${MODE_NAMES.join(", ")}.`);
  return mode;
}
