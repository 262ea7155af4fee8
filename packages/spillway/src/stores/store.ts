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
  /** How long they may live in the escrow; those of a window end with it, see `leaseLifeUs`. */
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
 * What a process says of itself now and then. Shares are parts of each limit, in billionths; there are two of them, and a process
 * uses a mix: one that follows demand, one that is the same for all.
 */
export interface Beat {
  /** The same in all beats of one process: 1 to 100 characters, not `*`. */
  readonly id: string;
  /** Rises from beat to beat. One that is not above the last is an old acquaintance: it changes nothing, and is answered alike. */
  readonly number: number;
  /** Not heard of for so long, a process counts no more. Up to a quarter more may pass before the others notice. */
  readonly lifeMs: number;
  /** The most that it uses from now on by what it was offered earlier; replies to earlier beats count no more. */
  readonly share: number;
  readonly even: number;
  /** How much is asked of it: whole, in any unit that all use. */
  readonly demand: number;
  /** How many processes there are at least, as far as it was told: from 1. The part of those not counted yet is kept for them. */
  readonly replicas: number;
  /** Whether it goes now, and uses nothing any more. */
  readonly leaves: boolean;
}

/** The answer to a {@link Beat}. */
export interface Allotment {
  /** Processes at work, this one included unless it leaves. */
  readonly replicas: number;
  /** What this process may use from now on, by demand. */
  readonly share: number;
  /** What it may use of what is the same for all. */
  readonly even: number;
  /** What it would be given by demand if nobody held it still. */
  readonly due: number;
  /** The demand of all processes together. */
  readonly demand: number;
}

/**
 * Where buckets live. Each method is one atomic step per group of keys, is decided on the store's clock, and is sent at most
 * once: a call whose reply is lost is never repeated. Rejections are `SpillwayError`s. `storeContract` of `spillway/testing`
 * tests an implementation.
 */
export interface Store {
  /** What it is, as `stats()` and error messages name it. */
  readonly name: string;
  /** The same object for stores that are one: of the same server and with the same keys. Left out: each is one of its own. */
  readonly scope?: object;
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
  /**
   * Lets nobody be served from buckets for `durationUs` from now on, whatever the cost and whatever they hold, and leases
   * nothing of them. It takes the place of a block that there is; 0 ends one. All addresses are of one group.
   */
  block(addresses: readonly BucketAddress[], durationUs: number): Promise<PeekReply>;
  /** Makes buckets as if unused and not blocked, but for tokens out on lease; heals unreadable ones. All addresses are of one group. */
  reset(addresses: readonly BucketAddress[]): Promise<void>;
  /**
   * Says that a process is at work, and what it may use of each limit while the store is away. What is offered to all of them
   * sums to at most the whole, whatever becomes of beats and replies; a process that is not heard of for its life has left.
   * Left out: the limiter's `replicas` option alone says how many processes there are.
   */
  allotShares?(beat: Beat): Promise<Allotment>;
  /** Frees what the store itself made, never what it was given. Idempotent. */
  close(): Promise<void>;
}
