import { LRUCache } from "lru-cache";
import { blockedUs } from "../algorithms/block.ts";
import type { BucketState } from "../algorithms/bucket.ts";
import { blockedStatus, refused } from "../decide.ts";
import type { PolicyStatus, RefusedDecision } from "../decision.ts";
import type { Lane } from "../lease/lane.ts";
import type { Policy } from "../policy.ts";

/**
 * Which buckets the store has last said to be blocked, and until when, for the time when it cannot be asked. At most as many as
 * keys are remembered.
 */
export class BlockedKeys {
  readonly #maxKeys: number;
  /** When a block ends, by policy and key, on this process's monotonic clock. Made for the first block that is met. */
  #untilMs: LRUCache<string, number> | undefined;

  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys;
  }

  /** Takes over what a reply says of the buckets of a lane. */
  note(lane: Lane, states: readonly BucketState[], storeUs: number, nowMs: number): void {
    for (let i = 0; i < states.length; i++) {
      const leftMs = blockedUs(states[i] as BucketState, storeUs) / 1000;
      if (leftMs > 0) {
        this.#untilMs ??= new LRUCache({ max: this.#maxKeys });
        this.#untilMs.set(idOf(lane, i), nowMs + leftMs);
      } else this.#untilMs?.delete(idOf(lane, i));
    }
  }

  /** The key of a lane is as if unused. */
  forget(lane: Lane): void {
    for (let i = 0; i < lane.set.policies.length; i++) this.#untilMs?.delete(idOf(lane, i));
  }

  /** The refusal while one of the lane's buckets is blocked, as far as is known. */
  refuse(lane: Lane, costs: readonly number[], nowMs: number): RefusedDecision | undefined {
    const known = this.#untilMs;
    if (known === undefined || known.size === 0) return undefined;
    const { policies } = lane.set;
    const leftMs = policies.map((_, i) => Math.max(0, (known.get(idOf(lane, i)) ?? nowMs) - nowMs));
    if (leftMs.every((ms) => ms === 0)) return undefined;
    const statuses = policies.map((policy, i) => statusOf(policy, leftMs[i] as number));
    return refused(lane.key, costs, statuses, "backstop");
  }
}

/** Policies of one name are one bucket for a key, as in the store. */
function idOf(lane: Lane, index: number): string {
  return `${(lane.set.policies[index] as Policy).name} ${lane.keyOf(index)}`;
}

/** All that is known of a bucket is its block. */
function statusOf({ name, limit, periodMs }: Policy, leftMs: number): PolicyStatus {
  const status = { policy: name, limit, periodMs, remaining: 0, refillAfterMs: 0, resetAfterMs: 0, retryAfterMs: 0 };
  return leftMs > 0 ? blockedStatus(status, leftMs) : status;
}
