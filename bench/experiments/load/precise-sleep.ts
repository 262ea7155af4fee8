/** A timer may fire this much late; the rest of the time is spent looking at the clock, once in each turn of the event loop. */
const TIMER_SLACK_MS = 2;

/** Sleeps until `untilMs` on `performance.now()`, on the dot rather than a timer's tick later. */
export function sleepUntil(untilMs: number): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (performance.now() >= untilMs) resolve();
      else setImmediate(look);
    };
    const restMs = untilMs - performance.now() - TIMER_SLACK_MS;
    if (restMs > 0) setTimeout(look, restMs);
    else look();
  });
}
