/** Who decided: a leased token, the store, a remembered refusal, or what stands in for a store that cannot answer. */
export type DecisionSource = "lease" | "store" | "denial-cache" | "backstop" | "open" | "closed";

/** `"limited"`: over the limit for now. `"never"`: the cost cannot fit, whenever. `"blocked"`: shut out by `block(key)`. */
export type RefusalReason = "limited" | "never" | "blocked";

/** How one policy stands after a decision. */
export interface PolicyStatus {
  readonly policy: string;
  readonly limit: number;
  readonly periodMs: number;
  /** Whole tokens left: a lower bound of what the caller may take next. */
  readonly remaining: number;
  /** Time until at least one more token is there; 0 when full. */
  readonly refillAfterMs: number;
  /** Time until the policy is as if unused. */
  readonly resetAfterMs: number;
  /** Time until the same cost fits this policy: 0 when it did, `Infinity` when it never can. */
  readonly retryAfterMs: number;
  /** Time until the block of the key ends; absent without one. Meanwhile nothing remains, and no wait is shorter. */
  readonly blockedForMs?: number;
}

interface DecisionBase {
  /** Whose request it was; the key of the binding policy where a request is about several. */
  readonly key: string;
  /** The key of each policy, for a request that is about several keys; absent for one. */
  readonly keys?: readonly string[];
  /** The cost asked for, one per policy in the order of `policies`. */
  readonly costs: readonly number[];
  /** The name of the binding policy: the one that refuses longest or, when admitted, has the least left. */
  readonly policy: string;
  readonly limit: number;
  readonly remaining: number;
  readonly resetAfterMs: number;
  readonly source: DecisionSource;
  /** Whether the store had no part in it, because it cannot answer. */
  readonly degraded: boolean;
  readonly policies: readonly PolicyStatus[];
}

/** The request goes in, and its cost is taken from every policy. */
export interface AllowedDecision extends DecisionBase {
  readonly allowed: true;
  /** In a dry run: the refusal that was waived. Nothing was taken from any policy. */
  readonly waived?: RefusedDecision;
}

/** The request stays out, and no policy is charged. */
export interface RefusedDecision extends DecisionBase {
  readonly allowed: false;
  readonly reason: RefusalReason;
  /** When to come back; `Infinity` for `"never"`. A caller that comes back alone after it is admitted. */
  readonly retryAfterMs: number;
}

export type Decision = AllowedDecision | RefusedDecision;
