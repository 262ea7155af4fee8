import type { Clock } from "./clock.ts";
import type { Decision, PolicyStatus } from "./decision.ts";
import type { Duration } from "./duration.ts";
import type { StateChange } from "./health.ts";
import type { AskPart } from "./joint-ask.ts";
import type { PolicyView, StoreFailureMode } from "./policy.ts";
import type { Cost, PoliciesOption } from "./policy-set.ts";
import { SharedRateLimiter } from "./shared-rate-limiter.ts";
import type { LimiterStats } from "./stats.ts";
import type { Store } from "./stores/store.ts";

export interface RateLimiterOptions {
  /**
   * The limits. A function must return the same object for the same tier: each object is checked once, by identity.
   */
  readonly policies: PoliciesOption;
  /** Defaults to `memoryStore()`: this process alone. */
  readonly store?: Store;
  /**
   * Takes tokens in batches and spends them locally where the policy is large enough for it; `false` asks the store each time.
   * `maxDrainMs`, 5 to 1000, is how long a batch should last: longer means fewer calls, and tokens that are held where nobody
   * asks for them come back later. Defaults to `{ maxDrainMs: 50 }`.
   */
  readonly lease?: false | { readonly maxDrainMs?: number };
  /** The longest a decision waits for the store, in ms: 1 to 60,000. Defaults to 50. */
  readonly deadlineMs?: number;
  /** What decides while the store cannot answer. Defaults to `"backstop"`. */
  readonly onStoreFailure?: StoreFailureMode;
  /**
   * Decides and counts, and lets in all the same whom it would refuse: such a decision is allowed and says in `waived` what the
   * refusal was. To learn what a limit would do before it does. Defaults to `false`.
   */
  readonly dryRun?: boolean;
  /**
   * How many processes share the limit at least. Redis counts the processes at work and allots each its share for the time when
   * it is away, so this matters only until it has been reached for the first time, and for stores that cannot count; the part of
   * processes that are not there is kept for them. Whole, from 1. Defaults to 1.
   */
  readonly replicas?: number;
  /** How many keys are remembered locally: 1 to 10,000,000; of those longer than 2048 characters a 64th. Defaults to 100,000. */
  readonly maxKeys?: number;
  /** For tests. */
  readonly clock?: Clock;
  /**
   * Told of each change of the store's health. What it throws, or its promise rejects with, is a process warning. Defaults to one
   * line through `process.emitWarning`.
   */
  readonly onStateChange?: (change: StateChange) => void;
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
  /** The policies, completed, for whoever checks names and numbers against them; `undefined` where they depend on the key. */
  readonly policies?: readonly PolicyView[] | undefined;
  /**
   * Decides and charges. Waits at most `deadlineMs`.
   *
   * A request may be about several buckets of different keys: 1 to 16 parts that differ in policy or key. All are charged or
   * none, in one atomic step where they live in one slot (always without a cluster). Across slots each slot is asked, and what was
   * taken is given back when another one refuses: then others may be refused meanwhile for want of it, and never does more go in.
   * @param asked a key, or parts, which have their own costs.
   * @throws TypeError | RangeError (as a rejection) for a bad key, part or cost, before anything is sent.
   */
  consume(asked: string | readonly AskPart[], options?: ConsumeOptions): Promise<Decision>;
  /**
   * The same decision, at once, where local state can give it; `undefined` when it cannot, and then nothing was counted.
   * @throws TypeError | RangeError for a bad key, part or cost.
   */
  consumeNow(asked: string | readonly AskPart[], options?: ConsumeOptions): Decision | undefined;
  /**
   * How a key stands in the store, without the tokens that processes hold on lease, this one too. Rejects with a `SpillwayError` when
   * the store cannot answer.
   */
  peek(key: string): Promise<PeekResult>;
  /**
   * Gives back what an admitted decision took, never above full. Takes the decision itself, not a copy. Does nothing for a
   * refused or degraded decision, or the second time.
   */
  refund(decision: Decision): Promise<void>;
  /**
   * Takes tokens without asking, from all policies of a key or from those that `cost` names: for what turns out to be worse than
   * it looked. A bucket can owe as much as it holds when full; what it owes comes in first. Tokens that a process holds on
   * lease are still spent. Rejects with a `SpillwayError` when the store cannot answer.
   * @param cost defaults to 1.
   * @throws TypeError | RangeError (as a rejection) for a bad key or cost.
   */
  penalize(key: string, cost?: Cost): Promise<void>;
  /**
   * Refuses every request for a key, of every process and at any cost, until the block ends, whatever its policies have left: such
   * a decision has the reason `"blocked"` and waits for the rest of the block. It covers the policies that the key has now. What
   * they count goes on underneath. It takes the place of a block that there is, a longer one too; 0 ends one, and so does `reset`.
   * Tokens that other processes hold on lease may still be spent until the leases end, by default within 75 ms. While the store
   * cannot answer, processes that have met the block keep to it. Rejects with a `SpillwayError` when the store cannot answer:
   * then it is unknown whether the block is in force.
   * @param duration such as `"15m"`, or milliseconds; 0 to ten years.
   * @throws TypeError | SpillwayError (as a rejection) for a bad key or a bad duration.
   */
  block(key: string, duration: Duration): Promise<void>;
  /** Makes a key as if unused, and ends its block. Rejects with a `SpillwayError` when the store cannot answer. */
  reset(key: string): Promise<void>;
  /** Counters since the start, and the store's health. */
  stats(): LimiterStats;
  /** Waits for calls in flight (bounded by the deadline) and frees what the limiter made. Idempotent. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * A rate limiter over a store.
 * @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION` that names the option, what was expected and what came.
 */
export function createRateLimiter(options: RateLimiterOptions): RateLimiter {
  return new SharedRateLimiter(options);
}
