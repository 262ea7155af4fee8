import type { ClientError } from "./client-error.ts";

/** Why no further attempt was made. */
export type StopReason =
  /** The answer is one to hand on. */
  | "answered"
  /** `retry.limit` was reached. */
  | "attempts-used"
  /** Repeating a request of this method, without an idempotency key, could do its work twice. */
  | "not-idempotent"
  /** The body is a stream, which can be sent once. */
  | "not-replayable"
  /** A caller further out repeats the call. */
  | "nested"
  /** `x-should-retry: false`, or an answer that says that the request can never be served. */
  | "told-not-to"
  /** A spent quota or spend limit, which no wait of ours brings back. */
  | "quota-spent"
  /** An error that is not one of the network. */
  | "not-transient"
  /** `shouldRetry` said no. */
  | "should-retry"
  /** The server asked for more than `maxRetryAfter`. */
  | "wait-too-long"
  /** The deadline passed, or would pass before another attempt could be through. */
  | "out-of-time"
  /** The origin's retry budget is spent. */
  | "budget-spent"
  /** The origin refuses so much that this client did not ask. */
  | "throttled"
  /** The origin's breaker is open. */
  | "breaker-open"
  /** The origin asked to be left alone for longer than this call can wait, or too many calls wait already. */
  | "paused";

/** One request that was sent. */
export interface Attempt {
  /** What it waited for, right before it was sent, and how long; 0 for none. */
  readonly waitedMs: number;
  readonly waitedFor: "backoff" | "retry-after" | "pause" | undefined;
  /** From its sending to the head of its answer, or to its failure. */
  readonly tookMs: number;
  /** `undefined` when there was no answer. */
  readonly status: number | undefined;
  /** The code of the network error, such as `ECONNRESET`, or of ours; `undefined` when there was an answer. */
  readonly errorCode: string | undefined;
  /** What the answer asked to wait, in ms; `undefined` when it did not. */
  readonly retryAfterMs: number | undefined;
}

interface CommonOutcome {
  /** The requests that were sent, in order. */
  readonly attempts: readonly Attempt[];
  readonly stopped: StopReason;
  /** All waits together, also one that no attempt followed. */
  readonly waitedMs: number;
  /** From the call to its end, waits included. */
  readonly tookMs: number;
  /** When to come back, as far as the server or this client knows; `undefined` when not known, 0 or more. */
  readonly retryAfterMs: number | undefined;
}

/** There is an answer, good or bad: the last one. */
export interface AnsweredOutcome extends CommonOutcome {
  readonly kind: "answered";
  readonly response: Response;
}

/** The last attempt had no answer. */
export interface FailedOutcome extends CommonOutcome {
  readonly kind: "failed";
  /** What the platform's fetch threw, or a {@link ClientError} `ERR_SPILLWAY_CALL_TIMEOUT`. */
  readonly error: unknown;
}

/** This client refused the call before it got an answer. */
export interface RefusedOutcome extends CommonOutcome {
  readonly kind: "refused";
  readonly error: ClientError;
}

/** What became of a call, as a union on `kind`. */
export type Outcome = AnsweredOutcome | FailedOutcome | RefusedOutcome;

const outcomes = new WeakMap<object, Outcome>();

/** Remembers the outcome for as long as its response or error lives. */
export function rememberOutcome(outcome: Outcome): void {
  const bearer = outcome.kind === "answered" ? outcome.response : outcome.error;
  if (typeof bearer === "object" && bearer !== null) outcomes.set(bearer, outcome);
}

/**
 * What became of the call that a `fetch` of this package answered with `response`, or rejected with `error`.
 * @returns `undefined` for anything else, a clone of a response too.
 */
export function outcomeOf(responseOrError: unknown): Outcome | undefined {
  return typeof responseOrError === "object" && responseOrError !== null ? outcomes.get(responseOrError) : undefined;
}
