import { readHttpDate, readRetryAfter, readRetryAfterMs } from "@spillway/http";
import { type BackoffSettings, backoffCeilingMs } from "./backoff.ts";
import { readQuotas } from "./quota-state.ts";

/** What a server asked a caller to wait. */
export interface AskedWait {
  /** Finite, at least 0. */
  readonly ms: number;
  /** 1000 for a wait in whole seconds, which many callers are told alike; 0 for one to the millisecond. */
  readonly precisionMs: number;
}

const SECOND_MS = 1000;

/**
 * What an answer asks its caller to wait: `retry-after-ms`, `Retry-After` in seconds or as a date, else the `t` of a policy
 * in `RateLimit` that has nothing left. A value that is none of these counts as absent. Of two the longer stands, unless one
 * is merely the other rounded up.
 * @param wallMs milliseconds since 1970; dates are measured from the answer's own `Date` where it has one.
 */
export function readAskedWait(headers: Headers, wallMs: number): AskedWait | undefined {
  const fineMs = readRetryAfterMs(headers.get("retry-after-ms"));
  const coarseMs =
    readRetryAfter(headers.get("retry-after"), serverTimeMs(headers, wallMs)) ?? exhaustedMs(headers, wallMs);
  if (fineMs !== undefined && (coarseMs === undefined || coarseMs - fineMs < SECOND_MS))
    return { ms: fineMs, precisionMs: 0 };
  return coarseMs === undefined ? undefined : { ms: coarseMs, precisionMs: SECOND_MS };
}

/**
 * By how much callers who were told the same wait are spread behind it. Never 0 unless jitter is off: whole seconds spread
 * over a second or a tenth of the wait; milliseconds, which a server hands out one by one, by the backoff alone.
 * @param retry 0 for the first.
 */
export function spreadMs({ ms, precisionMs }: AskedWait, settings: BackoffSettings, retry: number): number {
  if (settings.jitter === "none") return 0;
  return Math.max(backoffCeilingMs(settings, retry), precisionMs, precisionMs > 0 ? ms / 10 : 0);
}

function serverTimeMs(headers: Headers, wallMs: number): number {
  const date = headers.get("date");
  return (date === null ? undefined : readHttpDate(date, wallMs)) ?? wallMs;
}

function exhaustedMs(headers: Headers, wallMs: number): number | undefined {
  const waitsMs = readQuotas(headers, wallMs).flatMap(({ remaining, resetMs }) =>
    remaining === 0 && resetMs !== undefined ? [resetMs] : [],
  );
  return waitsMs.length === 0 ? undefined : Math.max(...waitsMs);
}
