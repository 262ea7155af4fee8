import type { Span } from "./admissions.ts";

/**
 * Time while some processes decide without the store and others with it: a part `c` of them may then admit its part of the rate
 * on top of what the store gives the others, so time counts 1 + c times.
 */
export class ApartTime {
  /** The largest part that was ever cut off while others were not. */
  readonly largestPart: number;
  /** All the time that counts on top. */
  readonly totalMs: number;
  /** Where the part changes, in order, with the time on top that has been counted until then. */
  readonly #changes: { readonly atMs: number; readonly part: number; readonly onTopMs: number }[] = [];

  /**
   * @param alone of each process, when it decided without the store.
   * @param shares of each process, the part of the limits that it may admit then; even ones unless given.
   */
  constructor(alone: readonly (readonly Span[])[], shares?: readonly number[]) {
    const steps = alone.flatMap((spans, process) =>
      spans.flatMap(({ fromMs, toMs }) => {
        const share = shares?.[process] ?? 1 / alone.length;
        return [
          { atMs: fromMs, by: 1, share },
          { atMs: toMs, by: -1, share: -share },
        ];
      }),
    );
    steps.sort((a, b) => a.atMs - b.atMs);
    let count = 0;
    let sum = 0;
    let largest = 0;
    for (const { atMs, by, share } of steps) {
      count += by;
      sum += share;
      const part = count > 0 && count < alone.length ? sum : 0;
      const onTopMs = this.#onTopMs(atMs);
      this.#changes.push({ atMs, part, onTopMs });
      largest = Math.max(largest, part);
    }
    this.largestPart = largest;
    this.totalMs = this.#onTopMs(Number.MAX_VALUE);
  }

  /** Milliseconds that count for the bound, from a fixed beginning until `ms`. */
  until(ms: number): number {
    return ms + this.#onTopMs(ms);
  }

  #onTopMs(ms: number): number {
    let low = 0;
    let high = this.#changes.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#changes[middle]?.atMs as number) <= ms) low = middle + 1;
      else high = middle;
    }
    const last = this.#changes[low - 1];
    return last === undefined ? 0 : last.onTopMs + (ms - last.atMs) * last.part;
  }
}
