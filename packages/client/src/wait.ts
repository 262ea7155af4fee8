import type { Clock } from "spillway";
import { onAbort } from "spillway/kit";

/**
 * Waits, or until it is woken. An abort ends it at once, with the signal's reason as the rejection and no timer left.
 * A wait keeps the process alive, as its caller is waiting too.
 */
export function waitFor(
  clock: Clock,
  ms: number,
  signal: AbortSignal | undefined,
  sleeper?: { wake: () => void },
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    let takeBack = (): void => undefined;
    const dueMs = clock.monotonicMs() + ms;
    // The longest timer of the platform may be shorter than the wait.
    const start = () =>
      clock.startTimer(() => (clock.monotonicMs() < dueMs ? again() : done()), dueMs - clock.monotonicMs(), true);
    let timer = start();
    const again = (): void => {
      timer = start();
    };
    const done = (): void => {
      takeBack();
      resolve();
    };
    if (sleeper !== undefined)
      sleeper.wake = () => {
        timer.cancel();
        done();
      };
    if (signal !== undefined)
      takeBack = onAbort(signal, () => {
        timer.cancel();
        reject(signal.reason);
      });
  });
}
