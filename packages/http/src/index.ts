// Who is calling: one text per caller, keys of several parts, and hashes in place of secrets.
export { type CallerKeyFunction, type CallerKeyOptions, createCallerKey } from "./caller-key.ts";
export { type AddressGrouping, type AddressGroupingOptions, createAddressGrouping } from "./client-address.ts";
// The forms that readers take headers in.
export type { HeaderFields } from "./header-lines.ts";
// Dates as Retry-After and other fields carry them.
export { readHttpDate } from "./http-date.ts";
export { joinKey } from "./join-key.ts";
export { createKeyHash, type KeyHash, type KeyHashOptions } from "./key-hash.ts";
// The fields from before the Internet-Draft.
export { type LegacyFields, type LegacyReset, writeLegacyFields } from "./legacy-fields.ts";
// What the middleware asks of requests, responses and limiters, so that it needs no package for their types.
export type { LimitedRequest, LimitedResponse, Next } from "./limited-exchange.ts";
export type {
  AdmissionLike,
  DecisionLike,
  LimiterCallOptions,
  LimiterLike,
  RefusalLike,
  RequestCost,
} from "./limiter-like.ts";
export type { RateLimitMiddlewareOptions, RefusalOf } from "./middleware-options.ts";
// Bodies of refusals.
export {
  abnormalUsageDetected,
  PROBLEM_CONTENT_TYPE,
  type ProblemDetails,
  type ProblemDocument,
  quotaExceeded,
  temporaryReducedCapacity,
} from "./problem-document.ts";
export type { QuotaFields, QuotaReading } from "./quota-reading.ts";
// The fields on every answer: the functions for now and then, the writer for each request.
export {
  type PolicySetFields,
  type QuotaPolicy,
  type QuotaStatus,
  type QuotaUnit,
  RateLimitWriter,
  writeRateLimit,
  writeRateLimitPolicy,
} from "./rate-limit-fields.ts";
// Middleware for Express and node:http, on the same core.
export { type RateLimitMiddleware, rateLimitMiddleware } from "./rate-limit-middleware.ts";
// The same fields as a client reads them, in every form that servers send.
export { readRateLimits } from "./rate-limit-reader.ts";
export { refusalProblem, refusalStatus } from "./refusal-problem.ts";
export { decisionOf } from "./request-note.ts";
// The field on refusals, both ways.
export {
  type RetryAfterOptions,
  readRetryAfter,
  readRetryAfterFields,
  readRetryAfterMs,
  writeRetryAfter,
} from "./retry-after.ts";
