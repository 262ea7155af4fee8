/** Everyone who waits for one signal, behind one listener: a signal that many calls share is not warned about as a leak. */
interface Fan {
  readonly runs: Set<() => void>;
  readonly listener: () => void;
}

const fans = new WeakMap<AbortSignal, Fan>();

/**
 * Calls `run` once when `signal` is aborted. Precondition: it is not yet.
 * @returns what takes it back; the signal keeps nothing then.
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
    const all = [...runs];
    runs.clear();
    for (const run of all) run();
  };
  const fan = { runs, listener };
  fans.set(signal, fan);
  return fan;
}

/** Keeps an attempt's controller alive for as long as its body is. */
const controllers = new WeakMap<object, AbortController>();
const bodies = new FinalizationRegistry<() => void>((takeBack) => takeBack());

/**
 * Lets `signal` end a body that is still being read, without keeping either alive: the listener goes when the body does.
 * `AbortSignal.any` would do the same, but on Node 20 what it makes lives as long as `signal` does.
 */
export function abortBodyWith(signal: AbortSignal, controller: AbortController, body: object): void {
  const weak = new WeakRef(controller);
  controllers.set(body, controller);
  bodies.register(
    body,
    onAbort(signal, () => weak.deref()?.abort(signal.reason)),
  );
}
