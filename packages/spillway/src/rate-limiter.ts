import { LRUCache } from "lru-cache";
import { type Clock, systemClock } from "./clock.ts";
import { allowed, refused, statusOf } from "./decide.ts";
import type { Decision, PolicyStatus } from "./decision.ts";
import { invalidKey, invalidOption, SpillwayError } from "./errors.ts";
import { Backstop } from "./failover/backstop.ts";
import type { BreakerState } from "./failover/circuit-breaker.ts";
import { asStoreError, NodeGuard } from "./failover/guarded-store.ts";
import { Lane } from "./lease/lane.ts";
import { drainMs } from "./lease/lease-budget.ts";
import { LeaseClient } from "./lease/lease-client.ts";
import { requireNumber, requireObject, requireWhole } from "./options.ts";
import { type Policy, requireFailureMode, type StoreFailureMode } from "./policy.ts";
import {
  type Cost,
  type PoliciesOption,
  type PolicyResolver,
  type PolicySet,
  policyResolver,
  resolveCosts,
} from "./policy-set.ts";
import { Counters, type LimiterStats } from "./stats.ts";
import { memoryStore } from "./stores/memory-store.ts";
import type { BucketAddress, PeekReply, Store } from "./stores/store.ts";

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

const OPTION_NAMES = [
  "policies",
  "store",
  "lease",
  "deadlineMs",
  "onStoreFailure",
  "replicas",
  "maxKeys",
  "clock",
  "onStateChange",
];

/**
 * A rate limiter over a store.
 * @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION` that names the option, what was expected and what came.
 */
export function createRateLimiter(options: RateLimiterOptions): RateLimiter {
  return new SharedRateLimiter(options);
}

class SharedRateLimiter implements RateLimiter {
  readonly #policiesOf: PolicyResolver;
  readonly #store: Store;
  readonly #ownsStore: boolean;
  readonly #clock: Clock;
  readonly #deadlineMs: number;
  readonly #backstop: Backstop;
  readonly #client: LeaseClient;
  readonly #guards = new Map<string, NodeGuard>();
  readonly #lanes: LRUCache<string, Lane>;
  readonly #counters = new Counters();
  readonly #refunded = new WeakSet<Decision>();
  /** `undefined` when nothing is leased. */
  readonly #maxDrainMs: number | undefined;
  readonly #drains = new WeakMap<PolicySet, number | undefined>();
  readonly #onStateChange: (line: string) => void;
  #closed = false;

  constructor(options: RateLimiterOptions) {
    requireObject(options, "options", OPTION_NAMES);
    const { store, clock = systemClock, onStoreFailure = "backstop" } = options;
    this.#policiesOf = policyResolver(options.policies);
    this.#deadlineMs = requireNumber(options.deadlineMs ?? 50, "deadlineMs", 1, 60_000);
    requireFailureMode(onStoreFailure, "onStoreFailure");
    const replicas = requireWhole(options.replicas ?? 1, "replicas", 1, 100_000);
    const maxKeys = requireWhole(options.maxKeys ?? 100_000, "maxKeys", 1, 10_000_000);
    if (store !== undefined && typeof store.take !== "function")
      throw invalidOption("store", "a store, such as redisStore(client)", store);
    this.#ownsStore = store === undefined;
    this.#store = store ?? memoryStore({ maxKeys, clock });
    this.#clock = clock;
    this.#maxDrainMs = this.#store.takeNow === undefined ? maxDrainOf(options.lease) : undefined;
    this.#onStateChange = options.onStateChange ?? ((line) => process.emitWarning(line, "SpillwayWarning"));
    this.#backstop = new Backstop(replicas, onStoreFailure);
    this.#lanes = new LRUCache({ max: maxKeys });
    this.#client = new LeaseClient({
      clock,
      deadlineMs: this.#deadlineMs,
      groupOf: (key) => this.#groupOf(key),
      guardOf: (group) => this.#guardOf(group),
      fallBack: (lane, costs) => this.#degraded(lane, costs),
      drainMsOf: (set) => this.#drainMsOf(set),
      decideLocally: (lane, costs) => this.#decideLocally(lane, costs),
      onBucketFault: () => this.#counters.storeFaults++,
    });
  }

  async consume(key: string, options?: ConsumeOptions): Promise<Decision> {
    const signal = options?.signal;
    signal?.throwIfAborted();
    const lane = this.#laneOf(key);
    const costs = costsOf(options, lane);
    const now = this.#decideNow(lane, costs);
    if (now !== undefined) return this.#counters.decided(now);
    const decision = await this.#ask(lane, costs, signal);
    return this.#counters.decided(decision);
  }

  #ask(lane: Lane, costs: readonly number[], signal: AbortSignal | undefined): Promise<Decision> {
    if (signal === undefined) return new Promise((resolve) => this.#client.ask(lane, costs, resolve));
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        caller.abandon();
        reject(signal.reason);
      };
      const caller = this.#client.ask(lane, costs, (decision) => {
        signal.removeEventListener("abort", abort);
        resolve(decision);
      });
      signal.addEventListener("abort", abort, { once: true });
    });
  }

  consumeNow(key: string, options?: ConsumeOptions): Decision | undefined {
    const lane = this.#laneOf(key);
    const decision = this.#decideNow(lane, costsOf(options, lane));
    return decision === undefined ? undefined : this.#counters.decided(decision);
  }

  #decideNow(lane: Lane, costs: readonly number[]): Decision | undefined {
    const decision = lane.waiting.length === 0 ? this.#decideLocally(lane, costs) : undefined;
    if (decision !== undefined) {
      lane.lease?.noteAsked(costs);
      return decision;
    }
    if (this.#store.takeNow !== undefined) return this.#takeNow(lane, costs);
    if (this.#guardOf(this.#groupOf(lane.key)).isOpen) return this.#degraded(lane, costs);
    return undefined;
  }

  #decideLocally(lane: Lane, costs: readonly number[]): Decision | undefined {
    const decision = this.#spendLease(lane, costs);
    if (decision !== undefined || lane.denial === undefined) return decision;
    const nowMs = this.#clock.monotonicMs();
    if (lane.denial.isOver(nowMs)) lane.denial = undefined;
    return lane.denial?.refuse(lane.key, costs, nowMs);
  }

  /** Decides from leased tokens if they are enough, and fetches more before they are gone. */
  #spendLease(lane: Lane, costs: readonly number[]): Decision | undefined {
    const { lease } = lane;
    const statuses = lease?.spend(costs, this.#clock.monotonicMs(), this.#clock.wallMs());
    if (lease === undefined || statuses === undefined) return undefined;
    if (lease.isLow && !lane.posted && !lane.inFlight) this.#client.run(lane, "prefetch");
    return allowed(lane.key, costs, statuses, "lease");
  }

  /** One drain time for all policies of a set; none when one of them is too small to lease. */
  #drainMsOf(set: PolicySet): number | undefined {
    if (this.#maxDrainMs === undefined) return undefined;
    if (this.#drains.has(set)) return this.#drains.get(set);
    let shortest: number | undefined = this.#maxDrainMs;
    for (const policy of set.policies) {
      const drain = drainMs(policy, this.#maxDrainMs);
      shortest = drain === undefined || shortest === undefined ? undefined : Math.min(shortest, drain);
    }
    this.#drains.set(set, shortest);
    return shortest;
  }

  /** Asks a store that lives in this process. */
  #takeNow({ key, set }: Lane, costs: readonly number[]): Decision {
    const charges = costs.map((cost, bucket) => ({ bucket, cost }));
    const buckets = set.policies.map((policy) => ({ key, policy, report: undefined }));
    const take = this.#store.takeNow as NonNullable<Store["takeNow"]>;
    const reply = take.call(this.#store, { buckets, runs: [{ count: 1, charges }] });
    const admitted = reply.served[0] === 1;
    const statuses = statusesOf(set.policies, costs, reply).map((status) =>
      admitted ? { ...status, retryAfterMs: 0 } : status,
    );
    return admitted ? allowed(key, costs, statuses, "store") : refused(key, costs, statuses, "store");
  }

  /** A decision without the store: by this process's share, or as the policies say. */
  #degraded(lane: Lane, costs: readonly number[]): Decision {
    lane.backstop ??= [];
    const nowUs = Math.floor(this.#clock.monotonicMs() * 1000);
    return this.#backstop.decide(lane.key, costs, lane.set, lane.backstop, nowUs);
  }

  async peek(key: string): Promise<PeekResult> {
    const { set } = this.#laneOf(key);
    const reply = await this.#inTime(this.#store.peek(addressesOf(key, set.policies)));
    return { key, policies: statusesOf(set.policies, set.unitCosts, reply) };
  }

  refund(decision: Decision): Promise<void> {
    return quietly(this.#refund(decision));
  }

  async #refund(decision: Decision): Promise<void> {
    const { allowed: admitted, degraded, key, costs } = decision;
    if (!admitted || degraded || this.#refunded.has(decision)) return;
    this.#refunded.add(decision);
    const lane = this.#laneOf(key);
    const adjustments = lane.set.policies
      .map((policy, i) => ({ key, policy, tokens: costs[i] ?? 0 }))
      .filter(({ tokens }) => tokens > 0);
    if (adjustments.length === 0) return;
    lane.denial = undefined;
    await this.#inTime(this.#store.adjust(adjustments));
    lane.denial = undefined;
  }

  reset(key: string): Promise<void> {
    return quietly(this.#reset(key));
  }

  async #reset(key: string): Promise<void> {
    const lane = this.#laneOf(key);
    await this.#inTime(this.#store.reset(addressesOf(key, lane.set.policies)));
    lane.denial = undefined;
    lane.backstop = undefined;
  }

  stats(): LimiterStats {
    const { allowed: admitted, refused: turnedAway, sources, storeCalls, storeMisses, storeFaults } = this.#counters;
    return {
      allowed: admitted,
      refused: turnedAway,
      sources: { ...sources },
      storeCalls,
      storeMisses,
      storeFaults,
      leases: { ...this.#client.counts },
      keys: this.#lanes.size,
      store: this.#store.name,
    };
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#client.close();
    for (const guard of this.#guards.values()) guard.close();
    if (this.#ownsStore) await this.#store.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #laneOf(key: string): Lane {
    if (this.#closed) throw new SpillwayError("ERR_SPILLWAY_CLOSED", "The limiter is closed.");
    if (typeof key !== "string") throw invalidKey("a string", key);
    const known = this.#lanes.get(key);
    const set = this.#policiesOf(key);
    if (known?.set === set) return known;
    if (key.length < 1 || key.length > LONGEST_KEY) throw invalidKey(`1 to ${LONGEST_KEY} characters long`, key);
    const lane = new Lane(key, set);
    this.#lanes.set(key, lane);
    return lane;
  }

  #groupOf(key: string): number {
    return this.#store.groupOf?.(key) ?? 0;
  }

  #guardOf(group: number): NodeGuard {
    const node = this.#store.nodeOf?.(group) ?? "";
    let guard = this.#guards.get(node);
    if (guard === undefined) {
      guard = new NodeGuard(this.#store, node, this.#clock, this.#deadlineMs, {
        onBreaker: (_node, after, before) => this.#tell(node, after, before),
        onMiss: () => this.#counters.storeMisses++,
        onFault: () => this.#counters.storeFaults++,
        onSent: (calls) => {
          this.#counters.storeCalls += calls;
        },
      });
      this.#guards.set(node, guard);
    }
    return guard;
  }

  #tell(node: string, after: BreakerState, before: BreakerState): void {
    const store = node === "" ? this.#store.name : `${this.#store.name} ${node}`;
    if (after.kind === "open" && before.kind === "closed")
      this.#onStateChange(`${store} cannot answer (${after.reason}); this process decides by its share meanwhile`);
    if (after.kind === "closed") this.#onStateChange(`${store} answers again`);
  }

  /** Waits for a reply no longer than the deadline. */
  #inTime<T>(reply: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const message = `The store did not answer within ${this.#deadlineMs} ms.`;
      const fail = (): void => reject(new SpillwayError("ERR_SPILLWAY_STORE_TIMEOUT", message));
      const timer = this.#clock.startTimer(fail, this.#deadlineMs, true);
      const settle = reply.then(resolve, (cause: unknown) => reject(asStoreError(cause)));
      settle.finally(() => timer.cancel());
    });
  }
}

/** The longest key, in UTF-16 code units. */
const LONGEST_KEY = 65_536;

function maxDrainOf(option: RateLimiterOptions["lease"]): number | undefined {
  if (option === false) return undefined;
  if (option === undefined) return 50;
  requireObject(option, "lease", ["maxDrainMs"]);
  return requireNumber(option.maxDrainMs ?? 50, "lease.maxDrainMs", 5, 1000);
}

function costsOf(options: ConsumeOptions | undefined, lane: Lane): readonly number[] {
  if (options === undefined || !("cost" in options)) return lane.set.unitCosts;
  return resolveCosts(options.cost as Cost, lane.set);
}

function addressesOf(key: string, policies: readonly Policy[]): BucketAddress[] {
  return policies.map((policy) => ({ key, policy }));
}

/** @throws SpillwayError when a bucket could not be read. */
function statusesOf(policies: readonly Policy[], costs: readonly number[], reply: PeekReply): PolicyStatus[] {
  return policies.map((policy, i) => {
    const reading = reply.buckets[i];
    if (reading?.kind !== "state") throw reading?.error ?? new SpillwayError("ERR_SPILLWAY_STORE_REPLY", "No reading.");
    return statusOf(policy, reading.state, costs[i] as number, reply.nowUs);
  });
}

/** A promise that rejects for those who look, and never as an unhandled rejection. */
function quietly<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
