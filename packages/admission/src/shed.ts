/**
 * Why a request was turned away. `"line_full"`: no place to wait, or given up for one who came later.
 * `"waited_too_long"`: the wait limit is over. `"deadline"`: the answer would come too late to be of use.
 * `"cancelled"`: the caller left. `"closed"`: the controller was closed.
 */
export type ShedReason = "line_full" | "waited_too_long" | "deadline" | "cancelled" | "closed";

/** All reasons. */
export const SHED_REASONS: readonly ShedReason[] = ["line_full", "waited_too_long", "deadline", "cancelled", "closed"];

/** A request that is turned away to protect the rest. A value, not an error. */
export interface Shed {
  readonly admitted: false;
  readonly reason: ShedReason;
  /** When to come back, in whole ms from now: a time at which there should be room for this very caller. */
  readonly retryAfterMs: number;
  /** False when coming back is of no use to anybody: the wait is too long to promise, or beyond the caller's deadline. */
  readonly shouldRetry: boolean;
}
