export type { AlgorithmName } from "./algorithms/bucket.ts";
export type { Clock, Timer } from "./clock.ts";
export type { AllowedDecision, Decision, DecisionSource, PolicyStatus, RefusalReason, RefusedDecision } from "./decision.ts";
export type { Duration } from "./duration.ts";
export { isSpillwayError, SpillwayError, type SpillwayErrorCode } from "./errors.ts";
export type { PolicyOptions, StoreFailureMode } from "./policy.ts";
export type { ConsumeOptions, Cost, PeekResult, PoliciesOption, RateLimiter, RateLimiterOptions } from "./rate-limiter.ts";
export type { LimiterStats } from "./stats.ts";
