import type { Ideal, Record } from "./window-record.ts";

/** When the store answers nobody, in ms since the start of the run. */
export interface OutageSpan {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface OutageResult {
  /** What was admitted while the store was away, as a part of what an ideal limiter would have admitted. */
  readonly used: number;
  /** The same for the time after it, up to the end. */
  readonly usedAfter: number;
  /** From the end of the outage to the last decision without the store. */
  readonly backMs: number;
}

/** Looks at the totals when an outage begins and ends. */
export class OutageRecord {
  readonly #span: OutageSpan;
  readonly #record: Record;
  readonly #ideal: Ideal;
  #before: readonly [number, number] | undefined;
  #after: readonly [number, number] | undefined;
  #lastDegradedMs = 0;

  constructor(span: OutageSpan, record: Record, ideal: Ideal) {
    this.#span = span;
    this.#record = record;
    this.#ideal = ideal;
  }

  /** Called before each arrival. */
  look(nowMs: number): void {
    if (nowMs >= this.#span.fromMs) this.#before ??= this.#totals();
    if (nowMs >= this.#span.toMs) this.#after ??= this.#totals();
  }

  noteDegraded(nowMs: number): void {
    this.#lastDegradedMs = nowMs;
  }

  result(): OutageResult {
    const end = this.#totals();
    const before = this.#before ?? end;
    const after = this.#after ?? end;
    return {
      used: (after[0] - before[0]) / (after[1] - before[1]),
      usedAfter: (end[0] - after[0]) / (end[1] - after[1]),
      backMs: Math.max(0, this.#lastDegradedMs - this.#span.toMs),
    };
  }

  #totals(): readonly [number, number] {
    return [this.#record.total, this.#ideal.admitted];
  }
}
