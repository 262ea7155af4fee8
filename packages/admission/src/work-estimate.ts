const WEIGHT = 1 / 8;

/** What one piece of work takes, as a moving average that begins with a guess and forgets it at the first measurement. */
export class WorkEstimate {
  #ms: number;
  #measured = false;

  /** @param guessMs what to say before anything has been measured; above 0. */
  constructor(guessMs: number) {
    this.#ms = guessMs;
  }

  /** @param tookMs what a piece of work took. Less than a microsecond counts as one: the estimate is divided by. */
  record(tookMs: number): void {
    const ms = Math.max(tookMs, 0.001);
    this.#ms = this.#measured ? this.#ms + (ms - this.#ms) * WEIGHT : ms;
    this.#measured = true;
  }

  /** Records work that was given up after so long: it says that work takes longer, but never that it takes less. */
  recordUnended(tookMs: number): void {
    if (tookMs > this.#ms) this.record(tookMs);
  }

  /** Above 0. */
  get ms(): number {
    return this.#ms;
  }
}
