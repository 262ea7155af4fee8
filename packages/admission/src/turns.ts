import type { Clock } from "spillway";
import { Queue } from "./queue.ts";

type Run = (nowMs: number) => void;

/** So much computing by those who started, and the loop is given time to read before the next one starts. */
const BUDGET_MS = 1;
/** The part of the time spent computing that reading may take before the next one starts, whatever still arrives. */
const READING_SHARE = 1 / 4;
/** A connection is accepted in one turn of the loop and read in the next, one in each turn: this many without an arrival mean that there is none. */
const QUIET_TURNS = 2;
const MOST_TURNS = 1000;

/**
 * Lets work start one event loop turn later, so that what has arrived with it is read first. Work that computes before it first
 * waits keeps the loop from reading; so after a while of it the next start waits until the loop has caught up with the arrivals.
 * Else they would queue in the kernel, where nobody sees them and nobody turns them away.
 */
export class Turns {
  readonly #clock: Clock;
  #computedMs = 0;
  #arrivals = 0;
  #isReading = false;
  /** Those whose turn came while the loop was to read. */
  readonly #heldUp: Queue<Run> = new Queue();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Tells of an arrival. */
  arrived(): void {
    this.#arrivals++;
  }

  /** Gives a function that asks for a turn of `run`. */
  of(run: Run): () => void {
    const turn = (): void => {
      // Those who are held up are there only while the loop reads.
      if (this.#isReading || this.#computedMs >= BUDGET_MS) this.#holdUp(run);
      else this.#time(run);
    };
    return () => this.#clock.afterTurn(turn);
  }

  #time(run: Run): void {
    const nowMs = this.#clock.monotonicMs();
    run(nowMs);
    this.#computedMs += Math.max(0, this.#clock.monotonicMs() - nowMs);
  }

  #holdUp(run: Run): void {
    this.#heldUp.add(run);
    if (!this.#isReading) this.#read();
  }

  #read(): void {
    const untilMs = this.#clock.monotonicMs() + this.#computedMs * READING_SHARE;
    let turns = 0;
    let quietTurns = 0;
    let seen = this.#arrivals;
    const read = (): void => {
      quietTurns = this.#arrivals === seen ? quietTurns + 1 : 0;
      seen = this.#arrivals;
      turns++;
      if (quietTurns < QUIET_TURNS && turns < MOST_TURNS && this.#clock.monotonicMs() < untilMs)
        this.#clock.afterTurn(read);
      else this.#goOn();
    };
    this.#isReading = true;
    this.#clock.afterTurn(read);
  }

  /** Runs those who were held up, until they have computed for a while too. */
  #goOn(): void {
    this.#isReading = false;
    this.#computedMs = 0;
    while (this.#computedMs < BUDGET_MS) {
      const run = this.#heldUp.take();
      if (run === undefined) return;
      this.#time(run);
    }
    if (!this.#heldUp.isEmpty) this.#read();
  }
}
