import type { FastifyRequest } from "fastify";

/** Whether a function that should have answered at once has returned a promise, of whatever library. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}

/** A promise that nobody waits for must not end the process. */
export function dropRejection(value: unknown): void {
  if (isThenable(value)) value.then(undefined, () => {});
}

/** What an option that is only told something has returned: nobody waits for it, and that it rejected is logged as an error. */
export function logRejection(returned: unknown, option: string, request: FastifyRequest): void {
  if (isThenable(returned))
    returned.then(undefined, (error: unknown) => request.log.error(error, `Option ${option} rejected.`));
}
