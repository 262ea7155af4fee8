/** Whether a function that should have answered at once has returned a promise, of whatever library. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}

/** A promise that nobody waits for must not end the process. */
export function dropRejection(value: unknown): void {
  if (isThenable(value)) value.then(undefined, () => {});
}
