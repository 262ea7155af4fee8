/** What became of a request that was offered. */
export type Fate =
  /** Answered in the 200s while its caller still waited. */
  | "served"
  /** Answered in the 200s after that. */
  | "late"
  /** Answered with 503 or 429. */
  | "shed"
  /** Any other answer, or none because the connection failed. */
  | "failed"
  /** Not answered while its caller waited. */
  | "timedOut";

/** What became of the requests of one phase. Times run from when a request was due, not from when it was sent. */
export interface PhaseResult {
  readonly name: string;
  readonly perSecond: number;
  readonly seconds: number;
  readonly offered: number;
  readonly served: number;
  readonly late: number;
  readonly shed: number;
  readonly failed: number;
  readonly timedOut: number;
  /** Requests sent, retries included. */
  readonly attempts: number;
  /** Sorted. */
  readonly servedMs: Float64Array;
  /** Sorted. */
  readonly shedMs: Float64Array;
  /** Answers by their status, `"error"` for a connection that failed, with its code. */
  readonly answers: Readonly<Record<string, number>>;
}

/** What happened in one bin of `BIN_MS`. */
export interface LoadBin {
  readonly fromMs: number;
  offered: number;
  /** Of those that were due in this bin. */
  servedOfThese: number;
  /** Answers in time that came in this bin. */
  servedNow: number;
  attempts: number;
}

export const BIN_MS = 250;

/** Counts what becomes of requests. */
export class LoadTally {
  readonly bins: LoadBin[] = [];
  readonly #phases: PhaseTally[];
  readonly #lateSends: number[] = [];

  constructor(phases: readonly { readonly name: string; readonly perSecond: number; readonly seconds: number }[]) {
    this.#phases = phases.map((phase) => new PhaseTally(phase.name, phase.perSecond, phase.seconds));
  }

  /** A request was due at `dueMs` and sent so much later, times since the start. */
  offer(phase: number, dueMs: number, sentMs: number): void {
    this.#phase(phase).offered++;
    this.bin(dueMs).offered++;
    this.#lateSends.push(sentMs - dueMs);
  }

  attempt(phase: number, atMs: number): void {
    this.#phase(phase).attempts++;
    this.bin(atMs).attempts++;
  }

  answer(phase: number, what: string): void {
    const { answers } = this.#phase(phase);
    answers[what] = (answers[what] ?? 0) + 1;
  }

  end(phase: number, fate: Fate, dueMs: number, nowMs: number): void {
    const counts = this.#phase(phase);
    counts[fate]++;
    if (fate === "shed") counts.shedMs.push(nowMs - dueMs);
    if (fate !== "served") return;
    counts.servedMs.push(nowMs - dueMs);
    this.bin(dueMs).servedOfThese++;
    this.bin(nowMs).servedNow++;
  }

  bin(atMs: number): LoadBin {
    const index = Math.max(0, Math.floor(atMs / BIN_MS));
    while (this.bins.length <= index)
      this.bins.push({ fromMs: this.bins.length * BIN_MS, offered: 0, servedOfThese: 0, servedNow: 0, attempts: 0 });
    return this.bins[index] as LoadBin;
  }

  phases(): PhaseResult[] {
    return this.#phases.map((phase) => phase.result());
  }

  /** How late requests were sent, sorted. */
  lateSendsMs(): Float64Array {
    return Float64Array.from(this.#lateSends).sort();
  }

  #phase(index: number): PhaseTally {
    return this.#phases[index] as PhaseTally;
  }
}

class PhaseTally {
  offered = 0;
  served = 0;
  late = 0;
  shed = 0;
  failed = 0;
  timedOut = 0;
  attempts = 0;
  readonly servedMs: number[] = [];
  readonly shedMs: number[] = [];
  readonly answers: Record<string, number> = {};
  readonly #name: string;
  readonly #perSecond: number;
  readonly #seconds: number;

  constructor(name: string, perSecond: number, seconds: number) {
    this.#name = name;
    this.#perSecond = perSecond;
    this.#seconds = seconds;
  }

  result(): PhaseResult {
    const { offered, served, late, shed, failed, timedOut, attempts } = this;
    return {
      ...{ name: this.#name, perSecond: this.#perSecond, seconds: this.#seconds },
      ...{ offered, served, late, shed, failed, timedOut, attempts },
      servedMs: Float64Array.from(this.servedMs).sort(),
      shedMs: Float64Array.from(this.shedMs).sort(),
      answers: { ...this.answers },
    };
  }
}

/** @param part 0 to 1. `NaN` of nothing. */
export function percentile(sorted: ArrayLike<number>, part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN;
}
