import type { Decision } from "../decision.ts";
import type { Counters } from "../stats.ts";
import type { Lane } from "./lane.ts";

/** Somebody who waits for the store's decision, and for no longer than the deadline. */
export class Caller {
  readonly lane: Lane;
  readonly costs: readonly number[];
  /** On the monotonic clock. */
  readonly arrivedMs: number;
  /** Who arrived after this one, in the queue. */
  next: Caller | undefined;
  readonly #counters: Counters;
  readonly #resolve: (decision: Decision) => void;
  #settled = false;

  constructor(
    lane: Lane,
    costs: readonly number[],
    arrivedMs: number,
    counters: Counters,
    resolve: (decision: Decision) => void,
  ) {
    this.lane = lane;
    this.costs = costs;
    this.arrivedMs = arrivedMs;
    this.#counters = counters;
    this.#resolve = resolve;
  }

  /** Whether a decision was given, or is wanted no more. */
  get settled(): boolean {
    return this.#settled;
  }

  /** Counts the decision and gives it. Only the first one. */
  settle(decision: Decision): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#resolve(this.#counters.decided(this.lane.told(decision)));
  }

  /** The caller went away. What the store already took for it stays taken. */
  abandon(): void {
    this.#settled = true;
  }
}

/** Callers in order of arrival, so that the next deadline is always at the front. */
export class ArrivalQueue {
  #first: Caller | undefined;
  #last: Caller | undefined;

  push(caller: Caller): void {
    if (this.#last === undefined) this.#first = caller;
    else this.#last.next = caller;
    this.#last = caller;
  }

  /** The oldest caller that still waits. Those in front of it are let go. */
  oldest(): Caller | undefined {
    while (this.#first?.settled === true) {
      const { next } = this.#first;
      // Else a caller that has grown old keeps all that came after it from the young garbage collection.
      this.#first.next = undefined;
      this.#first = next;
    }
    if (this.#first === undefined) this.#last = undefined;
    return this.#first;
  }
}
