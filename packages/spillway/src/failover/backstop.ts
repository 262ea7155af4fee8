import { algorithmOf, type BucketShape, type BucketState } from "../algorithms/bucket.ts";
import { tokenBucketShape } from "../algorithms/token-bucket.ts";
import { allowed, refused, statusOf } from "../decide.ts";
import type { Decision, DecisionSource, PolicyStatus } from "../decision.ts";
import type { Policy, StoreFailureMode } from "../policy.ts";
import type { PolicySet } from "../policy-set.ts";
import { type WindowShape, windowShare, windowShareOf } from "./window-share.ts";

/** What one key has left of this process's share while the store cannot answer, and what went in on it. */
export interface BackstopBuckets {
  readonly states: readonly BucketState[];
  /** Tokens admitted, one number per policy. */
  readonly admitted: number[];
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

/** This process's share of a policy: 1/replicas of its rate and of its burst, but never less than one token at a time. */
export function backstopPolicy(policy: Policy, replicas: number): Policy {
  const shape = backstopShape(policy, replicas);
  return { ...policy, shape, capacity: algorithmOf(shape).capacity(shape) };
}

function backstopShape({ shape, limit, periodUs }: Policy, replicas: number): BucketShape {
  if (shape.kind !== "token-bucket") return windowShare(shape, replicas);
  return tokenBucketShape(limit, periodUs * replicas, Math.max(1, shape.burst / replicas));
}

/** Decides for this process alone. Refusals are free and policies are charged together, as in the store. */
export class Backstop {
  readonly #replicas: () => number;
  readonly #defaultMode: StoreFailureMode;
  readonly #shares = new WeakMap<Policy, { readonly replicas: number; readonly share: Policy }>();

  /** @param replicas how many processes share the limits, as far as is known now. */
  constructor(replicas: () => number, defaultMode: StoreFailureMode) {
    this.#replicas = replicas;
    this.#defaultMode = defaultMode;
  }

  /**
   * What a key starts an outage with. A token bucket that the store has lately decided for starts empty, so that going over to
   * the shares and back adds no burst; a window starts with this process's part of what was left in it. A key that nobody here
   * has seen for as long as it takes to fill starts with its share of the burst.
   * @param decidedMs when the key was last decided for; minus infinity when nothing is known of it.
   */
  open(set: PolicySet, decidedMs: number, view: LastView | undefined, nowMs: number): BackstopBuckets {
    const nowUs = Math.floor(nowMs * 1000);
    const states = set.policies.map((policy, i) => {
      const share = this.#shareOf(policy);
      const seen = this.#startOfWindow(policy, share, view?.states[i], view, nowUs);
      if (seen !== undefined) return seen;
      const state = algorithmOf(share.shape).open(share.shape, nowUs);
      if (state.kind === "token-bucket" && policy.shape.kind === "token-bucket")
        if ((nowMs - decidedMs) * 1000 < policy.shape.fullUs) state.level = 0;
      return state;
    });
    return { states, admitted: states.map(() => 0) };
  }

  #startOfWindow(
    { shape }: Policy,
    share: Policy,
    seen: BucketState | undefined,
    view: LastView | undefined,
    nowUs: number,
  ): BucketState | undefined {
    if (view === undefined || seen === undefined || seen.kind === "token-bucket") return undefined;
    if (seen.kind !== shape.kind || share.shape.kind === "token-bucket") return undefined;
    const aheadUs = view.storeUs - Math.round(view.seenMs * 1000);
    return windowShareOf(seen, shape as WindowShape, share.shape, this.#replicas(), aheadUs, nowUs);
  }

  /** @param buckets of this key, as `open` made them. */
  decide(key: string, costs: readonly number[], set: PolicySet, buckets: BackstopBuckets, nowUs: number): Decision {
    const shares = set.policies.map((policy) => this.#shareOf(policy));
    this.#advance(shares, buckets, nowUs);
    const never = costs.map((cost, i) => cost > (set.policies[i] as Policy).capacity);
    const refusals = shares.map((share, i) => never[i] || this.#refuses(share, buckets.states[i], costs[i] as number));
    const admitted = !refusals.includes(true);
    if (admitted) this.#charge(shares, costs, buckets);
    const statuses = shares.map((share, i) =>
      told(statusOf(share, buckets.states[i] as BucketState, costs[i] as number, nowUs), refusals[i] === true),
    );
    if (admitted) return allowed(key, costs, statuses, this.#sourceOf(shares));
    const final = statuses.map((status, i) => (never[i] ? { ...status, retryAfterMs: Infinity } : status));
    return refused(key, costs, final, this.#modeOf(shares[refusals.indexOf(true)] as Policy));
  }

  /**
   * What the store is to be told of an outage that is over, one number of tokens per policy: what went in here, but no more than
   * a share that stood unused would have saved up, since the store saved up a burst meanwhile that nobody saw spent.
   */
  owed(set: PolicySet, buckets: BackstopBuckets, nowUs: number): number[] {
    const shares = set.policies.map((policy) => this.#shareOf(policy));
    this.#advance(shares, buckets, nowUs);
    return shares.map(({ shape, capacity }, i) => {
      const state = buckets.states[i] as BucketState;
      const admitted = buckets.admitted[i] as number;
      if (this.#modeOf(set.policies[i] as Policy) === "open")
        return Math.min(admitted, (set.policies[i] as Policy).capacity);
      const isBucket = state.kind === "token-bucket" && shape.kind === "token-bucket";
      const left = isBucket ? state.level / shape.unitsPerToken : algorithmOf(shape).remaining(state, shape);
      return Math.max(0, Math.min(admitted, Math.ceil(capacity - left)));
    });
  }

  #advance(shares: readonly Policy[], buckets: BackstopBuckets, nowUs: number): void {
    for (const [i, { shape }] of shares.entries())
      algorithmOf(shape).advance(buckets.states[i] as BucketState, shape, nowUs);
  }

  #refuses(share: Policy, state: BucketState | undefined, cost: number): boolean {
    const mode = this.#modeOf(share);
    if (mode === "closed") return cost > 0;
    return mode === "backstop" && !algorithmOf(share.shape).fits(state as BucketState, share.shape, cost);
  }

  #charge(shares: readonly Policy[], costs: readonly number[], { states, admitted }: BackstopBuckets): void {
    for (const [i, share] of shares.entries()) {
      const cost = costs[i] as number;
      admitted[i] = (admitted[i] as number) + cost;
      if (this.#modeOf(share) === "backstop")
        algorithmOf(share.shape).charge(states[i] as BucketState, share.shape, cost);
    }
  }

  #sourceOf(shares: readonly Policy[]): DecisionSource {
    return shares.some((share) => this.#modeOf(share) === "backstop") ? "backstop" : "open";
  }

  #modeOf(policy: Policy): StoreFailureMode {
    return policy.onStoreFailure ?? this.#defaultMode;
  }

  #shareOf(policy: Policy): Policy {
    const replicas = this.#replicas();
    const known = this.#shares.get(policy);
    if (known?.replicas === replicas) return known.share;
    const share = backstopPolicy(policy, replicas);
    this.#shares.set(policy, { replicas, share });
    return share;
  }
}

/** The wait that a refused caller is told; where the share alone gives none, when to look again for the store. */
function told(status: PolicyStatus, refuses: boolean): PolicyStatus {
  if (!refuses) return { ...status, retryAfterMs: 0 };
  if (status.retryAfterMs > 0 && Number.isFinite(status.retryAfterMs)) return status;
  return { ...status, retryAfterMs: 1000 };
}
