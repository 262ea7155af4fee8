const KEPT = 33;
const FEWEST = 3;

/** The median of the last durations: what a call may be expected to take. */
export class RecentMedian {
  readonly #durations: number[] = [];
  #next = 0;
  #known: number | undefined;

  add(durationMs: number): void {
    this.#durations[this.#next] = durationMs;
    this.#next = (this.#next + 1) % KEPT;
    this.#known = undefined;
  }

  /** `undefined` before there are a few. */
  get ms(): number | undefined {
    if (this.#durations.length < FEWEST) return undefined;
    this.#known ??= this.#durations.toSorted((a, b) => a - b)[this.#durations.length >> 1] as number;
    return this.#known;
  }
}
