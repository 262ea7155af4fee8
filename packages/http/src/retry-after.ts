import { readHttpDate } from "./http-date.ts";

/**
 * The value of `Retry-After`: whole seconds, rounded up, at least 1, so that it never names an instant before the true wait.
 * @returns `undefined` where no wait can be promised (`Infinity`, not a number): send no field then.
 */
export function writeRetryAfter(waitMs: number): string | undefined {
  if (!(waitMs <= Number.MAX_SAFE_INTEGER)) return undefined;
  return String(Math.max(1, Math.ceil(waitMs / 1000)));
}

/**
 * Reads `Retry-After`: whole seconds, or an HTTP date in any of its three forms.
 * @param nowMs the caller's clock, milliseconds since 1970; for a date, the response's own `Date` is the better one.
 * @returns the wait in ms, finite and at least 0 (a date in the past), or `undefined` for a missing or malformed value.
 */
export function readRetryAfter(value: string | null | undefined, nowMs: number): number | undefined {
  if (typeof value !== "string") return undefined;
  const text = value.replace(/^[ \t]+|[ \t]+$/g, "");
  if (/^[0-9]+$/.test(text)) return Math.min(Number(text) * 1000, Number.MAX_SAFE_INTEGER);
  const at = readHttpDate(text, nowMs);
  return at === undefined ? undefined : Math.max(0, at - nowMs);
}
