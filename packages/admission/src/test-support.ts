import type { Clock } from "spillway";
import { type ManualClock, manualClock } from "spillway/testing";
import { type AdmissionOptions, resolveAdmissionOptions } from "./admission-options.ts";
import type { AcquireOptions } from "./ask.ts";
import { Controller } from "./controller.ts";
import { Line } from "./line.ts";
import type { Permit } from "./permit.ts";
import type { Shed } from "./shed.ts";
import type { Place, Waiter } from "./waiter.ts";

/** A clock that the test moves, and an event loop whose turns the test takes. */
export interface TurnClock extends Clock {
  /** Lets time pass, runs the timers that fall due, and takes turns until none is asked for. */
  advance(ms: number): void;
  /** Time passes while the loop is blocked: no timer, no turn. */
  block(ms: number): void;
  /** What a turn of the loop runs: everything that was asked for before it. */
  turn(): void;
  /** Takes turns until none is asked for. */
  settle(): void;
  readonly pendingTimers: number;
  readonly pendingTurns: number;
}

const MOST_TURNS = 100_000;

export function turnClock(): TurnClock {
  const clock: ManualClock = manualClock();
  let turns: (() => void)[] = [];
  let blockedMs = 0;
  const turn = (): void => {
    const due = turns;
    turns = [];
    for (const run of due) run();
  };
  const settle = (): void => {
    for (let taken = 0; turns.length > 0; taken++) {
      if (taken > MOST_TURNS) throw new Error("The loop never comes to rest.");
      turn();
    }
  };
  return {
    monotonicMs: () => clock.monotonicMs() + blockedMs,
    wallMs: () => clock.wallMs() + blockedMs,
    startTimer: (run, delayMs, keepAlive) => clock.startTimer(run, delayMs, keepAlive),
    afterTurn: (run) => void turns.push(run),
    advance(ms) {
      settle();
      clock.advance(ms);
      settle();
    },
    block(ms) {
      blockedMs += ms;
    },
    turn,
    settle,
    get pendingTimers() {
      return clock.pendingTimers;
    },
    get pendingTurns() {
      return turns.length;
    },
  };
}

/** What became of a request, as the test looks at it. */
export interface Visitor {
  readonly place: Place | undefined;
  /** `undefined` while it waits. */
  answer: Permit | Shed | undefined;
  /** `"in"`, the reason of a refusal, or `"waiting"`. */
  readonly fate: string;
  release(): void;
}

/** A controller under a clock of the test, with no jitter in its promises. */
export function underTest(options: AdmissionOptions = {}, line: Line = new Line()) {
  const clock = turnClock();
  const controller = new Controller(resolveAdmissionOptions({ clock, random: () => 0, ...options }), line);
  const enter = (asked?: AcquireOptions, onAnswer?: (answer: Permit | Shed) => void): Visitor => {
    let place: Waiter | undefined;
    const visitor: Visitor = {
      get place() {
        return place;
      },
      answer: undefined,
      get fate() {
        if (this.answer === undefined) return "waiting";
        return this.answer.admitted ? "in" : this.answer.reason;
      },
      release() {
        if (this.answer?.admitted) this.answer.release();
      },
    };
    place = controller.enter(asked, (answer) => {
      visitor.answer = answer;
      onAnswer?.(answer);
    });
    return visitor;
  };
  /** So many requests at once, answered as far as the loop gets in its turns. */
  const crowd = (count: number, asked?: AcquireOptions): Visitor[] => {
    const visitors = Array.from({ length: count }, () => enter(asked));
    clock.settle();
    return visitors;
  };
  /** Tells the controller that work takes so long. */
  const teach = (workMs: number): void => {
    const visitor = enter();
    clock.advance(workMs);
    visitor.release();
  };
  return { clock, controller, enter, crowd, teach, stats: () => controller.stats() };
}

export function fates(visitors: readonly Visitor[]): string[] {
  return visitors.map(({ fate }) => fate);
}

/**
 * The line with an easy mistake in it: who leaves it otherwise than by being let in is taken out, but not counted out. It is kept
 * here so that tests can show that they would find it.
 */
export class LeakyLine extends Line {
  #ghosts = 0;
  #ghostCost = 0;

  override get items(): number {
    return super.items + this.#ghosts;
  }

  override get cost(): number {
    return super.cost + this.#ghostCost;
  }

  override takeDue(nowMs: number): Waiter | undefined {
    const due = super.takeDue(nowMs);
    if (due !== undefined) {
      this.#ghosts++;
      this.#ghostCost += due.ask.cost;
    }
    return due;
  }
}
