import { readRateLimits } from "@spillway/http";

/** What an answer says of one limit on requests. */
export interface QuotaState {
  readonly policy: string;
  /** Requests left, at least 0. */
  readonly remaining: number;
  /** Time until there are more, at least 0; `undefined` when not told. */
  readonly resetMs: number | undefined;
  /** Requests per `windowMs`; both or neither are known. */
  readonly limit: number | undefined;
  readonly windowMs: number | undefined;
}

const MOST_POLICIES = 16;

/**
 * The limits on requests in the fields of the Internet-Draft, in all their forms. Older fields are left out: their reset
 * mostly is the time until all is there again, and what a provider counts in tokens no request of ours is known to cost.
 * @param wallMs milliseconds since 1970.
 */
export function readQuotas(headers: Headers, wallMs: number): readonly QuotaState[] {
  // Most answers have none, and reading takes a look at every field.
  if (!headers.has("ratelimit") && !headers.has("ratelimit-remaining")) return [];
  return readRateLimits(headers, wallMs)
    .flatMap(({ from, policy = "", remaining, resetAfterMs, limit, periodMs, unit = "requests" }) => {
      const isDraft = from === "ratelimit" || from === "ratelimit-reset";
      if (!isDraft || remaining === undefined || !/^requests?$/.test(unit)) return [];
      const rated = limit !== undefined && limit > 0 && periodMs !== undefined && periodMs > 0;
      const rate = { limit: rated ? limit : undefined, windowMs: rated ? periodMs : undefined };
      return [{ policy, remaining, resetMs: resetAfterMs, ...rate }];
    })
    .slice(0, MOST_POLICIES);
}
