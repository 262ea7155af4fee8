/** Whether a function that should have answered at once has returned a promise, of whatever library. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}

/** Tells what a promise rejects with that nobody waits for, and that must not end the process. */
export function onRejection(value: unknown, tell: (error: unknown) => void): void {
  if (isThenable(value)) value.then(undefined, tell);
}

/** As `onRejection`, where it is of no interest. */
export function dropRejection(value: unknown): void {
  onRejection(value, () => {});
}
