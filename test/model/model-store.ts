import assert from "node:assert/strict";
import { block, blockedUs } from "../../packages/spillway/src/algorithms/block.ts";
import {
  advance,
  algorithmOf,
  type BucketShape,
  type BucketState,
  copyOf,
  reset,
  summaryOf,
} from "../../packages/spillway/src/algorithms/bucket.ts";
import { escrowed } from "../../packages/spillway/src/algorithms/token-bucket.ts";
import { bucketKey } from "../../packages/spillway/src/stores/redis/key-layout.ts";
import type {
  Adjustment,
  BucketAddress,
  LeaseGrant,
  LeaseReport,
  TakeCall,
} from "../../packages/spillway/src/stores/store.ts";
import { applyTake, type OpenBucket } from "../../packages/spillway/src/stores/take.ts";
import { type StoredValue, stateOfStored, storedValueOf } from "./stored-value.ts";

/** No bucket is kept longer: a hundred years. */
const LONGEST_LIFE_MS = 3_153_600_000_000;

/** How a bucket stands in a reply, as far as replies tell. */
export type ModelReading =
  | { readonly kind: "fault" }
  | { readonly kind: "state"; readonly state: BucketState; readonly lease: LeaseGrant | undefined };

export interface ModelReply {
  readonly nowUs: number;
  readonly buckets: readonly ModelReading[];
  readonly served?: readonly number[];
}

/** What the model says a store keeps for a bucket. */
export interface ModelRecord {
  readonly stored: StoredValue;
  /** The expiry of the last write, from then on. */
  readonly lifeMs: number;
}

interface Entry {
  state: BucketState;
  lifeMs: number;
  /** The last millisecond in which the key is there. */
  diesMs: number;
  /** The policies that the bucket has lived under. */
  readonly shapes: Set<BucketShape>;
  readonly lastShape: BucketShape;
}

/**
 * What every store must do, as arithmetic of `algorithms/` and `stores/take.ts` on the time that the store's reply carries.
 * Keys die as Redis lets them die, and each death is checked: nothing that still mattered may be lost with it.
 */
export class ModelStore {
  readonly #entries = new Map<string, Entry>();
  readonly #faults = new Set<string>();
  readonly #prefix: string;
  readonly #expires: boolean;

  constructor(prefix: string, expires: boolean) {
    this.#prefix = prefix;
    this.#expires = expires;
  }

  take({ buckets, runs }: TakeCall, nowUs: number): ModelReply {
    const open = buckets.map(({ key, policy, report }) => this.#open({ key, policy }, nowUs, report));
    const { served, leases } = applyTake(open, runs, nowUs);
    for (const [index, address] of buckets.entries()) this.#write(address, open[index]?.state, nowUs);
    const readings = open.map(({ state }, index) => readingOf(state, leases[index]));
    return { nowUs, buckets: readings, served };
  }

  peek(addresses: readonly BucketAddress[], nowUs: number): ModelReply {
    return { nowUs, buckets: addresses.map((address) => readingOf(this.#open(address, nowUs).state)) };
  }

  adjust(adjustments: readonly Adjustment[], nowUs: number): ModelReply {
    const buckets = adjustments.map((address) => {
      const { state, shape } = this.#open(address, nowUs);
      if (state !== undefined) algorithmOf(shape).adjust(state, shape, address.tokens);
      this.#write(address, state, nowUs);
      return readingOf(state);
    });
    return { nowUs, buckets };
  }

  block(addresses: readonly BucketAddress[], durationUs: number, nowUs: number): ModelReply {
    const buckets = addresses.map((address) => {
      const { state } = this.#open(address, nowUs);
      if (state !== undefined) block(state, durationUs, nowUs);
      this.#write(address, state, nowUs);
      return readingOf(state);
    });
    return { nowUs, buckets };
  }

  reset(addresses: readonly BucketAddress[], nowUs: number): void {
    for (const address of addresses) {
      this.#faults.delete(this.keyOf(address));
      const { state, shape } = this.#open(address, nowUs);
      reset(state as BucketState, shape);
      this.#write(address, state, nowUs);
    }
  }

  /** Somebody else's value takes the place of a bucket. */
  spoil(address: BucketAddress): void {
    this.#entries.delete(this.keyOf(address));
    this.#faults.add(this.keyOf(address));
  }

  keyOf(address: BucketAddress): string {
    return bucketKey(this.#prefix, address);
  }

  /** How a bucket stands at `nowUs`, for those who plan the next step; `undefined` when it cannot be read. */
  stateAt(address: BucketAddress, nowUs: number): BucketState | undefined {
    return this.#open(address, nowUs).state;
  }

  /** The last millisecond of a key, if it is there. */
  deathMsOf(address: BucketAddress): number | undefined {
    return this.#entries.get(this.keyOf(address))?.diesMs;
  }

  /** What must be stored, by Redis key. */
  records(): Map<string, ModelRecord> {
    const records = new Map<string, ModelRecord>();
    for (const [key, { state, lifeMs }] of this.#entries) records.set(key, { stored: storedValueOf(state), lifeMs });
    return records;
  }

  #open({ key, policy }: BucketAddress, nowUs: number, report?: LeaseReport): OpenBucket {
    const { shape } = policy;
    const id = this.keyOf({ key, policy });
    if (this.#faults.has(id)) return { state: undefined, shape, report, quietUs: 0 };
    const entry = this.#entryAt(id, nowUs);
    const state = entry === undefined ? algorithmOf(shape).open(shape, nowUs) : copyOf(entry.state);
    const quietUs = state.kind === "token-bucket" ? Math.max(0, nowUs - state.timeUs) : 0;
    advance(state, shape, nowUs);
    return { state, shape, report, quietUs };
  }

  #entryAt(id: string, nowUs: number): Entry | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined || Math.floor(nowUs / 1000) <= entry.diesMs) return entry;
    requireNothingLost(id, entry, nowUs);
    this.#entries.delete(id);
    return undefined;
  }

  #write(address: BucketAddress, state: BucketState | undefined, nowUs: number): void {
    if (state === undefined) return;
    const { shape } = address.policy;
    const id = this.keyOf(address);
    const blockMs = Math.ceil(blockedUs(state, nowUs) / 1000) + 1;
    const lifeMs = Math.max(algorithmOf(shape).expiryMs(state, shape, nowUs), blockMs);
    const shapes = this.#entries.get(id)?.shapes ?? new Set();
    shapes.add(shape);
    this.#entries.set(id, {
      state: stateOfStored(storedValueOf(state)),
      lifeMs,
      diesMs: this.#expires ? Math.floor(nowUs / 1000) + lifeMs : Number.POSITIVE_INFINITY,
      shapes,
      lastShape: shape,
    });
  }
}

/**
 * A key may die only when its bucket is as if unused: under each policy that it has lived under, of which a window knows the
 * last one only, and a log those whose period it still keeps.
 */
function requireNothingLost(id: string, { state, shapes, lastShape, lifeMs }: Entry, nowUs: number): void {
  if (lifeMs === LONGEST_LIFE_MS) return;
  for (const shape of shapes) {
    const isForgotten = state.kind === "sliding-window-log" && "periodUs" in shape && shape.periodUs > state.keepUs;
    const isWindow = state.kind === "fixed-window" || state.kind === "sliding-window-counter";
    if (isForgotten || (isWindow && shape !== lastShape)) continue;
    const kept = copyOf(state);
    const algorithm = algorithmOf(shape);
    advance(kept, shape, nowUs);
    assert.equal(kept.block, undefined, `${id} expired before its block ended`);
    const left = algorithm.remaining(kept, shape) + (kept.kind === "token-bucket" ? escrowed(kept) : 0);
    assert.equal(left, algorithm.capacity(shape), `${id} expired before it was full under ${show(shape)}`);
  }
}

function show(shape: BucketShape): string {
  return JSON.stringify(shape);
}

/** The part of a state that replies carry. */
function readingOf(state: BucketState | undefined, lease?: LeaseGrant): ModelReading {
  if (state === undefined) return { kind: "fault" };
  return { kind: "state", state: copyOf(state), lease };
}

/**
 * A reading without what replies do not tell: when a block began, demand, ids of leases, the death of what is dead already, the longest time to
 * full and the longest period, which are known to the store alone, and the entries of a log that no caller waits for.
 * @param shape what a log is read under.
 * @param costs those that the call refused on the bucket.
 */
export function told(
  reading: ModelReading | { readonly kind: "fault"; readonly error: Error },
  shape?: BucketShape,
  costs: readonly number[] = [],
): ModelReading {
  if (reading.kind === "fault") return { kind: "fault" };
  const state = shape === undefined ? copyOf(reading.state) : summaryOf(reading.state, shape, costs);
  if (state.block !== undefined) state.block.fromUs = 0;
  if (state.kind === "token-bucket") {
    state.demand = 0;
    state.fullUs = 0;
    for (const escrow of [state.older, state.newer]) {
      escrow.id = 0;
      if (escrow.tokens === 0) escrow.deathUs = 0;
    }
  }
  if ("lease" in state && state.lease !== undefined) state.lease.id = 0;
  if (state.kind === "sliding-window-log") Object.assign(state, { keepUs: 0, keepTokens: 0, keptUs: 0 });
  return { kind: "state", state, lease: reading.lease };
}
