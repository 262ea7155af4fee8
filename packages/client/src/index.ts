export { type IncomingHeaders, type OnBehalfOfOptions, onBehalfOf } from "./caller-context.ts";
export { type Client, createClient } from "./client.ts";
// What `fetch` throws when it refuses a call or its time is over.
export { ClientError, type ClientErrorCode } from "./client-error.ts";
export type {
  BreakerChange,
  BreakerOptions,
  BudgetOptions,
  CallOptions,
  ClientOptions,
  HeaderOptions,
  RetryEvent,
  RetryOptions,
  ScopeRequest,
  ShouldRetryFacts,
  ThrottleOptions,
} from "./client-options.ts";
export type { ClientStats, Metric, OriginStats } from "./client-stats.ts";
// What became of a call: how many attempts, which waits, and why there was no other.
export {
  type AnsweredOutcome,
  type Attempt,
  type FailedOutcome,
  type Outcome,
  outcomeOf,
  type RefusedOutcome,
  type StopReason,
} from "./outcome.ts";
