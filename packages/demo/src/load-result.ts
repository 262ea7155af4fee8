import type { HttpAnswer } from "./http-answer.ts";
import { type OutageResult, type OutageSpan, OutageTally } from "./outage-tally.ts";
import { DurationHistogram, type Percentiles } from "./percentiles.ts";

/** What the answers say of the decisions behind them. */
export interface DecisionFigures {
  readonly count: number;
  /** Decisions that the store had no part in because it could not answer. */
  readonly degraded: number;
  /** By who decided: "lease", "store", "denial-cache" and so on. */
  readonly sources: Readonly<Record<string, number>>;
  /** In the server, from the call of the limiter to its decision. */
  readonly time: Percentiles;
}

/** What one run of the load generator saw, from its side of the connection. */
export interface LoadResult {
  /** Requests sent. */
  readonly offered: number;
  /** Answers by status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Requests without a readable answer, by code. */
  readonly failures: Readonly<Record<string, number>>;
  /** From the first request sent to the last answer received. */
  readonly spanMs: number;
  /** Answers 200 by the second in which their request was sent. */
  readonly admittedPerSecond: readonly number[];
  /** Requests by the second in which they were sent. */
  readonly offeredPerSecond: readonly number[];
  /** Answers 200 by worker. */
  readonly admittedPerWorker: Readonly<Record<string, number>>;
  /** Answers of any status by worker. */
  readonly answersPerWorker: Readonly<Record<string, number>>;
  /** From the instant a request was due to the end of its answer. */
  readonly latency: Percentiles;
  /** From the instant a request was due to the instant it was sent: the generator's own error. */
  readonly scheduleError: Percentiles;
  readonly decisions: DecisionFigures;
  /** `undefined` for a run without one. */
  readonly outage: OutageResult | undefined;
}

/** Collects a {@link LoadResult}. All times are ms on one clock. */
export class LoadTally {
  #offered = 0;
  #admitted = 0;
  #answered = 0;
  #firstSentMs = Number.NaN;
  #lastAnswerMs = Number.NaN;
  readonly #statuses: Record<string, number> = {};
  readonly #failures: Record<string, number> = {};
  readonly #admittedPerSecond: number[] = [];
  readonly #offeredPerSecond: number[] = [];
  readonly #admittedPerWorker: Record<string, number> = {};
  readonly #answersPerWorker: Record<string, number> = {};
  readonly #latency = new DurationHistogram();
  readonly #scheduleError = new DurationHistogram();
  readonly #decisions = new DecisionTally();
  readonly #outage: OutageTally | undefined;

  constructor(seconds: number, outage?: OutageSpan) {
    this.#outage = outage === undefined ? undefined : new OutageTally(outage);
    this.#admittedPerSecond = new Array<number>(Math.ceil(seconds)).fill(0);
    this.#offeredPerSecond = new Array<number>(Math.ceil(seconds)).fill(0);
  }

  get offered(): number {
    return this.#offered;
  }

  get admitted(): number {
    return this.#admitted;
  }

  /** Requests that ended, with an answer or without. */
  get ended(): number {
    return this.#answered + Object.values(this.#failures).reduce((sum, count) => sum + count, 0);
  }

  sent(dueMs: number, sentMs: number): void {
    if (this.#offered === 0) this.#firstSentMs = sentMs;
    this.#offered += 1;
    this.#offeredPerSecond[this.#secondOf(sentMs)]! += 1;
    this.#scheduleError.recordMs(sentMs - dueMs);
    this.#outage?.sent(sentMs - this.#firstSentMs);
  }

  answered(dueMs: number, sentMs: number, answeredMs: number, answer: HttpAnswer): void {
    this.#answered += 1;
    this.#lastAnswerMs = answeredMs;
    this.#latency.recordMs(answeredMs - dueMs);
    increment(this.#statuses, String(answer.status));
    increment(this.#answersPerWorker, answer.worker);
    this.#decisions.note(answer);
    this.#outage?.answered(sentMs - this.#firstSentMs, answeredMs - this.#firstSentMs, answer);
    if (answer.status !== 200) return;
    this.#admitted += 1;
    this.#admittedPerSecond[this.#secondOf(sentMs)]! += 1;
    increment(this.#admittedPerWorker, answer.worker);
  }

  failed(code: string): void {
    increment(this.#failures, code);
  }

  result(): LoadResult {
    return {
      offered: this.#offered,
      statuses: this.#statuses,
      failures: this.#failures,
      spanMs: this.#answered === 0 ? 0 : this.#lastAnswerMs - this.#firstSentMs,
      admittedPerSecond: this.#admittedPerSecond,
      offeredPerSecond: this.#offeredPerSecond,
      admittedPerWorker: this.#admittedPerWorker,
      answersPerWorker: this.#answersPerWorker,
      latency: this.#latency.percentiles(),
      scheduleError: this.#scheduleError.percentiles(),
      decisions: this.#decisions.figures(),
      outage: this.#outage?.result(),
    };
  }

  /** Seconds count from the first request sent; what is sent after the last whole second counts into it. */
  #secondOf(sentMs: number): number {
    const second = Math.floor((sentMs - this.#firstSentMs) / 1000);
    return Math.min(this.#offeredPerSecond.length - 1, Math.max(0, second));
  }
}

class DecisionTally {
  #degraded = 0;
  readonly #sources: Record<string, number> = {};
  readonly #time = new DurationHistogram();

  note({ decision }: HttpAnswer): void {
    if (decision === undefined) return;
    if (decision.degraded) this.#degraded += 1;
    increment(this.#sources, decision.source);
    this.#time.recordMs(decision.durationMs);
  }

  figures(): DecisionFigures {
    return {
      count: this.#time.count,
      degraded: this.#degraded,
      sources: this.#sources,
      time: this.#time.percentiles(),
    };
  }
}

function increment(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}
