import type { SecondOfAnswers } from "./answer-counts.ts";

/** All answers in one mode during one second. */
export interface LiveSecond {
  /** Whole seconds since 1970. */
  readonly second: number;
  /** By worker. */
  readonly admitted: readonly number[];
  /** Admitted and refused. */
  readonly offered: number;
  /** Of the offered: decided without the store. */
  readonly degraded: number;
}

/** How many seconds are kept. */
export const LIVE_SECONDS = 60;

/** The answers of all workers over the last minute. */
export class LiveFigures {
  readonly #workers: number;
  readonly #seconds = new Map<number, Map<number, SecondOfAnswers["modes"]>>();

  constructor(workers: number) {
    this.#workers = workers;
  }

  /** Takes in what a worker answered. Workers count from 0. */
  note(worker: number, seconds: readonly SecondOfAnswers[]): void {
    for (const { second, modes } of seconds) {
      const byWorker = this.#seconds.get(second) ?? new Map<number, SecondOfAnswers["modes"]>();
      this.#seconds.set(second, byWorker.set(worker, modes));
    }
    const newest = Math.max(...this.#seconds.keys());
    for (const second of this.#seconds.keys()) if (second <= newest - 2 * LIVE_SECONDS) this.#seconds.delete(second);
  }

  /** The minute up to a second, its oldest second first; 0 where nothing was asked. */
  minuteUntil(last: number, mode: string): LiveSecond[] {
    return Array.from({ length: LIVE_SECONDS }, (_, index) => this.#secondOf(last - LIVE_SECONDS + 1 + index, mode));
  }

  #secondOf(second: number, mode: string): LiveSecond {
    const counts = Array.from({ length: this.#workers }, (_, worker) => this.#seconds.get(second)?.get(worker)?.[mode]);
    const sum = (of: "admitted" | "refused" | "degraded") => counts.reduce((total, one) => total + (one?.[of] ?? 0), 0);
    return {
      second,
      admitted: counts.map((one) => one?.admitted ?? 0),
      offered: sum("admitted") + sum("refused"),
      degraded: sum("degraded"),
    };
  }
}
