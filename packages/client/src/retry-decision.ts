import { type AskedWait, spreadMs } from "./asked-wait.ts";
import { type BackoffSettings, backoffMs } from "./backoff.ts";
import type { StopReason } from "./outcome.ts";

/** What one attempt came to, as far as another one is concerned. */
export type Verdict =
  /** An answer to hand on, good or bad. */
  | { readonly kind: "done" }
  /** Another attempt may do better. `unsent`: the other side has certainly not seen the request. */
  | { readonly kind: "transient"; readonly unsent: boolean }
  /** A failure that another attempt cannot mend. */
  | { readonly kind: "hopeless"; readonly reason: "told-not-to" | "quota-spent" | "not-transient" };

/** What stays the same for all attempts of one call. */
export interface CallTraits {
  /** Whether doing it twice is the same as doing it once: by its method, or by a key that the other side knows it by. */
  readonly idempotent: boolean;
  /** Whether the body can be sent again. */
  readonly replayable: boolean;
  /** Whether a caller further out repeats this call, so that repeating it here too would multiply. */
  readonly nested: boolean;
}

export interface DecisionSettings extends BackoffSettings {
  /** Retries, so one less than attempts. */
  readonly limit: number;
  readonly maxRetryAfterMs: number;
}

export interface AttemptFacts {
  /** 1 for the first. */
  readonly attempt: number;
  readonly verdict: Verdict;
  readonly asked: AskedWait | undefined;
  /** Of the deadline; `Infinity` without one. */
  readonly remainingMs: number;
  /** What one more attempt may be expected to take. */
  readonly expectedMs: number;
  /** The wait before this attempt, 0 for the first. */
  readonly previousMs: number;
}

export type RetryDecision =
  | { readonly retry: true; readonly delayMs: number; readonly cause: "backoff" | "retry-after" }
  | { readonly retry: false; readonly stopped: StopReason };

/**
 * Whether to try again, and after how long. The wait is finite, at least what the server asked for, and at most
 * `maxRetryAfterMs` or the backoff's limit; where that or the deadline does not allow it, there is no retry at all.
 * @param chance from 0 up to 1.
 */
export function decideRetry(
  traits: CallTraits,
  facts: AttemptFacts,
  settings: DecisionSettings,
  chance: number,
): RetryDecision {
  const stopped = reasonToStop(traits, facts, settings);
  if (stopped !== undefined) return { retry: false, stopped };
  const { attempt, asked, remainingMs, expectedMs, previousMs } = facts;
  const latestMs = remainingMs - expectedMs;
  if (asked === undefined) {
    const delayMs = backoffMs(settings, attempt - 1, previousMs, chance);
    if (delayMs >= latestMs) return { retry: false, stopped: "out-of-time" };
    return { retry: true, delayMs, cause: "backoff" };
  }
  if (asked.ms > settings.maxRetryAfterMs) return { retry: false, stopped: "wait-too-long" };
  if (asked.ms >= latestMs) return { retry: false, stopped: "out-of-time" };
  const spreadTo = Math.min(asked.ms + spreadMs(asked, settings, attempt - 1), settings.maxRetryAfterMs, latestMs);
  return { retry: true, delayMs: asked.ms + chance * (spreadTo - asked.ms), cause: "retry-after" };
}

function reasonToStop(
  { idempotent, replayable, nested }: CallTraits,
  { attempt, verdict }: AttemptFacts,
  { limit }: DecisionSettings,
): StopReason | undefined {
  if (verdict.kind === "done") return "answered";
  if (verdict.kind === "hopeless") return verdict.reason;
  if (nested) return "nested";
  if (attempt > limit) return "attempts-used";
  if (!idempotent && !verdict.unsent) return "not-idempotent";
  if (!replayable) return "not-replayable";
  return undefined;
}
