import type { QuotaStatus } from "./rate-limit-fields.ts";

/** What a request costs: one number for every policy, or one for each by name. */
export type RequestCost = number | Readonly<Record<string, number>>;

/** What is asked of a limiter besides the key. */
export interface LimiterCallOptions {
  readonly cost?: RequestCost;
  readonly signal?: AbortSignal;
}

/** A request that goes in. */
export interface AdmissionLike {
  readonly allowed: true;
  readonly policies: readonly QuotaStatus[];
  /** The refusal that a limiter in a dry run has waived. */
  readonly waived?: RefusalLike;
}

/** A request that stays out. */
export interface RefusalLike {
  readonly allowed: false;
  readonly policies: readonly QuotaStatus[];
  readonly reason: "limited" | "never" | "blocked";
  /** `Infinity` where no wait helps. */
  readonly retryAfterMs: number;
  /** `"closed"`: the store cannot answer, and nobody is let in meanwhile. Such a refusal is answered with 503. */
  readonly source?: string;
}

/** What a limiter decides, as far as an answer needs it. A `Decision` of the package `spillway` is one. */
export type DecisionLike = AdmissionLike | RefusalLike;

/** What decides. A `RateLimiter` of the package `spillway` is one. */
export interface LimiterLike<Decision extends DecisionLike = DecisionLike> {
  /** Decides at once where local state can; `undefined` means that nothing was counted. */
  consumeNow(key: string, options?: LimiterCallOptions): Decision | undefined;
  consume(key: string, options?: LimiterCallOptions): Promise<Decision>;
}
