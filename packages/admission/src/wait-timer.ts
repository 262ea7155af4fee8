import type { Clock, Timer } from "spillway";

/** The one timer of a line: set to the first waiter that has to leave. It keeps the process alive while somebody waits. */
export class WaitTimer {
  readonly #clock: Clock;
  readonly #run: () => void;
  #timer: Timer | undefined;
  #dueMs: number = Number.POSITIVE_INFINITY;

  constructor(clock: Clock, run: () => void) {
    this.#clock = clock;
    this.#run = run;
  }

  /** One that is set to an earlier instant stays: it then finds nobody due, and is set again. */
  set(dueMs: number, nowMs: number): void {
    if (dueMs === Number.POSITIVE_INFINITY) {
      this.#cancel();
      return;
    }
    if (this.#timer !== undefined && this.#dueMs <= dueMs) return;
    this.#cancel();
    this.#dueMs = dueMs;
    this.#timer = this.#clock.startTimer(() => this.#fire(), Math.ceil(Math.max(0, dueMs - nowMs)), true);
  }

  #fire(): void {
    this.#timer = undefined;
    this.#run();
  }

  #cancel(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
