import { algorithmOf, type BucketState } from "../algorithms/bucket.ts";
import { allowed, refused, statusOf } from "../decide.ts";
import type { Decision, DecisionSource, PolicyStatus } from "../decision.ts";
import type { Policy, StoreFailureMode } from "../policy.ts";
import { advanceOwed, newOwed, type Owed, owedTokens } from "./owed.ts";
import {
  addRefill,
  isSamePolicy,
  isUnseenForLong,
  reserve,
  SharesOfPolicies,
  settle,
  startBucket,
} from "./policy-share.ts";
import { type WindowShape, windowShareOf, windowSince } from "./window-share.ts";

/** What one bucket has left of this process's share while the store cannot answer, and what went in on it. */
export interface BackstopBucket {
  readonly key: string;
  readonly policy: Policy;
  /** What decides on it while the store is away. */
  readonly mode: StoreFailureMode;
  readonly state: BucketState;
  /** What the store does not know of. */
  owed: Owed;
  /** The part of the limit that the state was last brought up to date for. */
  share: number;
  /** When it was last looked at. */
  seenUs: number;
  /** Filled so much later than it might have, since the store may be there after all. */
  withheldMs: number;
  /** Another one of the same key. */
  next: BackstopBucket | undefined;
}

/** How the store last said that the windows of a key stand: what a share of them begins with. */
export interface LastView {
  /** One per policy, changed by nobody any more. */
  readonly states: readonly BucketState[];
  /** The store's clock then. */
  readonly storeUs: number;
  /** This process's monotonic clock then. */
  readonly seenMs: number;
}

/** What is known when a bucket is first decided for without the store. */
export interface BackstopStart {
  /** When the key was last decided for; minus infinity when nothing is known of it. */
  readonly decidedMs: number;
  readonly view: LastView | undefined;
  /** Since when the store is known to be away. */
  readonly awaySinceMs: number;
  /** How long after that leases that somebody holds are in the way; 0 where nothing is leased. */
  readonly leaseMs: number;
  /** How much longer the bucket is kept from filling until the store is known to be away: see `release`. */
  readonly withheldMs: number;
}

/** Decides for this process alone. Refusals are free and policies are charged together, as in the store. */
export class Backstop {
  readonly #share: (awaySinceMs: number) => number;
  readonly #defaultMode: StoreFailureMode;
  /** Policies as this process alone may use them. */
  readonly #own = new SharesOfPolicies();

  /** @param share what part of each limit this process may use, from 0 to 1, when the store is away since `awaySinceMs`. */
  constructor(share: (awaySinceMs: number) => number, defaultMode: StoreFailureMode) {
    this.#share = share;
    this.#defaultMode = defaultMode;
  }

  /**
   * What a bucket starts an outage with. A token bucket has what its share has brought since the store went away and all leases
   * were over: all shares together then never hold more than the store would. A window starts with this process's part of what was
   * left in it. A key that this process has not seen for as long as its bucket takes to fill has one token at least, and one
   * that it has not seen for long or ever has its share of the burst.
   * @param index of the policy in the view.
   */
  open(key: string, policy: Policy, index: number, start: BackstopStart, nowMs: number): BackstopBucket {
    const { awaySinceMs, leaseMs, withheldMs } = start;
    const share = this.#share(awaySinceMs);
    const nowUs = Math.floor(nowMs * 1000);
    const own = this.#own.of(policy, share);
    const state = windowSeen(policy, own, share, start, index, nowUs) ?? algorithmOf(own.shape).open(own.shape, nowUs);
    const filledUs = (nowMs - awaySinceMs - leaseMs - withheldMs) * 1000;
    startBucket(state, own, filledUs, leastTokens(policy, start, nowMs));
    const mode = this.#modeOf(policy);
    return {
      key,
      policy,
      mode,
      state,
      owed: newOwed(policy, nowUs),
      share,
      seenUs: nowUs,
      withheldMs,
      next: undefined,
    };
  }

  /** Whether a bucket, which another limiter may have opened, is that of a policy here: with the same numbers, in the same mode. */
  isOf(bucket: BackstopBucket, policy: Policy): boolean {
    return isSamePolicy(bucket.policy, policy) && bucket.mode === this.#modeOf(policy);
  }

  /** The store is away for sure: a bucket gets what was withheld until then. */
  release(bucket: BackstopBucket): void {
    const { shape } = this.#own.of(bucket.policy, bucket.share);
    addRefill(bucket.state, shape, bucket.withheldMs * 1000);
    bucket.withheldMs = 0;
  }

  /**
   * @param buckets one per cost.
   * @param isSuspended whether shares must not be used now; policies that are open without the store are.
   */
  decide(
    key: string,
    costs: readonly number[],
    buckets: readonly BackstopBucket[],
    awaySinceMs: number,
    nowUs: number,
    isSuspended = false,
  ): Decision {
    const own = this.#advanceAll(buckets, awaySinceMs, nowUs);
    const never = costs.map((cost, i) => cost > bucketAt(buckets, i).policy.capacity);
    const refusals = own.map((policy, i) => {
      const bucket = bucketAt(buckets, i);
      const cost = costs[i] as number;
      return never[i] || refuses(policy, bucket, cost) || (isSuspended && bucket.mode === "backstop" && cost > 0);
    });
    const admitted = !refusals.includes(true);
    if (admitted) this.#admit(own, costs, buckets);
    const statuses = statusesOf(own, costs, buckets, refusals, nowUs);
    if (admitted) return allowed(key, costs, statuses, sourceOf(buckets));
    const final = statuses.map((status, i) => (never[i] ? { ...status, retryAfterMs: Infinity } : status));
    return refused(key, costs, final, bucketAt(buckets, refusals.indexOf(true)).mode);
  }

  /**
   * Holds a caller to the share although the store can be asked: the refusal, or `undefined` when the share has room. What is
   * admitted then is charged with `charge`. Only policies whose share decides in an outage are held to it.
   */
  hold(
    key: string,
    costs: readonly number[],
    buckets: readonly BackstopBucket[],
    awaySinceMs: number,
    nowUs: number,
  ): Decision | undefined {
    const own = this.#advanceAll(buckets, awaySinceMs, nowUs);
    const refusals = own.map((policy, i) => {
      const bucket = bucketAt(buckets, i);
      const cost = costs[i] as number;
      return bucket.mode === "backstop" && cost <= bucket.policy.capacity && refuses(policy, bucket, cost);
    });
    if (!refusals.includes(true)) return undefined;
    return refused(key, costs, statusesOf(own, costs, buckets, refusals, nowUs), "backstop");
  }

  /** Charges the share for what went in by the store: the store knows of it, so it is not owed. */
  charge(costs: readonly number[], buckets: readonly BackstopBucket[]): void {
    this.#eachHeld(costs, buckets, ({ shape }, { state }, cost) => algorithmOf(shape).charge(state, shape, cost));
  }

  /** The same for a caller who is going to ask the store, and waits until `deathUs` at most. */
  reserve(costs: readonly number[], buckets: readonly BackstopBucket[], deathUs: number): void {
    this.#eachHeld(costs, buckets, ({ shape }, { state }, cost) => reserve(state, shape, cost, deathUs));
  }

  /** What came of a reservation: it is spent, or goes back. */
  settle(costs: readonly number[], buckets: readonly BackstopBucket[], isSpent: boolean): void {
    this.#eachHeld(costs, buckets, ({ shape }, { state }, cost) => settle(state, shape, cost, isSpent));
  }

  #eachHeld(
    costs: readonly number[],
    buckets: readonly BackstopBucket[],
    run: (own: Policy, bucket: BackstopBucket, cost: number) => void,
  ): void {
    for (const [i, bucket] of buckets.entries()) {
      const cost = costs[i] as number;
      if (cost > 0 && bucket.mode === "backstop") run(this.#own.of(bucket.policy, bucket.share), bucket, cost);
    }
  }

  /**
   * Tokens that the store is to be told of, now that the outage is over; they count as told from now on.
   * @param unnoticedMs for how long the store may have been back already.
   */
  takeOwed(bucket: BackstopBucket, awaySinceMs: number, unnoticedMs: number, nowUs: number): number {
    const own = this.#advance(bucket, this.#share(awaySinceMs), nowUs);
    const { owed, policy, mode, state, share } = bucket;
    bucket.owed = newOwed(policy, nowUs);
    if (mode === "open") return Math.min(owed.admitted, policy.capacity);
    if (state.kind !== "token-bucket")
      return Math.max(0, Math.min(owed.admitted, own.capacity - algorithmOf(own.shape).remaining(state, own.shape)));
    return owedTokens(owed, policy, share, unnoticedMs);
  }

  #advanceAll(buckets: readonly BackstopBucket[], awaySinceMs: number, nowUs: number): readonly Policy[] {
    const share = this.#share(awaySinceMs);
    return buckets.map((bucket) => this.#advance(bucket, share, nowUs));
  }

  /** Brings a bucket to now; refill since the last time is by the smaller of the shares then and now. */
  #advance(bucket: BackstopBucket, share: number, nowUs: number): Policy {
    bucket.seenUs = nowUs;
    if (share > bucket.share) this.#advanceBy(bucket.share, bucket, nowUs);
    bucket.share = share;
    return this.#advanceBy(share, bucket, nowUs);
  }

  #advanceBy(share: number, { policy, state, owed }: BackstopBucket, nowUs: number): Policy {
    const own = this.#own.of(policy, share);
    algorithmOf(own.shape).advance(state, own.shape, nowUs);
    advanceOwed(owed, policy, share, nowUs);
    return own;
  }

  #admit(own: readonly Policy[], costs: readonly number[], buckets: readonly BackstopBucket[]): void {
    for (const [i, policy] of own.entries()) {
      const cost = costs[i] as number;
      const { mode, state, owed } = bucketAt(buckets, i);
      owed.admitted += cost;
      owed.unrefilled += cost;
      if (mode === "backstop") algorithmOf(policy.shape).charge(state, policy.shape, cost);
    }
  }

  #modeOf(policy: Policy): StoreFailureMode {
    return policy.onStoreFailure ?? this.#defaultMode;
  }
}

function bucketAt(buckets: readonly BackstopBucket[], index: number): BackstopBucket {
  return buckets[index] as BackstopBucket;
}

function refuses({ shape }: Policy, { mode, state }: BackstopBucket, cost: number): boolean {
  if (mode === "closed") return cost > 0;
  return mode === "backstop" && !algorithmOf(shape).fits(state, shape, cost);
}

function sourceOf(buckets: readonly BackstopBucket[]): DecisionSource {
  return buckets.some(({ mode }) => mode === "backstop") ? "backstop" : "open";
}

/** A window's share where the store has told how the whole stands. */
function windowSeen(
  { shape }: Policy,
  own: Policy,
  share: number,
  { view, awaySinceMs, leaseMs }: BackstopStart,
  index: number,
  nowUs: number,
): BucketState | undefined {
  const seen = view?.states[index];
  if (view === undefined || seen === undefined || seen.kind === "token-bucket") return undefined;
  if (seen.kind !== shape.kind || own.shape.kind === "token-bucket") return undefined;
  const aheadUs = view.storeUs - Math.round(view.seenMs * 1000);
  const unseenMs = Math.min(leaseMs, Math.max(0, awaySinceMs - view.seenMs));
  const since = windowSince(seen, shape as WindowShape, 1 - share, view.storeUs, unseenMs * 1000, leaseMs * 1000);
  return windowShareOf(since, shape as WindowShape, own.shape, share, aheadUs, nowUs);
}

function leastTokens(policy: Policy, { decidedMs }: BackstopStart, nowMs: number): number {
  const { shape } = policy;
  if (shape.kind !== "token-bucket") return 0;
  if ((nowMs - decidedMs) * 1000 < shape.fullUs) return Number.NEGATIVE_INFINITY;
  return isUnseenForLong(policy, decidedMs, nowMs) ? Number.POSITIVE_INFINITY : 1;
}

function statusesOf(
  own: readonly Policy[],
  costs: readonly number[],
  buckets: readonly BackstopBucket[],
  refusals: readonly boolean[],
  nowUs: number,
): PolicyStatus[] {
  return own.map((policy, i) =>
    told(statusOf(policy, bucketAt(buckets, i).state, costs[i] as number, nowUs), refusals[i] === true),
  );
}

/** The wait that a refused caller is told; where the share alone gives none, when to look again for the store. */
function told(status: PolicyStatus, refuses: boolean): PolicyStatus {
  if (!refuses) return { ...status, retryAfterMs: 0 };
  if (status.retryAfterMs > 0 && Number.isFinite(status.retryAfterMs)) return status;
  return { ...status, retryAfterMs: 1000 };
}
