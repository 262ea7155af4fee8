/** Everyone who waits for one signal, behind one listener: a signal that many calls share is not warned about as a leak. */
interface Fan {
  readonly runs: Set<() => void>;
  readonly listener: () => void;
}

const fans = new WeakMap<AbortSignal, Fan>();

/**
 * Calls `run` once when `signal` is aborted. Precondition: it is not yet.
 * @returns what takes it back; the signal keeps nothing then, and what another one's `run` takes back is not called.
 */
export function onAbort(signal: AbortSignal, run: () => void): () => void {
  const fan = fans.get(signal) ?? newFan(signal);
  if (fan.runs.size === 0) signal.addEventListener("abort", fan.listener, { once: true });
  const own = () => run();
  fan.runs.add(own);
  return () => {
    if (fan.runs.delete(own) && fan.runs.size === 0) signal.removeEventListener("abort", fan.listener);
  };
}

function newFan(signal: AbortSignal): Fan {
  const runs = new Set<() => void>();
  const listener = () => {
    for (const run of runs) run();
    runs.clear();
  };
  const fan = { runs, listener };
  fans.set(signal, fan);
  return fan;
}
