import { onAbort } from "spillway/kit";

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
