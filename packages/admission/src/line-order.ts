/**
 * Who goes in next. `"fifo"`: who came first. `"lifo"`: who came last, whose caller is the most likely to still wait.
 * `"adaptive"`: who came first, while the line holds all who come; when it no longer does, who came last until it is empty.
 */
export type Order = "fifo" | "lifo" | "adaptive";

/** Longer than a burst that drains by itself. */
const LEAST_INTERVAL_MS = 100;
const INTERVAL_WORKS = 2;
/** The line while the service is overloaded: one round of work, so that slots that free together all find a taker. */
const LEAST_OVERLOADED_LINE_MS = 20;

/** Decides between first and last by how long the line has been standing, and whether it held. It is told what time it is. */
export class LineOrder {
  #standingSinceMs: number | undefined;
  #emptySinceMs: number | undefined;
  #hasHeld = true;

  /**
   * Tells whether anybody is in the line, at each change of that.
   * @param slotMs the time between two slots that free. Where many free together, they empty a line that those who come fill again at
   *   once: one that is empty for a shorter time has not been.
   */
  note(isEmpty: boolean, nowMs: number, slotMs: number): void {
    if (isEmpty) {
      this.#emptySinceMs ??= nowMs;
      return;
    }
    const emptyMs = nowMs - (this.#emptySinceMs ?? nowMs);
    this.#emptySinceMs = undefined;
    if (this.#standingSinceMs !== undefined && (emptyMs === 0 || emptyMs < slotMs)) return;
    this.#standingSinceMs = nowMs;
    this.#hasHeld = true;
  }

  /** Tells that somebody found no place, or had to leave it. */
  noteRefusal(): void {
    this.#hasHeld = false;
  }

  /**
   * Whether the one who came last goes first.
   * @param workMs how long a slot is held.
   * @param endlessMs how long the one who came first has waited, where the line has no end in time; else 0.
   */
  newestFirst(order: Order, nowMs: number, workMs: number, endlessMs: number): boolean {
    if (order !== "adaptive") return order === "lifo";
    if (this.#standingSinceMs === undefined || this.#emptySinceMs !== undefined) return false;
    const intervalMs = Math.max(LEAST_INTERVAL_MS, INTERVAL_WORKS * workMs);
    if (nowMs - this.#standingSinceMs < intervalMs) return false;
    return !this.#hasHeld || endlessMs > intervalMs;
  }
}

/** How much work may wait while `"adaptive"` serves who came last: who is behind that would hardly be served. */
export function overloadedLineMs(lineMs: number, workMs: number): number {
  return Math.min(lineMs, Math.max(LEAST_OVERLOADED_LINE_MS, workMs));
}

/** A line in slots' worth of work that is worked off in `lineMs`. At least one where there is to be a line at all. */
export function lineCapacity(lineMs: number, slots: number, workMs: number): number {
  if (lineMs === 0) return 0;
  return Math.max(1, Math.round((lineMs * slots) / workMs));
}
