import type { Clock, Timer } from "../../packages/spillway/src/clock.ts";
import type { Instant } from "../../packages/spillway/src/lease/shelf.ts";

interface PendingTimer {
  readonly dueMs: number;
  readonly run: () => void;
}

/** The two clocks of one machine, which need not run right: they drift, stand still while the machine sleeps, are stepped. */
export class HolderClock implements Clock {
  readonly #nowUs: () => number;
  readonly #rate: number;
  #monotonicOffsetMs: number;
  #wallOffsetMs: number;
  #timers: PendingTimer[] = [];
  #turn: (() => void)[] = [];
  #asleepSinceUs: number | undefined;
  /** What came while the machine slept. */
  #held: (() => void)[] = [];

  /** @param rate how fast both clocks run; 1 is right. */
  constructor(nowUs: () => number, rate: number, monotonicMs: number, wallMs: number) {
    this.#nowUs = nowUs;
    this.#rate = rate;
    this.#monotonicOffsetMs = monotonicMs;
    this.#wallOffsetMs = wallMs;
  }

  get isAsleep(): boolean {
    return this.#asleepSinceUs !== undefined;
  }

  get instant(): Instant {
    return { monotonicMs: this.monotonicMs(), wallMs: this.wallMs() };
  }

  monotonicMs(): number {
    return (this.#nowUs() * this.#rate) / 1000 + this.#monotonicOffsetMs;
  }

  wallMs(): number {
    return (this.#nowUs() * this.#rate) / 1000 + this.#wallOffsetMs;
  }

  stepWall(ms: number): void {
    this.#wallOffsetMs += ms;
  }

  startTimer(run: () => void, delayMs: number): Timer {
    const timer = { dueMs: this.monotonicMs() + Math.max(0, delayMs), run };
    this.#timers.push(timer);
    return {
      cancel: () => {
        this.#timers = this.#timers.filter((other) => other !== timer);
      },
    };
  }

  afterTurn(run: () => void): void {
    this.#turn.push(run);
  }

  get pendingTimers(): number {
    return this.#timers.length;
  }

  /** When the next timer is due, in true microseconds; `Infinity` when there is none, or nobody is awake to see it. */
  get nextDueUs(): number {
    if (this.isAsleep) return Number.POSITIVE_INFINITY;
    let dueMs = Number.POSITIVE_INFINITY;
    for (const timer of this.#timers) dueMs = Math.min(dueMs, timer.dueMs);
    return Math.ceil(((dueMs - this.#monotonicOffsetMs) * 1000) / this.#rate);
  }

  /** Runs one timer that is due. */
  runDueTimer(): void {
    // A microsecond is less than what a platform's timers can tell apart.
    const due = this.#timers
      .filter(({ dueMs }) => dueMs <= this.monotonicMs() + 0.001)
      .sort((a, b) => a.dueMs - b.dueMs)[0];
    if (due === undefined) return;
    this.#timers = this.#timers.filter((other) => other !== due);
    due.run();
  }

  /** Ends turns of the event loop until none has anything left to do. */
  endTurn(): boolean {
    if (this.isAsleep || this.#turn.length === 0) return false;
    const turn = this.#turn;
    this.#turn = [];
    for (const run of turn) run();
    return true;
  }

  sleep(): void {
    this.#asleepSinceUs ??= this.#nowUs();
  }

  /**
   * @param stoodStill whether the monotonic clock did not count the sleep, as that of a suspended machine.
   * @param repliesFirst whether what came meanwhile is seen before the timers that fell due.
   */
  wake(stoodStill: boolean, repliesFirst: boolean): void {
    if (this.#asleepSinceUs === undefined) return;
    if (stoodStill) this.#monotonicOffsetMs -= ((this.#nowUs() - this.#asleepSinceUs) * this.#rate) / 1000;
    this.#asleepSinceUs = undefined;
    const held = this.#held;
    this.#held = [];
    const runHeld = (): void => {
      for (const run of held) run();
    };
    if (repliesFirst) runHeld();
    for (let n = this.#timers.length; n > 0; n--) this.runDueTimer();
    if (!repliesFirst) runHeld();
  }

  whenAwake(run: () => void): void {
    if (this.isAsleep) this.#held.push(run);
    else run();
  }
}
