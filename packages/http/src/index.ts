// Who is calling: one text per caller, and keys of several parts.
export { type AddressGrouping, type AddressGroupingOptions, createAddressGrouping } from "./client-address.ts";
// Dates as Retry-After and other fields carry them.
export { readHttpDate } from "./http-date.ts";
export { joinKey } from "./join-key.ts";
// Bodies of refusals.
export {
  abnormalUsageDetected,
  PROBLEM_CONTENT_TYPE,
  type ProblemDetails,
  type ProblemDocument,
  quotaExceeded,
  temporaryReducedCapacity,
} from "./problem-document.ts";
// The fields on every answer: the functions for now and then, the writer for each request.
export {
  type PolicySetFields,
  type QuotaPolicy,
  type QuotaStatus,
  RateLimitWriter,
  writeRateLimit,
  writeRateLimitPolicy,
} from "./rate-limit-fields.ts";
// The field on refusals, both ways.
export { readRetryAfter, writeRetryAfter } from "./retry-after.ts";
