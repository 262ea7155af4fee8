import type { Clock } from "spillway";
import type { VirtualLoop } from "./virtual-loop.ts";

/** The clocks of one machine: they can be stepped, and the machine can sleep. */
export interface VirtualClock extends Clock {
  /** Steps the wall clock, or for a store the clock it decides by. */
  step(ms: number): void;
  /** Nothing of this machine runs until `wake`. */
  sleep(): void;
  /** @param monotonicStoodStill whether the monotonic clock did not count the sleep, as on suspended machines. */
  wake(monotonicStoodStill: boolean): void;
  /** Runs what arrives at this machine: at once, or when it wakes. */
  whenAwake(run: () => void): void;
}

/** @param stepsMonotonic whether `step` moves the monotonic clock too, which is what a store decides by. */
export function virtualClock(loop: VirtualLoop, wallOffsetMs: number, stepsMonotonic = false): VirtualClock {
  let wallMs = 1_790_000_000_000 + wallOffsetMs;
  let monotonicMs = wallOffsetMs;
  let asleepSinceMs: number | undefined;
  let held: (() => void)[] = [];
  const whenAwake = (run: () => void): void => {
    if (asleepSinceMs === undefined) run();
    else held.push(run);
  };
  return {
    monotonicMs: () => loop.nowMs + monotonicMs,
    wallMs: () => loop.nowMs + wallMs,
    startTimer: (run, delayMs) => ({ cancel: loop.after(Math.max(delayMs, 0.001), () => whenAwake(run)) }),
    afterTurn: (run) => {
      loop.after(0, () => whenAwake(run));
    },
    step(ms) {
      wallMs += ms;
      if (stepsMonotonic) monotonicMs += ms;
    },
    sleep() {
      asleepSinceMs ??= loop.nowMs;
    },
    wake(monotonicStoodStill) {
      if (asleepSinceMs === undefined) return;
      if (monotonicStoodStill) monotonicMs -= loop.nowMs - asleepSinceMs;
      asleepSinceMs = undefined;
      const due = held;
      held = [];
      for (const run of due) run();
    },
    whenAwake,
  };
}
