import type { Waiter } from "./waiter.ts";

/** Those who watch a signal. */
interface Watch {
  readonly runs: Set<() => void>;
  readonly listener: () => void;
}

const watches = new WeakMap<AbortSignal, Watch>();

/**
 * Tells when the caller of a waiter goes away, until `stopWatching`. One listener serves all who watch a signal: that of a
 * process that shuts down may be given to every call.
 */
export function watchAbort(waiter: Waiter, onAbort: () => void): void {
  const { signal } = waiter.ask;
  if (signal === undefined) return;
  waiter.onAbort = onAbort;
  (watches.get(signal) ?? watch(signal)).runs.add(onAbort);
}

/** A signal may live long after the request; it must not keep the waiter. */
export function stopWatching(waiter: Waiter): void {
  const { onAbort, ask } = waiter;
  if (onAbort === undefined || ask.signal === undefined) return;
  waiter.onAbort = undefined;
  const found = watches.get(ask.signal);
  if (found?.runs.delete(onAbort) !== true || found.runs.size > 0) return;
  watches.delete(ask.signal);
  ask.signal.removeEventListener("abort", found.listener);
}

function watch(signal: AbortSignal): Watch {
  const runs = new Set<() => void>();
  const listener = (): void => {
    for (const run of runs) run();
  };
  signal.addEventListener("abort", listener, { once: true });
  const created: Watch = { runs, listener };
  watches.set(signal, created);
  return created;
}
