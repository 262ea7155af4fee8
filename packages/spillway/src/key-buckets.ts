import type { BucketState } from "./algorithms/bucket.ts";
import { statusOf } from "./decide.ts";
import type { Decision, PolicyStatus } from "./decision.ts";
import { invalidArgument } from "./errors.ts";
import type { Policy } from "./policy.ts";
import { type PolicySet, requireCost } from "./policy-set.ts";
import type { Adjustment, BucketAddress, PeekReply } from "./stores/store.ts";

/** Where the buckets of a key are, one per policy. */
export function addressesOf(key: string, policies: readonly Policy[]): BucketAddress[] {
  return policies.map((policy) => ({ key, policy }));
}

/**
 * What a store has read, one state per bucket.
 * @throws SpillwayError when a bucket could not be read.
 */
export function statesOf({ buckets }: PeekReply): BucketState[] {
  return buckets.map((reading) => {
    if (reading.kind !== "state") throw reading.error;
    return reading.state;
  });
}

/**
 * How the policies of a key stand for somebody who asks for `costs`.
 * @throws SpillwayError when a bucket could not be read.
 */
export function statusesOf(policies: readonly Policy[], costs: readonly number[], reply: PeekReply): PolicyStatus[] {
  const states = statesOf(reply);
  return policies.map((policy, i) => statusOf(policy, states[i] as BucketState, costs[i] as number, reply.nowUs));
}

/** @throws TypeError | RangeError for what cannot have come from `consume`, whatever became of it on its way. */
export function requireDecision(decision: unknown): asserts decision is Decision {
  const { costs, policies } = (decision ?? {}) as Partial<Decision>;
  if (!Array.isArray(costs) || !Array.isArray(policies))
    throw invalidArgument("decision", "what consume gave", decision);
  for (const cost of costs) requireCost(cost, "cost in a decision");
}

/** What an admitted decision took, to be given back. Policies are found by name: those of the key may be others by now. */
export function refundOf({ key, keys, costs, policies }: Decision, setOf: (key: string) => PolicySet): Adjustment[] {
  const adjustments: Adjustment[] = [];
  for (const [i, status] of policies.entries()) {
    const whose = keys?.[i] ?? key;
    const policy = setOf(whose).policies.find((one) => one.name === status?.policy);
    const tokens = costs[i] as number;
    if (policy !== undefined && tokens > 0) adjustments.push({ key: whose, policy, tokens });
  }
  return adjustments;
}
