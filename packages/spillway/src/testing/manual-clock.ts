import { type Clock, systemClock, type Timer } from "../clock.ts";

/** A clock that stands still until it is told otherwise. */
export interface ManualClock extends Clock {
  /** Lets time pass on both clocks and runs the timers that fall due, in order. */
  advance(ms: number): void;
  /** Steps the wall clock, forward or back, without any time passing. */
  stepWall(ms: number): void;
  /** Timers that have not run and were not cancelled. */
  readonly pendingTimers: number;
}

interface PendingTimer {
  readonly dueMs: number;
  run(): void;
}

/** A clock for tests. @param wallMs what the wall clock shows first; defaults to 2026-01-01. */
export function manualClock(wallMs: number = Date.UTC(2026, 0, 1)): ManualClock {
  let monotonicMs = 0;
  let offsetMs = wallMs;
  let timers: PendingTimer[] = [];
  return {
    monotonicMs: () => monotonicMs,
    wallMs: () => monotonicMs + offsetMs,
    startTimer(run, delayMs): Timer {
      const timer: PendingTimer = { dueMs: monotonicMs + Math.max(0, delayMs), run };
      timers.push(timer);
      return {
        cancel: () => {
          timers = timers.filter((other) => other !== timer);
        },
      };
    },
    afterTurn: systemClock.afterTurn,
    advance(ms) {
      const untilMs = monotonicMs + ms;
      for (;;) {
        const due = timers.filter(({ dueMs }) => dueMs <= untilMs).sort((a, b) => a.dueMs - b.dueMs)[0];
        if (due === undefined) break;
        timers = timers.filter((other) => other !== due);
        monotonicMs = Math.max(monotonicMs, due.dueMs);
        due.run();
      }
      monotonicMs = untilMs;
    },
    stepWall(ms) {
      offsetMs += ms;
    },
    get pendingTimers() {
      return timers.length;
    },
  };
}
