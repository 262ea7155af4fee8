import { type HeaderFields, headerLines, withoutOuterSpaces } from "./header-lines.ts";
import { readHttpDate } from "./http-date.ts";
import { serverClock } from "./server-clock.ts";
import { waitOf } from "./wait-time.ts";

/** How a wait is told later than it is, so that callers who were refused together do not come back together. */
export interface RetryAfterOptions {
  /** The most that is added, in ms; nothing is ever taken away. Defaults to 0. */
  readonly jitterMs?: number;
  /** A number from 0 to 1. Defaults to `Math.random`. */
  readonly random?: () => number;
}

/**
 * The value of `Retry-After`: whole seconds, rounded up, at least 1, so that it never names an instant before the true wait,
 * nor one later than `jitterMs` and a second after it.
 * @returns `undefined` where no wait can be promised (`Infinity`, not a number): send no field then.
 */
export function writeRetryAfter(waitMs: number, options: RetryAfterOptions = NO_JITTER): string | undefined {
  if (!(waitMs <= Number.MAX_SAFE_INTEGER)) return undefined;
  const laterMs = Math.max(0, waitMs) + addedMs(options);
  const seconds = Math.ceil(Math.min(laterMs, Number.MAX_SAFE_INTEGER) / 1000);
  if (latest.seconds !== seconds) latest = { seconds, text: String(Math.max(1, seconds)) };
  return latest.text;
}

/** Refusals within a second tell the same. */
let latest = { seconds: 0, text: "1" };

const NO_JITTER: RetryAfterOptions = {};

function addedMs({ jitterMs = 0, random = Math.random }: RetryAfterOptions): number {
  if (!(jitterMs > 0)) return 0;
  const share = random();
  return share > 0 ? Math.min(share, 1) * jitterMs : 0;
}

/**
 * Reads `Retry-After`: whole seconds, or an HTTP date in any of its three forms.
 * @param nowMs the caller's clock, milliseconds since 1970; for a date, the response's own `Date` is the better one.
 * @returns the wait in ms, finite and at least 0 (a date in the past), or `undefined` for a missing or malformed value.
 */
export function readRetryAfter(value: string | null | undefined, nowMs: number): number | undefined {
  if (typeof value !== "string") return undefined;
  const text = withoutOuterSpaces(value);
  if (/^[0-9]+$/.test(text)) return waitOf(Number(text) * 1000);
  const at = readHttpDate(text, nowMs);
  return at === undefined ? undefined : waitOf(at - nowMs);
}

/**
 * Reads `retry-after-ms`, which OpenAI and Azure send beside `Retry-After`: milliseconds, rounded up if there is a fraction.
 * @returns the wait in ms, finite and at least 0, or `undefined` for a missing or malformed value.
 */
export function readRetryAfterMs(value: string | null | undefined): number | undefined {
  if (typeof value !== "string") return undefined;
  const text = withoutOuterSpaces(value);
  return /^[0-9]+(?:\.[0-9]+)?$/.test(text) ? waitOf(Number(text)) : undefined;
}

/**
 * The wait that a response asks for: `retry-after-ms` if it can be read, else `Retry-After`, its date by the response's own
 * `Date` where there is one.
 * @param nowMs the caller's clock, milliseconds since 1970.
 * @returns the wait in ms, finite and at least 0, or `undefined` when the response asks for none that can be read.
 */
export function readRetryAfterFields(headers: HeaderFields, nowMs: number): number | undefined {
  const lines = headerLines(headers);
  const exactMs = readRetryAfterMs(lines.get("retry-after-ms"));
  return exactMs ?? readRetryAfter(lines.get("retry-after"), serverClock(lines, nowMs));
}
