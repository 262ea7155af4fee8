import { blockedUs } from "../algorithms/block.ts";
import { algorithmOf, type BucketState } from "../algorithms/bucket.ts";
import { leasedOfWindow } from "../algorithms/window-lease.ts";
import { blockedStatus, refused } from "../decide.ts";
import type { PolicyStatus, RefusedDecision } from "../decision.ts";
import type { Policy } from "../policy.ts";
import type { PolicySet } from "../policy-set.ts";

/**
 * How long a remembered refusal is trusted at most: a reset or refund that another process makes is seen within it, and a
 * hot refused key asks the store about once in this time.
 */
export const LONGEST_TRUST_MS = 1000;

/** The same while tokens of a window are out on lease: what their holders do not spend comes back, and was not in the wait told. */
const LEASED_TRUST_MS = 100;

/**
 * What the store said when it last refused a key. It answers for the store only what must still be true: others take
 * tokens, so a cost that had to wait then cannot fit earlier than the wait that was told. Cheaper costs are not refused by it.
 */
export class Denial {
  /** Whether the key is blocked: then it refuses every cost, and nothing is spent that is on lease. */
  readonly isBlocked: boolean;
  readonly storeUs: number;
  /** Worked out for `#askedCosts`, since most callers of a key ask for the same. */
  #asked: readonly Told[] = [];
  #askedCosts: readonly number[] | undefined;
  readonly #set: PolicySet;
  readonly #states: readonly BucketState[];
  readonly #seenMs: number;
  readonly #leastWaitMs: number;
  readonly #trustMs: number;

  /**
   * @param states how each bucket stood at `storeUs` on the store's clock; kept, not copied.
   * @param seenMs when the reply came, on this process's monotonic clock.
   * @param leastWaitMs the hold that a contended bucket asks for, 0 for none: nobody of this process asks again before.
   */
  constructor(set: PolicySet, states: readonly BucketState[], storeUs: number, seenMs: number, leastWaitMs: number) {
    this.#set = set;
    this.#states = states;
    this.storeUs = storeUs;
    this.isBlocked = states.some(({ block }) => block !== undefined);
    this.#seenMs = seenMs;
    this.#leastWaitMs = leastWaitMs;
    this.#trustMs = states.some((state) => leasedOfWindow(state) > 0) ? LEASED_TRUST_MS : LONGEST_TRUST_MS;
  }

  /** Whether it can be forgotten. */
  isOver(nowMs: number): boolean {
    return nowMs - this.#seenMs >= this.#trustMs;
  }

  /** The refusal that the store would still give, or `undefined` when only the store can tell. */
  refuse(key: string, costs: readonly number[], nowMs: number): RefusedDecision | undefined {
    const elapsedUs = this.#elapsedUs(nowMs);
    if (elapsedUs < 0 || elapsedUs >= this.#trustMs * 1000) return undefined;
    if (this.#isBlockedAfter(elapsedUs)) return refused(key, costs, this.statuses(costs, nowMs), "denial-cache");
    const told = this.#toldFor(costs);
    let refuses = false;
    for (let i = 0; i < told.length; i++) {
      const one = told[i] as Told;
      if (one.waitUs <= elapsedUs) continue;
      if (!one.knowsWait) return undefined;
      refuses = true;
    }
    if (!refuses) return undefined;
    return refused(key, costs, statusesOf(told, elapsedUs), "denial-cache");
  }

  /** How the policies stand for somebody who asks for `costs` now and is refused. */
  statuses(costs: readonly number[], nowMs: number): PolicyStatus[] {
    return statusesOf(this.#toldFor(costs), Math.max(0, this.#elapsedUs(nowMs)));
  }

  #isBlockedAfter(elapsedUs: number): boolean {
    return this.isBlocked && this.#states.some((state) => blockedUs(state, this.storeUs) > elapsedUs);
  }

  /** In whole microseconds: else a caller that comes back when it was told would still find the rest of a float to wait. */
  #elapsedUs(nowMs: number): number {
    return Math.round((nowMs - this.#seenMs) * 1000);
  }

  #toldFor(costs: readonly number[]): readonly Told[] {
    if (costs !== this.#askedCosts) {
      this.#askedCosts = costs;
      this.#asked = this.#set.policies.map((policy, i) => this.#toldOf(policy, i, costs[i] as number));
    }
    return this.#asked;
  }

  #toldOf(policy: Policy, index: number, cost: number): Told {
    const { capacity, shape } = policy;
    const algorithm = algorithmOf(shape);
    const state = this.#states[index] as BucketState;
    const waitUs = (tokens: number): number => algorithm.waitUs(state, shape, tokens, this.storeUs);
    const remaining = algorithm.remaining(state, shape);
    return {
      policy,
      remaining,
      refillUs: waitUs(Math.min(capacity, remaining + 1)),
      resetUs: waitUs(capacity),
      waitUs: cost > 0 ? Math.max(waitUs(cost), this.#leastWaitMs * 1000) : 0,
      knowsWait: algorithm.knowsWait?.(state, shape, cost) ?? true,
      blockUs: blockedUs(state, this.storeUs),
    };
  }
}

/** What the store has said of one policy to somebody who asks for a certain cost. Waits are from the time of its answer. */
interface Told {
  readonly policy: Policy;
  readonly remaining: number;
  readonly refillUs: number;
  readonly resetUs: number;
  readonly waitUs: number;
  /** Whether it can be told by more than the wait alone that the cost does not fit. */
  readonly knowsWait: boolean;
  /** How long the key is blocked; 0 when it is not. */
  readonly blockUs: number;
}

/** Time passes in a status without the bucket being touched: what it told comes nearer. */
function statusesOf(told: readonly Told[], elapsedUs: number): PolicyStatus[] {
  const statuses: PolicyStatus[] = [];
  for (let i = 0; i < told.length; i++) {
    const { policy, remaining, refillUs, resetUs, waitUs, blockUs } = told[i] as Told;
    const status: PolicyStatus = {
      policy: policy.name,
      limit: policy.limit,
      periodMs: policy.periodMs,
      remaining,
      refillAfterMs: leftMs(refillUs, elapsedUs),
      resetAfterMs: leftMs(resetUs, elapsedUs),
      retryAfterMs: leftMs(waitUs, elapsedUs),
    };
    statuses.push(blockUs > elapsedUs ? blockedStatus(status, leftMs(blockUs, elapsedUs)) : status);
  }
  return statuses;
}

function leftMs(waitUs: number, elapsedUs: number): number {
  return Math.max(0, waitUs - elapsedUs) / 1000;
}
