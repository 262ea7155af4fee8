/**
 * How the work went. `"done"`: as it should. `"failed"`: it threw, so that its time says nothing about other work.
 * `"abandoned"`: nobody wanted the answer any more; counted as wasted.
 */
export type WorkOutcome = "done" | "failed" | "abandoned";

/** The right to work on one request. It is given back once; further calls do nothing. */
export interface Permit {
  readonly admitted: true;
  /** How long the request was in the line, in ms. */
  readonly waitedMs: number;
  /** What is left of the caller's deadline in ms, at least 0; `Infinity` without one. */
  remainingMs(): number;
  /**
   * Tells that the work itself is done while the slots are still held, for example by a reply that streams to a slow reader:
   * what comes after does not count as the time that work takes. The first call counts.
   */
  endWork(): void;
  /** Gives the slots back. Defaults to `"done"`. */
  release(outcome?: WorkOutcome): void;
  [Symbol.dispose](): void;
}

/** Who gave the permit, and takes it back. */
export interface PermitOwner {
  nowMs(): number;
  /** Is called once for each permit. */
  takeBack(permit: HeldPermit, outcome: WorkOutcome): void;
}

/** A permit as its owner keeps it. */
export class HeldPermit implements Permit {
  readonly admitted = true;
  readonly waitedMs: number;
  /** What it takes of the slots. */
  readonly cost: number;
  readonly startedMs: number;
  readonly deadlineAtMs: number;
  readonly signal: AbortSignal | undefined;
  readonly #owner: PermitOwner;
  #workEndedMs: number | undefined = undefined;
  #isHeld = true;

  constructor(
    owner: PermitOwner,
    cost: number,
    waitedMs: number,
    startedMs: number,
    deadlineAtMs: number,
    signal: AbortSignal | undefined,
  ) {
    this.#owner = owner;
    this.cost = cost;
    this.waitedMs = waitedMs;
    this.startedMs = startedMs;
    this.deadlineAtMs = deadlineAtMs;
    this.signal = signal;
  }

  get workEndedMs(): number | undefined {
    return this.#workEndedMs;
  }

  remainingMs(): number {
    if (this.deadlineAtMs === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY;
    return Math.max(0, this.deadlineAtMs - this.#owner.nowMs());
  }

  endWork(): void {
    if (this.#isHeld) this.#workEndedMs ??= this.#owner.nowMs();
  }

  release(outcome: WorkOutcome = "done"): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#owner.takeBack(this, outcome);
  }

  [Symbol.dispose](): void {
    this.release();
  }
}
