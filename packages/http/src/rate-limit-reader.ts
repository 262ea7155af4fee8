import { readDraftFields } from "./draft-fields-reader.ts";
import { type HeaderFields, headerLines } from "./header-lines.ts";
import { readLegacyFields, readNamedFields } from "./named-fields-reader.ts";
import type { QuotaReading } from "./quota-reading.ts";
import { serverClock } from "./server-clock.ts";

/**
 * Reads what a response tells about the quotas of its caller:
 * - `RateLimit` and `RateLimit-Policy` in the syntax of every revision of the Internet-Draft, 00 to 11;
 * - `X-RateLimit-*` and `X-Rate-Limit-*`, with a reset in seconds from now, as an epoch in seconds or ms, or as a date;
 * - limits per quota: `x-ratelimit-*-requests`, `x-ratelimit-*-tokens` (durations such as `6m0s`), `anthropic-ratelimit-*`.
 *
 * Nothing throws. A number that cannot be read is left out; no wait is negative, `NaN` or infinite. Fields without a quota's
 * name are read only where the draft's fields tell no remaining quota, since they repeat it. A response from a cache
 * (`Age` above 0) tells nothing.
 * @param nowMs the caller's clock, milliseconds since 1970. For a reset that is a date, the response's own `Date` is used
 * where it has one, so that two clocks that differ do no harm.
 */
export function readRateLimits(headers: HeaderFields, nowMs: number): readonly QuotaReading[] {
  const lines = headerLines(headers);
  if (isCached(lines)) return [];
  const serverNowMs = serverClock(lines, nowMs);
  const drafted = readDraftFields(lines, serverNowMs);
  const named = readNamedFields(lines, serverNowMs);
  const isTold = drafted.some(({ remaining }) => remaining !== undefined);
  return [...drafted, ...named, ...(isTold ? [] : readLegacyFields(lines, serverNowMs))];
}

/** Where `Age` was sent twice, the first counts, as RFC 9111 has it. */
function isCached(lines: ReadonlyMap<string, string>): boolean {
  const age = /^\d+(?=[ \t]*(?:,|$))/.exec(lines.get("age") ?? "")?.[0];
  return Number(age ?? 0) > 0;
}
