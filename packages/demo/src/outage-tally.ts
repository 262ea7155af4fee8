import type { HttpAnswer } from "./http-answer.ts";
import { DurationHistogram, type Percentiles } from "./percentiles.ts";

/** When the store is out of reach, in ms since the start of a run. */
export interface OutageSpan {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A time on one worker's way, in ms since the first request was sent. */
export interface AwaySpan {
  /** When the first request was sent that it decided without the store. */
  readonly fromMs: number;
  /** When the last such answer came. */
  readonly toMs: number;
}

/** What the load generator saw of an outage. */
export interface OutageResult extends OutageSpan {
  /** Of the requests that were sent while the store was out of reach. */
  readonly offered: number;
  readonly admitted: number;
  readonly degraded: number;
  readonly decisionTime: Percentiles;
  /** Of the whole run, by worker: it begins a little after the outage does and ends when the worker has found the store again. */
  readonly away: Readonly<Record<string, AwaySpan>>;
}

/** Collects an {@link OutageResult}. All times are ms since the first request was sent. */
export class OutageTally {
  readonly #span: OutageSpan;
  #offered = 0;
  #admitted = 0;
  #degraded = 0;
  readonly #decisionTime = new DurationHistogram();
  readonly #away: Record<string, AwaySpan> = {};

  constructor(span: OutageSpan) {
    this.#span = span;
  }

  sent(atMs: number): void {
    if (this.#isWithin(atMs)) this.#offered += 1;
  }

  answered(sentMs: number, answeredMs: number, { status, worker, decision }: HttpAnswer): void {
    if (decision?.degraded === true) this.#noteAway(worker, sentMs, answeredMs);
    if (!this.#isWithin(sentMs)) return;
    if (status === 200) this.#admitted += 1;
    if (decision === undefined) return;
    if (decision.degraded) this.#degraded += 1;
    this.#decisionTime.recordMs(decision.durationMs);
  }

  result(): OutageResult {
    return {
      ...this.#span,
      offered: this.#offered,
      admitted: this.#admitted,
      degraded: this.#degraded,
      decisionTime: this.#decisionTime.percentiles(),
      away: this.#away,
    };
  }

  #isWithin(atMs: number): boolean {
    return atMs >= this.#span.fromMs && atMs < this.#span.toMs;
  }

  #noteAway(worker: string, sentMs: number, answeredMs: number): void {
    const known = this.#away[worker] ?? { fromMs: sentMs, toMs: answeredMs };
    this.#away[worker] = { fromMs: Math.min(known.fromMs, sentMs), toMs: Math.max(known.toMs, answeredMs) };
  }
}
