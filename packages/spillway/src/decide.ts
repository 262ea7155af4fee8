import { blockedUs } from "./algorithms/block.ts";
import { algorithmOf, type BucketState } from "./algorithms/bucket.ts";
import type {
  AllowedDecision,
  Decision,
  DecisionSource,
  PolicyStatus,
  RefusalReason,
  RefusedDecision,
} from "./decision.ts";
import type { Policy } from "./policy.ts";

/** How a policy stands with `state` at `nowUs`, for a caller who asks for `cost`. */
export function statusOf(policy: Policy, state: BucketState, cost: number, nowUs: number): PolicyStatus {
  const { name, limit, periodMs, capacity, shape } = policy;
  const algorithm = algorithmOf(shape);
  const remaining = algorithm.remaining(state, shape);
  const status: PolicyStatus = {
    policy: name,
    limit,
    periodMs,
    remaining,
    refillAfterMs: asMs(algorithm.waitUs(state, shape, Math.min(capacity, remaining + 1), nowUs)),
    resetAfterMs: asMs(algorithm.waitUs(state, shape, capacity, nowUs)),
    retryAfterMs: asMs(algorithm.waitUs(state, shape, cost, nowUs)),
  };
  return state.block === undefined ? status : blockedStatus(status, blockedUs(state, nowUs) / 1000);
}

/** How a policy stands whose bucket is blocked for so long: there is nothing to be had of it, at any cost. */
export function blockedStatus(status: PolicyStatus, blockedForMs: number): PolicyStatus {
  return {
    ...status,
    remaining: 0,
    refillAfterMs: Math.max(status.refillAfterMs, blockedForMs),
    resetAfterMs: Math.max(status.resetAfterMs, blockedForMs),
    retryAfterMs: Math.max(status.retryAfterMs, blockedForMs),
    blockedForMs,
  };
}

function asMs(waitUs: number): number {
  return Math.max(0, waitUs) / 1000;
}

/** An admission. The binding policy is the one with the least left. */
export function allowed(
  key: string,
  costs: readonly number[],
  policies: readonly PolicyStatus[],
  source: DecisionSource,
): AllowedDecision {
  let binding = policies[0] as PolicyStatus;
  for (let i = 1; i < policies.length; i++) {
    const status = policies[i] as PolicyStatus;
    if (status.remaining < binding.remaining) binding = status;
  }
  return {
    allowed: true,
    key,
    costs,
    policy: binding.policy,
    limit: binding.limit,
    remaining: binding.remaining,
    resetAfterMs: binding.resetAfterMs,
    source,
    degraded: isDegraded(source),
    policies,
  };
}

/** A refusal. The binding policy is the one with the longest wait. */
export function refused(
  key: string,
  costs: readonly number[],
  policies: readonly PolicyStatus[],
  source: DecisionSource,
): RefusedDecision {
  let binding = policies[0] as PolicyStatus;
  for (let i = 1; i < policies.length; i++) {
    const status = policies[i] as PolicyStatus;
    if (status.retryAfterMs > binding.retryAfterMs) binding = status;
  }
  return {
    allowed: false,
    key,
    costs,
    policy: binding.policy,
    limit: binding.limit,
    remaining: binding.remaining,
    resetAfterMs: binding.resetAfterMs,
    source,
    degraded: isDegraded(source),
    policies,
    reason: reasonOf(binding.retryAfterMs, policies),
    retryAfterMs: binding.retryAfterMs,
  };
}

function reasonOf(retryAfterMs: number, policies: readonly PolicyStatus[]): RefusalReason {
  if (retryAfterMs === Number.POSITIVE_INFINITY) return "never";
  return policies.some(({ blockedForMs }) => blockedForMs !== undefined) ? "blocked" : "limited";
}

/** What a caller is told of a refusal in a dry run. */
export function waive(refusal: RefusedDecision): AllowedDecision {
  const { allowed: _, reason: __, retryAfterMs: ___, ...rest } = refusal;
  return { ...rest, allowed: true, waived: refusal };
}

/** Which of its policies a decision names; by its figures, since the name may stand there for several keys. */
export function bindingOf(decision: Decision): number {
  const { policy, policies } = decision;
  return policies.findIndex(
    (status) =>
      status.policy === policy &&
      (decision.allowed ? status.remaining === decision.remaining : status.retryAfterMs === decision.retryAfterMs),
  );
}

function isDegraded(source: DecisionSource): boolean {
  return source === "backstop" || source === "open" || source === "closed";
}
