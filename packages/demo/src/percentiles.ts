import { build, type Histogram } from "hdr-histogram-js";

/** A distribution of durations, in ms. All 0 when nothing was recorded. */
export interface Percentiles {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** Durations recorded in whole microseconds, to three digits. */
export class DurationHistogram {
  readonly #histogram: Histogram = build({ highestTrackableValue: 60_000_000, numberOfSignificantValueDigits: 3 });

  /** Records a duration; a negative one counts as 0. */
  recordMs(durationMs: number): void {
    this.#histogram.recordValue(Math.max(0, Math.round(durationMs * 1000)));
  }

  get count(): number {
    return this.#histogram.totalCount;
  }

  percentiles(): Percentiles {
    if (this.#histogram.totalCount === 0) return { p50Ms: 0, p99Ms: 0, maxMs: 0 };
    return {
      p50Ms: this.#histogram.getValueAtPercentile(50) / 1000,
      p99Ms: this.#histogram.getValueAtPercentile(99) / 1000,
      maxMs: this.#histogram.maxValue / 1000,
    };
  }
}
