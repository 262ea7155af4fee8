import type { BucketState } from "../algorithms/bucket.ts";
import type { SpillwayError } from "../errors.ts";
import type { Policy } from "../policy.ts";

/** Which bucket: one policy's count for one key. */
export interface BucketAddress {
  readonly key: string;
  readonly policy: Policy;
}

/** A bucket of a call, with what its lease holder has to say of it. */
export interface TakeBucket extends BucketAddress {
  readonly report: LeaseReport | undefined;
}

/** A lease holder's report and wish for one bucket. */
export interface LeaseReport {
  /** Tokens wished for, to be spent locally; 0 for a report alone. */
  readonly wish: number;
  /** How long they may live in the escrow. */
  readonly lifeUs: number;
  /** Tokens that this holder's callers asked for since its last report. */
  readonly demand: number;
  /** The same, decayed over the smoothing time: this holder's weight among all. */
  readonly weight: number;
  readonly settlements: readonly Settlement[];
}

/** Leased tokens that are over: of `settled`, `returned` were not spent and go back. */
export interface Settlement {
  readonly id: number;
  readonly settled: number;
  readonly returned: number;
}

/** `count` asks in a row with the same costs. Each is served whole, on all its buckets, or not at all. */
export interface AskRun {
  readonly count: number;
  readonly charges: readonly Charge[];
}

/** A cost on one bucket of the call. */
export interface Charge {
  /** Index into `buckets` of the call. */
  readonly bucket: number;
  readonly cost: number;
}

/** One atomic call: reports are settled first, asks served in order, leases granted last. */
export interface TakeCall {
  readonly buckets: readonly TakeBucket[];
  readonly runs: readonly AskRun[];
}

/** How a bucket stood at the end of the call, or why it could not be read. */
export type BucketReading =
  | { readonly kind: "state"; readonly state: BucketState; readonly lease: LeaseGrant | undefined }
  | { readonly kind: "fault"; readonly error: SpillwayError };

/** The answer to a {@link LeaseReport}. */
export interface LeaseGrant {
  /** What settlements name the lease by; 0 when nothing was granted. */
  readonly id: number;
  readonly tokens: number;
  /** Whether more is asked for than comes in, so that holders are kept to their share. */
  readonly contended: boolean;
}

/** The answer to a {@link TakeCall}. */
export interface TakeReply {
  /** The store's clock at the instant of the call: microseconds since 1970. */
  readonly nowUs: number;
  /** In the order of the call's buckets. */
  readonly buckets: readonly BucketReading[];
  /** For each run how many of its asks were served; always the first ones. An ask on a faulty bucket is not served. */
  readonly served: readonly number[];
}

/** How buckets stand now. */
export interface PeekReply {
  readonly nowUs: number;
  readonly buckets: readonly BucketReading[];
}

/** Tokens to give back (positive) or to take without asking (negative). */
export interface Adjustment extends BucketAddress {
  readonly tokens: number;
}

/**
 * Where buckets live. Each method is one atomic step per group of keys, is decided on the store's clock, and is sent at most
 * once: a call whose reply is lost is never repeated. Rejections are `SpillwayError`s. `storeContract` of `spillway/testing`
 * tests an implementation.
 */
export interface Store {
  /** What it is, as `stats()` and error messages name it. */
  readonly name: string;
  /**
   * Keys of different groups cannot travel in one call (cluster slots). Left out: all can.
   * @returns any number that keys of one group share.
   */
  groupOf?(key: string): number;
  /** The part of the store that fails as one for a key of this group (a cluster node). Left out: there is one. */
  nodeOf?(group: number): string;
  /** Takes, settles and leases. All buckets of the call are of one group. */
  take(call: TakeCall): Promise<TakeReply>;
  /** As `take`, but at once, where the store lives in this process. */
  takeNow?(call: TakeCall): TakeReply;
  /** Reads without changing anything. All addresses are of one group. */
  peek(addresses: readonly BucketAddress[]): Promise<PeekReply>;
  /** Refunds and penalties, atomically. All addresses are of one group. */
  adjust(adjustments: readonly Adjustment[]): Promise<PeekReply>;
  /** Makes buckets as if unused, but for tokens out on lease; heals unreadable ones. All addresses are of one group. */
  reset(addresses: readonly BucketAddress[]): Promise<void>;
  /**
   * Says that process `id` is at work, and returns how many are, itself included; one that is not heard of for `lifeMs` counts
   * no more. Left out: the limiter's `replicas` option alone says how many there are.
   */
  countReplicas?(id: string, lifeMs: number): Promise<number>;
  /** Frees what the store itself made, never what it was given. Idempotent. */
  close(): Promise<void>;
}
