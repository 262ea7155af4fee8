/** A timer that can be given up. Cancelling twice, or after it fired, does nothing. */
export interface Timer {
  cancel(): void;
}

/**
 * Where a limiter reads time. Only local matters use it (deadlines, lease lives, the backstop): a decision of the
 * store is made on the store's own clock.
 */
export interface Clock {
  /** Milliseconds since a fixed instant; never goes back. Fractions are welcome. */
  monotonicMs(): number;
  /** Milliseconds since 1970, as `Date.now()` gives them; may be stepped by an operator. */
  wallMs(): number;
  /**
   * Calls `run` once after `delayMs`, which is cut to the longest that the platform can wait (2^31 - 1 ms).
   * @param keepAlive whether a pending timer keeps the process from exiting by itself.
   */
  startTimer(run: () => void, delayMs: number, keepAlive: boolean): Timer;
  /** Calls `run` once the events that have already come (arrivals, replies) have been handled. */
  afterTurn(run: () => void): void;
}

/** Captured at import: a test runner's fake timers must not keep callers from the store. */
const afterTurn: (run: () => void) => void = setImmediate;

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The clock of this machine. Its globals are looked up at each call, so that fake timers of a test runner reach it. */
export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  startTimer(run, delayMs, keepAlive) {
    const timer = setTimeout(run, Math.min(Math.max(0, delayMs), LONGEST_TIMER_MS));
    if (!keepAlive) timer.unref?.();
    return { cancel: () => clearTimeout(timer) };
  },
  afterTurn,
};
