import type { Decision, RateLimiter } from "spillway";
import type { DecisionFigures } from "./measure.ts";
import { DurationHistogram } from "./percentiles.ts";

/** What one worker's limiter did since the last look, in a form that crosses process borders. */
export interface DecisionRecord {
  readonly decisions: number;
  readonly degraded: number;
  /** Durations of decisions: an HdrHistogram of microseconds, compressed, in base64. */
  readonly histogram: string;
}

/** Counts and times the decisions of a limiter, from the call to the decision. */
export class DecisionRecorder {
  #histogram = new DurationHistogram();
  #degraded = 0;

  /** The same limiter, recorded. */
  wrap(limiter: RateLimiter): RateLimiter {
    return {
      consume: async (key, options) => {
        const startMs = performance.now();
        const decision = await limiter.consume(key, options);
        this.#record(startMs, decision);
        return decision;
      },
      consumeNow: (key, options) => {
        const startMs = performance.now();
        const decision = limiter.consumeNow(key, options);
        if (decision !== undefined) this.#record(startMs, decision);
        return decision;
      },
      peek: (key) => limiter.peek(key),
      refund: (decision) => limiter.refund(decision),
      reset: (key) => limiter.reset(key),
      stats: () => limiter.stats(),
      close: () => limiter.close(),
      [Symbol.asyncDispose]: () => limiter.close(),
    };
  }

  /** Gives what was recorded and starts anew. */
  take(): DecisionRecord {
    const record = {
      decisions: this.#histogram.count,
      degraded: this.#degraded,
      histogram: this.#histogram.encode(),
    };
    this.#histogram = new DurationHistogram();
    this.#degraded = 0;
    return record;
  }

  #record(startMs: number, decision: Decision): void {
    this.#histogram.recordMs(performance.now() - startMs);
    if (decision.degraded) this.#degraded += 1;
  }
}

/** What several servers recorded, taken together. */
export function sumRecords(records: readonly DecisionRecord[]): DecisionFigures {
  const time = new DurationHistogram();
  for (const record of records) time.add(record.histogram);
  return {
    decisions: records.reduce((sum, record) => sum + record.decisions, 0),
    degraded: records.reduce((sum, record) => sum + record.degraded, 0),
    time: time.percentiles(),
  };
}
