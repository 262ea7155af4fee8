import type { Clock } from "../clock.ts";

/** Steps taken in one turn of the event loop; each takes a microsecond or two. */
const STEPS_PER_TURN = 1000;

/** Work on very many things, some of them in each turn of the event loop, so that no turn takes long. */
export class Rounds {
  readonly #clock: Clock;
  readonly #running = new Map<string, Iterator<unknown>>();
  #isScheduled = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether work of that name is not done yet. */
  has(name: string): boolean {
    return this.#running.has(name);
  }

  /** Begins at once, in the place of unfinished work of that name. */
  start(name: string, steps: Iterator<unknown>): void {
    this.#running.set(name, steps);
    if (!this.#isScheduled) this.#turn();
  }

  /** Does all that is left, now. */
  finish(): void {
    for (const [name, steps] of this.#running) {
      while (steps.next().done !== true);
      this.#running.delete(name);
    }
  }

  readonly #turn = (): void => {
    this.#isScheduled = false;
    let left = STEPS_PER_TURN;
    for (const [name, steps] of this.#running) {
      let isDone = false;
      while (left > 0 && !isDone) {
        left--;
        isDone = steps.next().done === true;
      }
      if (isDone && this.#running.get(name) === steps) this.#running.delete(name);
      if (left === 0) break;
    }
    if (this.#running.size === 0) return;
    this.#isScheduled = true;
    this.#clock.afterTurn(this.#turn);
  };
}
