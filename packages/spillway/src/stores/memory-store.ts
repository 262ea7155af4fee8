import { LRUCache } from "lru-cache";
import { block } from "../algorithms/block.ts";
import { advance, algorithmOf, type BucketState, copyOf, reset, summaryOf } from "../algorithms/bucket.ts";
import { type Clock, systemClock } from "../clock.ts";
import { requireObject, requireWhole } from "../options.ts";
import type { Policy } from "../policy.ts";
import { BucketTable } from "./bucket-table.ts";
import { refusedCosts } from "./refused-costs.ts";
import type {
  Adjustment,
  BucketAddress,
  BucketReading,
  PeekReply,
  Store,
  TakeBucket,
  TakeCall,
  TakeReply,
} from "./store.ts";
import { applyTake, type OpenBucket } from "./take.ts";

export interface MemoryStoreOptions {
  /**
   * Buckets kept per policy, 1 to 10,000,000; the least recently used make room. Defaults to 100,000. Of policies, 1000 names are
   * kept.
   */
  readonly maxKeys?: number;
  /** For tests. Defaults to the machine's monotonic clock. */
  readonly clock?: Clock;
}

/** A store in this process's memory. */
export interface MemoryStore extends Store {
  takeNow(call: TakeCall): TakeReply;
}

/**
 * Keeps buckets in this process: for one process, for tests, and as the model that other stores are tested against. Each
 * process that makes one has a limit of its own; replicas that should share one need `redisStore` or `clusterStore`.
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  requireObject(options, "options", ["maxKeys", "clock"]);
  const maxKeys = requireWhole(options.maxKeys ?? 100_000, "maxKeys", 1, 10_000_000);
  return new InMemoryStore(maxKeys, options.clock ?? systemClock);
}

/** A function of the key may name as many policies as there are keys. */
const MOST_TABLES = 1000;
/** So many have room for all of their keys from the start, so that none grows while it is in use; the others for a few. */
const ROOMY_TABLES = 16;
const FEW_KEYS = 256;

class InMemoryStore implements MemoryStore {
  readonly name = "memory";
  readonly #maxKeys: number;
  readonly #clock: Clock;
  readonly #originUs: number;
  readonly #tables: LRUCache<string, BucketTable>;
  /** The same by policy object, since to make a name at each call would cost more than the decision. */
  #tablesByPolicy = new WeakMap<Policy, BucketTable>();

  constructor(maxKeys: number, clock: Clock) {
    this.#maxKeys = maxKeys;
    this.#clock = clock;
    this.#tables = new LRUCache({ max: MOST_TABLES });
    this.#originUs = Math.round((clock.wallMs() - clock.monotonicMs()) * 1000);
  }

  async take(call: TakeCall): Promise<TakeReply> {
    const reply = this.takeNow(call);
    const costs = refusedCosts(call, reply.served);
    const buckets = reply.buckets.map((reading, i) => detached(reading, call.buckets[i] as TakeBucket, costs[i] ?? []));
    return { ...reply, buckets };
  }

  /** The states in the reply are the live ones: read them before the next call. */
  takeNow(call: TakeCall): TakeReply {
    const nowUs = this.#nowUs();
    const open = call.buckets.map((bucket) => this.#open(bucket, nowUs));
    const { served, leases } = applyTake(open, call.runs, nowUs);
    const buckets = open.map(({ state }, i): BucketReading => ({ kind: "state", state, lease: leases[i] }));
    return { nowUs, buckets, served };
  }

  async peek(addresses: readonly BucketAddress[]): Promise<PeekReply> {
    const nowUs = this.#nowUs();
    const buckets = addresses.map(({ key, policy: { shape }, policy }): BucketReading => {
      const kept = this.#tableOf(policy).peek(key);
      const state = kept === undefined ? algorithmOf(shape).open(shape, nowUs) : copyOf(kept);
      advance(state, shape, nowUs);
      return { kind: "state", state, lease: undefined };
    });
    return { nowUs, buckets };
  }

  async adjust(adjustments: readonly Adjustment[]): Promise<PeekReply> {
    const nowUs = this.#nowUs();
    const buckets = adjustments.map((adjustment): BucketReading => {
      const { state, shape } = this.#open(adjustment, nowUs);
      algorithmOf(shape).adjust(state, shape, adjustment.tokens);
      return { kind: "state", state: summaryOf(state, shape, []), lease: undefined };
    });
    return { nowUs, buckets };
  }

  async block(addresses: readonly BucketAddress[], durationUs: number): Promise<PeekReply> {
    const nowUs = this.#nowUs();
    const buckets = addresses.map((address): BucketReading => {
      const { state, shape } = this.#open(address, nowUs);
      block(state, durationUs, nowUs);
      return { kind: "state", state: summaryOf(state, shape, []), lease: undefined };
    });
    return { nowUs, buckets };
  }

  async reset(addresses: readonly BucketAddress[]): Promise<void> {
    const nowUs = this.#nowUs();
    for (const address of addresses) {
      const { state, shape } = this.#open(address, nowUs);
      reset(state, shape);
    }
  }

  async close(): Promise<void> {
    for (const table of this.#tables.values()) table.clear();
  }

  #open(
    { key, policy, report }: BucketAddress & Partial<Pick<TakeBucket, "report">>,
    nowUs: number,
  ): OpenBucket & { readonly state: BucketState } {
    const { shape } = policy;
    const table = this.#tableOf(policy);
    let state = table.get(key);
    if (state === undefined) {
      state = algorithmOf(shape).open(shape, nowUs);
      table.add(key, state);
    }
    const quietUs = state.kind === "token-bucket" ? Math.max(0, nowUs - state.timeUs) : 0;
    advance(state, shape, nowUs);
    return { state, shape, report, quietUs };
  }

  /** Policies of one name and algorithm share a table, as they share keys in Redis. */
  #tableOf(policy: Policy): BucketTable {
    const known = this.#tablesByPolicy.get(policy);
    if (known !== undefined) return known;
    const id = `${policy.name}:${policy.algorithm}`;
    const table = this.#tables.get(id) ?? this.#addTable(id);
    this.#tablesByPolicy.set(policy, table);
    return table;
  }

  /** Whoever uses a policy has to ask for its table anew: it counts as used by that, and one that made room is not used on. */
  #addTable(id: string): BucketTable {
    const table = new BucketTable(this.#maxKeys, this.#tables.size < ROOMY_TABLES ? this.#maxKeys : FEW_KEYS);
    this.#tables.set(id, table);
    this.#tablesByPolicy = new WeakMap();
    return table;
  }

  #nowUs(): number {
    return this.#originUs + Math.round(this.#clock.monotonicMs() * 1000);
  }
}

function detached(reading: BucketReading, { policy }: TakeBucket, costs: readonly number[]): BucketReading {
  return reading.kind === "fault" ? reading : { ...reading, state: summaryOf(reading.state, policy.shape, costs) };
}
