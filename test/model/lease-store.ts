import assert from "node:assert/strict";
import {
  algorithmOf,
  type BucketShape,
  type BucketState,
  copyOf,
} from "../../packages/spillway/src/algorithms/bucket.ts";
import type { TokenBucketShape, TokenBucketState } from "../../packages/spillway/src/algorithms/token-bucket.ts";
import type {
  Adjustment,
  BucketAddress,
  BucketReading,
  LeaseReport,
  PeekReply,
  TakeBucket,
  TakeCall,
  TakeReply,
} from "../../packages/spillway/src/stores/store.ts";
import { applyTake, type OpenBucket } from "../../packages/spillway/src/stores/take.ts";
import type { StoreRules } from "./lease-rules.ts";

/** What was done to the store and what came of it, for whoever repeats it elsewhere. */
export type Operation =
  | { readonly kind: "take"; readonly nowUs: number; readonly call: TakeCall; readonly reply: TakeReply }
  | {
      readonly kind: "adjust";
      readonly nowUs: number;
      readonly adjustments: readonly Adjustment[];
      readonly reply: PeekReply;
    }
  | { readonly kind: "reset"; readonly nowUs: number; readonly addresses: readonly BucketAddress[] };

type Opened = OpenBucket & { readonly state: BucketState };

interface Entry {
  readonly state: BucketState;
  readonly shape: BucketShape;
  readonly lifeMs: number;
  /** The last millisecond in which the key is there. */
  readonly diesMs: number;
}

/** Hooks of whoever watches. */
export interface LeaseStoreWatch {
  /** After each write of a bucket. */
  onWrite(address: BucketAddress, state: BucketState): void;
  onOperation?(operation: Operation, store: LeaseStore): void;
}

/** The store as pure arithmetic, of any kind of bucket, with keys that die when Redis would let them die. It reads no clock. */
export class LeaseStore {
  readonly #rules: StoreRules;
  readonly #watch: LeaseStoreWatch;
  readonly #entries = new Map<string, Entry>();

  constructor(rules: StoreRules, watch: LeaseStoreWatch) {
    this.#rules = rules;
    this.#watch = watch;
  }

  take(call: TakeCall, nowUs: number): TakeReply {
    assert.equal(new Set(call.buckets.map(idOf)).size, call.buckets.length, "a call names a bucket twice");
    const open = call.buckets.map((bucket) => this.#open(bucket, nowUs, bucket.report));
    const { served, leases } = applyTake(open, call.runs, nowUs);
    const refused = new Set(
      call.runs
        .flatMap(({ count, charges }, run) => ((served[run] as number) < count ? charges : []))
        .map((c) => c.bucket),
    );
    const buckets = call.buckets.map((address, i): BucketReading => {
      const { state, shape } = open[i] as Opened;
      let lease = leases[i];
      if (this.#rules.grant !== undefined && address.report !== undefined && !refused.has(i))
        lease = this.#rules.grant(state, shape, address.report, nowUs);
      this.#write(address, state, nowUs);
      return { kind: "state", state: copyOf(state), lease };
    });
    const reply = { nowUs, buckets, served };
    this.#watch.onOperation?.({ kind: "take", nowUs, call, reply }, this);
    return reply;
  }

  adjust(adjustments: readonly Adjustment[], nowUs: number): PeekReply {
    const buckets = adjustments.map((adjustment): BucketReading => {
      const { state, shape } = this.#open(adjustment, nowUs, undefined);
      this.#rules.adjust(state, shape, adjustment.tokens);
      this.#write(adjustment, state, nowUs);
      return { kind: "state", state: copyOf(state), lease: undefined };
    });
    const reply = { nowUs, buckets };
    this.#watch.onOperation?.({ kind: "adjust", nowUs, adjustments, reply }, this);
    return reply;
  }

  reset(addresses: readonly BucketAddress[], nowUs: number): void {
    for (const address of addresses) {
      const { state, shape } = this.#open(address, nowUs, undefined);
      this.#rules.reset(state, shape);
      this.#write(address, state, nowUs);
    }
    this.#watch.onOperation?.({ kind: "reset", nowUs, addresses }, this);
  }

  /** How a bucket stands at `nowUs` under its address's policy; nothing is written. */
  stateAt(address: BucketAddress, nowUs: number): BucketState {
    return this.#open(address, nowUs, undefined).state;
  }

  /** The same of a token bucket. */
  bucketAt(address: BucketAddress, nowUs: number): TokenBucketState {
    const state = this.stateAt(address, nowUs);
    if (state.kind !== "token-bucket") throw new Error("A token bucket was expected.");
    return state;
  }

  /** What the last write left, and the life it gave; `undefined` when the key was never written or is forgotten. */
  record(address: BucketAddress): { readonly state: BucketState; readonly lifeMs: number } | undefined {
    return this.#entries.get(idOf(address));
  }

  /** The last millisecond of a key that is there. */
  deathMsOf(address: BucketAddress): number | undefined {
    return this.#entries.get(idOf(address))?.diesMs;
  }

  /** The bucket is gone, as after a failover to a server that never had it. */
  lose(address: BucketAddress): void {
    this.#entries.delete(idOf(address));
  }

  #open(address: BucketAddress, nowUs: number, report: LeaseReport | undefined): Opened {
    const rules = this.#rules;
    const { shape } = address.policy;
    const id = idOf(address);
    const kept = this.#entries.get(id);
    // A dead key goes when it is written anew, as in Redis when it is touched: looking at it for the test does not bury it.
    const entry = kept !== undefined && Math.floor(nowUs / 1000) > kept.diesMs ? undefined : kept;
    const state = entry === undefined ? algorithmOf(shape).open(shape, nowUs) : copyOf(entry.state);
    const quietUs = state.kind === "token-bucket" ? Math.max(0, nowUs - state.timeUs) : 0;
    const settleAll = (): void => {
      for (const settlement of report?.settlements ?? []) rules.settle?.run(state, shape, settlement);
    };
    if (rules.settle?.beforeRefill === true) settleAll();
    rules.advance(state, shape, nowUs, entry?.shape ?? shape);
    if (rules.settle?.beforeRefill === false) settleAll();
    return { state, shape, report: report && this.#left(report), quietUs };
  }

  /** A report without what the rules did themselves. */
  #left(report: LeaseReport): LeaseReport {
    const { settle, grant } = this.#rules;
    if (settle === undefined && grant === undefined) return report;
    const settlements = settle === undefined ? report.settlements : [];
    return { ...report, settlements, wish: grant === undefined ? report.wish : 0 };
  }

  #write(address: BucketAddress, state: BucketState, nowUs: number): void {
    const { shape } = address.policy;
    const lifeMs = this.#rules.expiryMs(state, shape, nowUs);
    // A bucket that was never leased or measured is stored without its escrow.
    if (state.kind === "token-bucket" && state.newer.id === 0 && state.demand === 0) {
      state.older.deathUs = 0;
      state.newer.deathUs = 0;
    }
    this.#entries.set(idOf(address), { state, shape, lifeMs, diesMs: Math.floor(nowUs / 1000) + lifeMs });
    this.#watch.onWrite(address, state);
  }
}

/** Of a policy that is a token bucket. */
export function shapeOf({ policy }: BucketAddress): TokenBucketShape {
  if (policy.shape.kind !== "token-bucket") throw new Error("A token bucket was expected.");
  return policy.shape;
}

function idOf({ key, policy }: TakeBucket | BucketAddress): string {
  return `${policy.name}:${key}`;
}
