import type { Decision } from "../decision.ts";
import type { Lane } from "./lane.ts";

/** Somebody who waits for the store's decision, and for no longer than the deadline. */
export class Caller {
  readonly lane: Lane;
  readonly costs: readonly number[];
  /** On the monotonic and on the wall clock: a machine that was suspended shows in one of them only. */
  readonly arrivedMs: number;
  readonly arrivedWallMs: number;
  readonly #resolve: (decision: Decision) => void;
  #settled = false;

  constructor(
    lane: Lane,
    costs: readonly number[],
    arrivedMs: number,
    arrivedWallMs: number,
    resolve: (decision: Decision) => void,
  ) {
    this.lane = lane;
    this.costs = costs;
    this.arrivedMs = arrivedMs;
    this.arrivedWallMs = arrivedWallMs;
    this.#resolve = resolve;
  }

  /** Whether a decision was given, or is wanted no more. */
  get settled(): boolean {
    return this.#settled;
  }

  /** Gives the decision. Only the first counts. */
  settle(decision: Decision): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#resolve(decision);
  }

  /** The caller went away. What the store already took for it stays taken. */
  abandon(): void {
    this.#settled = true;
  }
}

/** Callers in order of arrival, so that the next deadline is always at the front. */
export class ArrivalQueue {
  #callers: Caller[] = [];
  #front = 0;

  push(caller: Caller): void {
    this.#callers.push(caller);
  }

  /** The oldest caller that still waits. Those in front of it are let go. */
  oldest(): Caller | undefined {
    while (this.#callers[this.#front]?.settled === true) this.#front++;
    if (this.#front > 1000 && this.#front * 2 > this.#callers.length) {
      this.#callers = this.#callers.slice(this.#front);
      this.#front = 0;
    }
    if (this.#front === this.#callers.length && this.#front > 0) {
      this.#callers = [];
      this.#front = 0;
    }
    return this.#callers[this.#front];
  }
}
