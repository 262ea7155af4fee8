import type { Waiter } from "./waiter.ts";

/** Tells when the caller of a waiter goes away, until `stopWatching`. */
export function watchAbort(waiter: Waiter, onAbort: () => void): void {
  const { signal } = waiter.ask;
  if (signal === undefined) return;
  waiter.onAbort = onAbort;
  signal.addEventListener("abort", onAbort, { once: true });
}

/** A signal may live long after the request; it must not keep the waiter. */
export function stopWatching(waiter: Waiter): void {
  if (waiter.onAbort !== undefined) waiter.ask.signal?.removeEventListener("abort", waiter.onAbort);
  waiter.onAbort = undefined;
}
