/** The family of fields that a reading comes from. */
export type QuotaFields = "ratelimit" | "ratelimit-reset" | "x-ratelimit" | "x-rate-limit" | "anthropic";

/** What a response tells about one quota. What it does not tell, or tells in a form that cannot be read, is left out. */
export interface QuotaReading {
  /**
   * Where it was read: `"ratelimit"` (the Internet-Draft's fields, revisions 07 to 11), `"ratelimit-reset"` (the separate
   * fields of revisions 00 to 06), or fields with names of their own. `resetAfterMs` of the last three mostly is the time
   * until all is there again, of the first the time until more is.
   */
  readonly from: QuotaFields;
  /** The server's name for it, where it has one: `"burst"`, `"tokens"`. */
  readonly policy?: string;
  /** Quota per period. */
  readonly limit?: number;
  readonly periodMs?: number;
  /** What is left, rounded down. */
  readonly remaining?: number;
  /** Finite, at least 0, at most 2^53 - 1: cut it down to what a caller may wait. */
  readonly resetAfterMs?: number;
  /** What is counted, where it is not requests: `"content-bytes"`, `"concurrent-requests"`. */
  readonly unit?: string;
  /** Base64 of what stands for the caller within the policy. */
  readonly partitionKey?: string;
  /** What the request that was answered has cost. */
  readonly cost?: number;
}

/** A reading while it is put together. */
export type Draft = { -readonly [Member in keyof QuotaReading]?: QuotaReading[Member] | undefined };

/** The reading without the members that nothing is known of; `undefined` for one that tells no number. */
export function completed(from: QuotaFields, draft: Draft): QuotaReading | undefined {
  const { limit, periodMs, remaining, resetAfterMs } = draft;
  if (limit === undefined && remaining === undefined && resetAfterMs === undefined && periodMs === undefined)
    return undefined;
  const known = Object.entries(draft).filter(([, value]) => value !== undefined);
  return { from, ...Object.fromEntries(known) };
}

/** A quantity: a number of at least 0, rounded down. `undefined` for anything else. */
export function quantity(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 ? Math.floor(value) : undefined;
}
