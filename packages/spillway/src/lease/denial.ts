import { blockedUs } from "../algorithms/block.ts";
import { algorithmOf, type BucketState } from "../algorithms/bucket.ts";
import { blockedStatus, refused } from "../decide.ts";
import type { PolicyStatus, RefusedDecision } from "../decision.ts";
import type { Policy } from "../policy.ts";
import type { PolicySet } from "../policy-set.ts";

/**
 * How long a remembered refusal is trusted at most: a reset or refund that another process makes is seen within it, and a
 * hot refused key asks the store about once in this time.
 */
export const LONGEST_TRUST_MS = 1000;

/**
 * What the store said when it last refused a key. It answers for the store only what must still be true: others take
 * tokens, so a cost that had to wait then cannot fit earlier than the wait that was told. Cheaper costs are not refused by it.
 */
export class Denial {
  /** Whether the key is blocked: then it refuses every cost, and nothing is spent that is on lease. */
  readonly isBlocked: boolean;
  readonly storeUs: number;
  readonly #set: PolicySet;
  readonly #states: readonly BucketState[];
  readonly #seenMs: number;
  readonly #leastWaitMs: number;

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
  }

  /** Whether it can be forgotten. */
  isOver(nowMs: number): boolean {
    return nowMs - this.#seenMs >= LONGEST_TRUST_MS;
  }

  /** The refusal that the store would still give, or `undefined` when only the store can tell. */
  refuse(key: string, costs: readonly number[], nowMs: number): RefusedDecision | undefined {
    const elapsedUs = this.#elapsedUs(nowMs);
    if (elapsedUs < 0 || elapsedUs >= LONGEST_TRUST_MS * 1000) return undefined;
    if (this.#isBlockedAfter(elapsedUs)) return refused(key, costs, this.statuses(costs, nowMs), "denial-cache");
    let refuses = false;
    for (let i = 0; i < costs.length; i++) {
      if (this.#waitUs(i, costs[i] as number) <= elapsedUs) continue;
      if (!this.#knowsWait(i, costs[i] as number)) return undefined;
      refuses = true;
    }
    if (!refuses) return undefined;
    return refused(key, costs, this.statuses(costs, nowMs), "denial-cache");
  }

  /** How the policies stand for somebody who asks for `costs` now and is refused. */
  statuses(costs: readonly number[], nowMs: number): PolicyStatus[] {
    const elapsedUs = Math.max(0, this.#elapsedUs(nowMs));
    return this.#set.policies.map((policy, i) => this.#statusOf(policy, i, costs[i] as number, elapsedUs));
  }

  #isBlockedAfter(elapsedUs: number): boolean {
    return this.isBlocked && this.#states.some((state) => blockedUs(state, this.storeUs) > elapsedUs);
  }

  /** In whole microseconds: else a caller that comes back when it was told would still find the rest of a float to wait. */
  #elapsedUs(nowMs: number): number {
    return Math.round((nowMs - this.#seenMs) * 1000);
  }

  #waitUs(index: number, cost: number): number {
    const { shape } = this.#set.policies[index] as Policy;
    const waitUs = algorithmOf(shape).waitUs(this.#states[index] as BucketState, shape, cost, this.storeUs);
    return cost > 0 ? Math.max(waitUs, this.#leastWaitMs * 1000) : 0;
  }

  #knowsWait(index: number, cost: number): boolean {
    const { shape } = this.#set.policies[index] as Policy;
    return algorithmOf(shape).knowsWait?.(this.#states[index] as BucketState, shape, cost) ?? true;
  }

  /** Time passes in a status without the bucket being touched: what it told comes nearer. */
  #statusOf(
    { name, limit, periodMs, capacity, shape }: Policy,
    index: number,
    cost: number,
    elapsedUs: number,
  ): PolicyStatus {
    const algorithm = algorithmOf(shape);
    const state = this.#states[index] as BucketState;
    const left = (tokens: number): number =>
      Math.max(0, algorithm.waitUs(state, shape, tokens, this.storeUs) - elapsedUs) / 1000;
    const remaining = algorithm.remaining(state, shape);
    const status: PolicyStatus = {
      policy: name,
      limit,
      periodMs,
      remaining,
      refillAfterMs: left(Math.min(capacity, remaining + 1)),
      resetAfterMs: left(capacity),
      retryAfterMs: Math.max(0, this.#waitUs(index, cost) - elapsedUs) / 1000,
    };
    const leftUs = blockedUs(state, this.storeUs) - elapsedUs;
    return leftUs > 0 ? blockedStatus(status, leftUs / 1000) : status;
  }
}
