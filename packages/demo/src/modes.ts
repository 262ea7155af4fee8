import {
  createRateLimiter,
  memoryStore,
  type PolicyOptions,
  type RateLimiter,
  type RateLimiterOptions,
  type StateChange,
  type Store,
} from "spillway";
import { type Judge, judgeLease, judgePerProcess, judgeShared } from "./marks.ts";
import { judgeOutage } from "./outage-marks.ts";

/** What a worker has at hand to make a mode's limiter. */
export interface LimiterParts {
  readonly policy: PolicyOptions;
  /** How many workers enforce the limit. */
  readonly workers: number;
  /** The store that all workers share in this mode. @throws Error when the demo runs without one. */
  readonly store: () => Store;
  /** Told when the limiter loses the store or finds it again; the limiter's own warning otherwise. */
  readonly onStateChange?: (change: StateChange) => void;
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
  /** Whether the workers count together. */
  readonly sharesStore: boolean;
  readonly outage?: Outage;
  createLimiter(parts: LimiterParts): RateLimiter;
  readonly judge: Judge;
}

/**
 * How long a decision may wait for the store here. Far longer than the default, so that on a machine busy with workers, store
 * and load generator at once the modes differ in how they count and in nothing else.
 */
const PATIENT_DEADLINE_MS = 1000;

/** All modes, in the order in which they run. */
export const MODES: readonly Mode[] = [
  {
    name: "per-process",
    summary: "each worker counts alone, in its own memory: the leak",
    sharesStore: false,
    createLimiter: ({ policy }) => createRateLimiter({ store: memoryStore(), policies: [policy] }),
    judge: judgePerProcess,
  },
  {
    name: "exact",
    summary: "all workers count together, every decision in the store",
    sharesStore: true,
    createLimiter: (parts) => createRateLimiter({ ...shared(parts), lease: false }),
    judge: judgeShared,
  },
  {
    name: "lease",
    summary: "each worker takes tokens in batches and spends them locally",
    sharesStore: true,
    createLimiter: (parts) => createRateLimiter(shared(parts)),
    judge: judgeLease,
  },
  {
    name: "outage",
    summary: "as lease, but the store cannot be reached for a part of the run",
    sharesStore: true,
    outage: { from: 0.4, to: 0.7 },
    createLimiter: (parts) => createRateLimiter(shared(parts)),
    judge: judgeOutage,
  },
];

function shared({ policy, workers, store, onStateChange }: LimiterParts): RateLimiterOptions {
  return {
    store: store(),
    policies: [policy],
    deadlineMs: PATIENT_DEADLINE_MS,
    replicas: workers,
    ...(onStateChange === undefined ? {} : { onStateChange }),
  };
}

/** The names of all modes, in the order in which they run. */
export const MODE_NAMES: readonly string[] = MODES.map((mode) => mode.name);

/** @throws Error for a name that is not in the table. */
export function modeNamed(name: string): Mode {
  const mode = MODES.find((candidate) => candidate.name === name);
  if (mode === undefined)
    throw new Error(`There is no mode ${JSON.stringify(name)}; there are ${MODE_NAMES.join(", ")}.`);
  return mode;
}
