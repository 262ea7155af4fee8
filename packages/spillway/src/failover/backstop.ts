import { algorithmOf, type BucketShape, type BucketState } from "../algorithms/bucket.ts";
import { tokenBucketShape } from "../algorithms/token-bucket.ts";
import { allowed, refused, statusOf } from "../decide.ts";
import type { Decision, DecisionSource, PolicyStatus } from "../decision.ts";
import type { Policy, StoreFailureMode } from "../policy.ts";
import type { PolicySet } from "../policy-set.ts";

/** What one key has left of this process's share while the store cannot answer; made at its first degraded decision. */
export type BackstopBuckets = BucketState[];

/** This process's share of a policy: 1/replicas of its rate and of its burst, but never less than one token at a time. */
export function backstopPolicy(policy: Policy, replicas: number): Policy {
  const shape = backstopShape(policy, replicas);
  return { ...policy, shape, capacity: algorithmOf(shape).capacity(shape) };
}

function backstopShape({ shape, limit, periodUs }: Policy, replicas: number): BucketShape {
  // This process's clock does not know where windows of the store begin: a share lasts a period from its first use.
  if (shape.kind === "fixed-window")
    return { ...shape, limit: Math.max(1, Math.floor(limit / replicas)), aligned: false };
  return tokenBucketShape(limit, periodUs * replicas, Math.max(1, shape.burst / replicas));
}

/**
 * Decides for this process alone. Refusals are free and policies are charged together, as in the store; and a cost that could
 * never fit is refused for good in every mode.
 */
export class Backstop {
  readonly #replicas: number;
  readonly #defaultMode: StoreFailureMode;
  readonly #shares = new WeakMap<Policy, Policy>();

  constructor(replicas: number, defaultMode: StoreFailureMode) {
    this.#replicas = replicas;
    this.#defaultMode = defaultMode;
  }

  /**
   * What a key starts an outage with. One that the store has just decided for starts empty, so that going over to the shares
   * and back adds no burst; one that nobody here has seen for as long as it takes to fill starts with its share of the burst.
   * @param quietUs since the store last decided for the key; `Infinity` when it never did.
   */
  open(set: PolicySet, quietUs: number, nowUs: number): BackstopBuckets {
    return set.policies.map((policy) => {
      const { shape } = this.#shareOf(policy);
      const state = algorithmOf(shape).open(shape, nowUs);
      if (state.kind === "token-bucket" && policy.shape.kind === "token-bucket" && quietUs < policy.shape.fullUs)
        state.level = 0;
      return state;
    });
  }

  /** @param buckets of this key, as `open` made them. */
  decide(key: string, costs: readonly number[], set: PolicySet, buckets: BackstopBuckets, nowUs: number): Decision {
    const shares = set.policies.map((policy) => this.#shareOf(policy));
    for (const [index, { shape }] of shares.entries())
      algorithmOf(shape).advance(buckets[index] as BucketState, shape, nowUs);
    const never = costs.map((cost, index) => cost > (set.policies[index] as Policy).capacity);
    const refusals = shares.map(
      (share, index) => never[index] || this.#refuses(share, buckets[index], costs[index] as number),
    );
    const admitted = !refusals.includes(true);
    if (admitted) this.#charge(shares, costs, buckets);
    const statuses = shares.map((share, index) =>
      told(statusOf(share, buckets[index] as BucketState, costs[index] as number, nowUs), refusals[index] === true),
    );
    if (admitted) return allowed(key, costs, statuses, this.#sourceOf(shares));
    const final = statuses.map((status, index) => (never[index] ? { ...status, retryAfterMs: Infinity } : status));
    return refused(key, costs, final, this.#modeOf(shares[refusals.indexOf(true)] as Policy));
  }

  #refuses(share: Policy, state: BucketState | undefined, cost: number): boolean {
    const mode = this.#modeOf(share);
    if (mode === "closed") return cost > 0;
    return mode === "backstop" && !algorithmOf(share.shape).fits(state as BucketState, share.shape, cost);
  }

  #charge(shares: readonly Policy[], costs: readonly number[], buckets: BackstopBuckets): void {
    for (const [index, share] of shares.entries()) {
      if (this.#modeOf(share) === "backstop")
        algorithmOf(share.shape).charge(buckets[index] as BucketState, share.shape, costs[index] as number);
    }
  }

  #sourceOf(shares: readonly Policy[]): DecisionSource {
    return shares.some((share) => this.#modeOf(share) === "backstop") ? "backstop" : "open";
  }

  #modeOf(policy: Policy): StoreFailureMode {
    return policy.onStoreFailure ?? this.#defaultMode;
  }

  #shareOf(policy: Policy): Policy {
    let share = this.#shares.get(policy);
    if (share === undefined) {
      share = backstopPolicy(policy, this.#replicas);
      this.#shares.set(policy, share);
    }
    return share;
  }
}

/** The wait that a refused caller is told; where the share alone gives none, when to look again for the store. */
function told(status: PolicyStatus, refuses: boolean): PolicyStatus {
  if (!refuses) return { ...status, retryAfterMs: 0 };
  if (status.retryAfterMs > 0 && Number.isFinite(status.retryAfterMs)) return status;
  return { ...status, retryAfterMs: 1000 };
}
