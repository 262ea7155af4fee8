/** Overload for longer than this, without a pause of `QUIET_MS`, is no herd that comes once: new callers need room too. */
const SUSTAINED_MS = 2000;
const QUIET_MS = 1000;

/**
 * Hands out times to come back: each caller gets the next place that nobody was told yet. What is remembered is how many were
 * told a time that is still to come, not the time itself, so that a service that gets faster shortens every later promise.
 * It is told what time it is.
 */
export class RetrySlots {
  readonly #random: () => number;
  #booked = 0;
  #countedAtMs = 0;
  #sheddingSinceMs = 0;
  #lastShedMs = Number.NEGATIVE_INFINITY;

  /** @param random at least 0, below 1. */
  constructor(random: () => number) {
    this.#random = random;
  }

  /**
   * The wait of one more caller in ms. One above `mostMs` is of no use to the caller: no place is kept for it.
   * @param slotMs the time between two slots that free, on average.
   * @param backlog slots' worth of work that waits.
   * @param share the part of the slots that is promised while overload lasts: above 0, at most 1.
   */
  book(nowMs: number, slotMs: number, backlog: number, share: number, mostMs: number): number {
    const spacingMs = slotMs / (this.#isSustained(nowMs) ? share : 1);
    this.#booked = Math.max(0, this.#booked - Math.max(0, nowMs - this.#countedAtMs) / spacingMs);
    this.#countedAtMs = nowMs;
    // Half the backlog: those told to come back find the other half still there, so that no slot stands idle.
    const waitMs = (backlog / 2) * slotMs + (this.#booked + this.#random()) * spacingMs;
    if (waitMs <= mostMs) this.#booked++;
    return waitMs;
  }

  #isSustained(nowMs: number): boolean {
    if (nowMs - this.#lastShedMs > QUIET_MS) this.#sheddingSinceMs = nowMs;
    this.#lastShedMs = nowMs;
    return nowMs - this.#sheddingSinceMs > SUSTAINED_MS;
  }
}
