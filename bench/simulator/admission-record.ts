/** The store reads its clock in whole microseconds, so a window of its time may be two of them longer than the same window here. */
export const WHOLE_MICROSECONDS_MS = 0.002;

/**
 * Every admission of every replica, in order of time, as it pours into a leaking bucket: what that bucket ever holds above the
 * burst is the most by which any window of any length was over burst + rate x length.
 */
export class AdmissionRecord {
  readonly #perMs: number;
  readonly #burst: number;
  readonly #clockMs: number;
  #level = 0;
  #lastMs = 0;
  #over = 0;
  #total = 0;

  /** @param clockMs by how much a window may be longer on the store's clock than on that of the admissions. */
  constructor(limitPerSecond: number, burst: number, clockMs: number = WHOLE_MICROSECONDS_MS) {
    this.#perMs = limitPerSecond / 1000;
    this.#burst = burst;
    this.#clockMs = clockMs;
  }

  admit(atMs: number, tokens: number): void {
    this.#level = Math.max(0, this.#level - (atMs - this.#lastMs) * this.#perMs) + tokens;
    this.#lastMs = atMs;
    this.#total += tokens;
    this.#over = Math.max(this.#over, this.#level - this.#burst);
  }

  /** Tokens above the bound in the worst window; 0 when none. What comes in while the clocks may differ is no excess. */
  get over(): number {
    return this.#over <= this.#clockMs * this.#perMs + 1e-6 ? 0 : this.#over;
  }

  get total(): number {
    return this.#total;
  }
}

/** One bucket that every request asks at once: what an ideal limiter would have admitted of the same arrivals. */
export class IdealBucket {
  readonly #perMs: number;
  readonly #burst: number;
  #level: number;
  #lastMs = 0;
  admitted = 0;

  constructor(limitPerSecond: number, burst: number) {
    this.#perMs = limitPerSecond / 1000;
    this.#burst = burst;
    this.#level = burst;
  }

  offer(atMs: number, tokens: number): void {
    this.#level = Math.min(this.#burst, this.#level + (atMs - this.#lastMs) * this.#perMs);
    this.#lastMs = atMs;
    if (tokens > this.#level) return;
    this.#level -= tokens;
    this.admitted += tokens;
  }
}
