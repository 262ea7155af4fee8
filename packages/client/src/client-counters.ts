import type { Attempt, Outcome, StopReason } from "./outcome.ts";

const STOP_REASONS: readonly StopReason[] = [
  "answered",
  "attempts-used",
  "not-idempotent",
  "not-replayable",
  "nested",
  "told-not-to",
  "quota-spent",
  "not-transient",
  "should-retry",
  "wait-too-long",
  "out-of-time",
  "budget-spent",
  "throttled",
  "breaker-open",
  "paused",
];

/** Counters of one client, since it was made. */
export class ClientCounters {
  calls = 0;
  attempts = 0;
  retries = 0;
  /** Calls that their callers ended. */
  aborted = 0;
  /** Calls held back before their attempt, now. */
  waiting = 0;
  readonly kinds: Record<Outcome["kind"], number> = { answered: 0, failed: 0, refused: 0 };
  readonly stopped: Record<StopReason, number> = Object.fromEntries(
    STOP_REASONS.map((reason) => [reason, 0]),
  ) as Record<StopReason, number>;
  readonly waitedMs: Record<NonNullable<Attempt["waitedFor"]>, number> = { backoff: 0, "retry-after": 0, pause: 0 };

  ended(outcome: Outcome): void {
    this.kinds[outcome.kind]++;
    this.stopped[outcome.stopped]++;
  }
}
