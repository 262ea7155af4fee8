/**
 * The circuit breaker in front of one part of the store that fails as one: a Redis server, or a node of a cluster. One
 * function makes each transition; time and chance are arguments.
 */

/** Calls go through; what went wrong lately is remembered. */
export interface ClosedBreaker {
  readonly kind: "closed";
  /** Calls since the last answer whose reply did not come in time. */
  readonly misses: number;
  readonly windowStartMs: number;
  readonly calls: number;
  readonly failures: number;
}

/** No call goes through; a probe asks now and then. */
export interface OpenBreaker {
  readonly kind: "open";
  readonly sinceMs: number;
  readonly reason: string;
  /** The same, but for a time in which it may have served others: a trial that came long after the probe began another one. */
  readonly openedMs: number;
  readonly nextProbeMs: number;
}

/** A probe was answered; one real call is let through to decide. */
export interface HalfOpenBreaker {
  readonly kind: "half-open";
  readonly sinceMs: number;
  readonly reason: string;
  readonly openedMs: number;
  /** When the probe was answered. */
  readonly answeredMs: number;
  /** When the trial was let through; it counts as failed when it never settles. */
  readonly trialMs: number | undefined;
}

export type BreakerState = ClosedBreaker | OpenBreaker | HalfOpenBreaker;

/** What happened. `failed` carries whether the store said that it cannot serve anybody, which opens at once. */
export type BreakerEvent =
  | { readonly kind: "answered" }
  | { readonly kind: "missed" }
  | { readonly kind: "failed"; readonly fatal: boolean; readonly reason: string }
  | { readonly kind: "probe-answered" }
  | { readonly kind: "probe-failed"; readonly reason: string }
  | { readonly kind: "trial-started" };

/** Missed calls, with no answer between, that open the breaker: so the most that wait for a store in doubt at one time. */
export const MOST_MISSES = 3;
const WINDOW_MS = 1000;
const LEAST_CALLS = 20;
/** Between two probes passes this part of the time for which the store has been left alone, within bounds. */
const PROBE_PART = 0.1;
const SHORTEST_PROBE_MS = 50;
const LONGEST_PROBE_MS = 500;
const PROBE_JITTER = 0.25;
/** A trial that fails so soon after a probe was answered shows that the store was not really back. */
const SAME_ABSENCE_MS = 100;

/**
 * The longest between two probes while the store has been left alone for no more than `openMs`: when it is back, it is noticed
 * within this and the time that its answer takes.
 */
export function longestProbePauseMs(openMs: number): number {
  return probeDelayMs(openMs) * (1 + PROBE_JITTER);
}

/**
 * The longest since the last probe that failed was sent until another one has failed, or was answered.
 * @param deadlineMs how long an answer is waited for.
 */
export function longestUnnoticedMs(openMs: number, deadlineMs: number): number {
  return longestProbePauseMs(openMs) + 2 * deadlineMs;
}

function probeDelayMs(openMs: number): number {
  return Math.min(LONGEST_PROBE_MS, Math.max(SHORTEST_PROBE_MS, openMs * PROBE_PART));
}

/** A breaker that has seen nothing. */
export function newBreaker(nowMs: number): BreakerState {
  return { kind: "closed", misses: 0, windowStartMs: nowMs, calls: 0, failures: 0 };
}

/**
 * The state after `event`. Events that have no meaning in a state (a reply that comes after the breaker opened) leave it as
 * it is, so that none can cancel a probe that is due.
 * @param chance from 0 up to 1, spreads the probes of many processes.
 */
export function nextBreaker(state: BreakerState, event: BreakerEvent, nowMs: number, chance: number): BreakerState {
  switch (state.kind) {
    case "closed":
      return whenClosed(state, event, nowMs, chance);
    case "open":
      if (event.kind === "probe-failed") return probedNext(state, nowMs, chance);
      if (event.kind !== "probe-answered") return state;
      return { ...storyOf(state), kind: "half-open", answeredMs: nowMs, trialMs: undefined };
    case "half-open":
      return whenHalfOpen(state, event, nowMs, chance);
  }
}

function whenClosed(state: ClosedBreaker, event: BreakerEvent, nowMs: number, chance: number): BreakerState {
  const fresh = nowMs - state.windowStartMs >= WINDOW_MS;
  const window = fresh ? { windowStartMs: nowMs, calls: 0, failures: 0 } : state;
  const seen = { ...state, windowStartMs: window.windowStartMs, calls: window.calls + 1, failures: window.failures };
  if (event.kind === "answered") return { ...seen, misses: 0 };
  if (event.kind !== "missed" && event.kind !== "failed") return state;
  const failures = seen.failures + 1;
  const misses = event.kind === "missed" ? state.misses + 1 : state.misses;
  const reason = event.kind === "missed" ? "no reply within the deadline" : event.reason;
  const fatal = event.kind === "failed" && event.fatal;
  const tooMany = seen.calls >= LEAST_CALLS && failures * 2 >= seen.calls;
  if (fatal || tooMany || misses >= MOST_MISSES)
    return opened({ reason, sinceMs: nowMs, openedMs: nowMs }, nowMs, chance);
  return { ...seen, failures, misses };
}

function whenHalfOpen(state: HalfOpenBreaker, event: BreakerEvent, nowMs: number, chance: number): BreakerState {
  switch (event.kind) {
    case "trial-started":
      return state.trialMs === undefined ? { ...state, trialMs: nowMs } : state;
    case "answered":
      return state.trialMs === undefined ? state : newBreaker(nowMs);
    case "missed":
    case "failed":
      if (state.trialMs === undefined) return state;
      return opened(
        {
          ...storyOf(state),
          ...(event.kind === "failed" ? { reason: event.reason } : {}),
          ...(state.trialMs - state.answeredMs > SAME_ABSENCE_MS ? { openedMs: nowMs } : {}),
        },
        nowMs,
        chance,
      );
    default:
      return state;
  }
}

type Story = Pick<OpenBreaker, "reason" | "sinceMs" | "openedMs">;

function storyOf({ reason, sinceMs, openedMs }: Story): Story {
  return { reason, sinceMs, openedMs };
}

function opened(story: Story, nowMs: number, chance: number): OpenBreaker {
  return probedNext({ ...story, kind: "open", nextProbeMs: nowMs }, nowMs, chance);
}

function probedNext(state: OpenBreaker, nowMs: number, chance: number): OpenBreaker {
  const delayMs = probeDelayMs(nowMs - state.openedMs);
  return { ...state, nextProbeMs: nowMs + delayMs * (1 + PROBE_JITTER * (2 * chance - 1)) };
}

/** Whether a call may go through now; of half-open's trials, one. */
export function admitsCall(state: BreakerState): boolean {
  return state.kind === "closed" || (state.kind === "half-open" && state.trialMs === undefined);
}
