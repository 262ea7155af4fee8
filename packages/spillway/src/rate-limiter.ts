import type { Clock } from "./clock.ts";
import type { Decision, PolicyStatus } from "./decision.ts";
import type { PolicyOptions, StoreFailureMode } from "./policy.ts";
import type { LimiterStats } from "./stats.ts";
import type { Store } from "./stores/store.ts";

/** One policy, several that all must admit, or a synchronous function of the key that returns either (tiers). */
export type PoliciesOption =
  | PolicyOptions
  | readonly PolicyOptions[]
  | ((key: string) => PolicyOptions | readonly PolicyOptions[]);

/** One number for all policies, or one for each by name; policies not named cost 0. Whole numbers from 0. */
export type Cost = number | Readonly<Record<string, number>>;

export interface RateLimiterOptions {
  /**
   * The limits. A function must return the same object for the same tier: each object is checked once, by identity.
   */
  readonly policies: PoliciesOption;
  /** Defaults to `memoryStore()`: this process alone. */
  readonly store?: Store;
  /** The longest a decision waits for the store, in ms: 1 to 60,000. Defaults to 50. */
  readonly deadlineMs?: number;
  /** What decides while the store cannot answer. Defaults to `"backstop"`. */
  readonly onStoreFailure?: StoreFailureMode;
  /** How many processes share the limit; the backstop of each admits this part of it. Whole, from 1. Defaults to 1. */
  readonly replicas?: number;
  /** How many keys are remembered locally: 1 to 10,000,000. Defaults to 100,000. */
  readonly maxKeys?: number;
  /** For tests. */
  readonly clock?: Clock;
  /** Receives one line per change of the store's health. Defaults to `console.warn`-like output through `process.emitWarning`. */
  readonly onStateChange?: (line: string) => void;
}

export interface ConsumeOptions {
  /** Defaults to 1. Cost 0 changes nothing and is always admitted. */
  readonly cost?: Cost;
  /** Gives up waiting; the promise rejects with the signal's reason. What the store already took stays taken. */
  readonly signal?: AbortSignal;
}

/** How a key stands, without taking anything. */
export interface PeekResult {
  readonly key: string;
  readonly policies: readonly PolicyStatus[];
}

/**
 * Limits how much each key may do. Refusals are values; store faults are decided by the backstop and never thrown.
 */
export interface RateLimiter {
  /**
   * Decides and charges. Waits at most `deadlineMs`.
   * @throws TypeError | RangeError (as a rejection) for a bad key or cost, before anything is sent.
   */
  consume(key: string, options?: ConsumeOptions): Promise<Decision>;
  /**
   * The same decision, at once, where local state can give it; `undefined` when it cannot, and then nothing was counted.
   * @throws TypeError | RangeError for a bad key or cost.
   */
  consumeNow(key: string, options?: ConsumeOptions): Decision | undefined;
  /** How a key stands in the store. Rejects with a `SpillwayError` when the store cannot answer. */
  peek(key: string): Promise<PeekResult>;
  /** Gives back what an admitted decision took, never above full. Does nothing for a refused or degraded decision, or twice. */
  refund(decision: Decision): Promise<void>;
  /** Makes a key as if unused. Rejects with a `SpillwayError` when the store cannot answer. */
  reset(key: string): Promise<void>;
  /** Counters since the start, and the store's health. */
  stats(): LimiterStats;
  /** Waits for calls in flight (bounded by the deadline) and frees what the limiter made. Idempotent. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
