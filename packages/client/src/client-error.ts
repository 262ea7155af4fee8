import { SpillwayError } from "spillway";

/** The codes that a {@link ClientError} carries; `docs/errors.md` says of each what to do. */
export type ClientErrorCode =
  | "ERR_SPILLWAY_BREAKER_OPEN"
  | "ERR_SPILLWAY_CALL_TIMEOUT"
  | "ERR_SPILLWAY_PAUSED"
  | "ERR_SPILLWAY_THROTTLED";

/** A call that this client refused, or gave up when its time was over. `isSpillwayError` knows it. */
export class ClientError extends SpillwayError {
  declare readonly code: ClientErrorCode;
  /** When a call may go through again; `undefined` when not known. */
  readonly retryAfterMs: number | undefined;

  constructor(code: ClientErrorCode, message: string, retryAfterMs?: number, cause?: unknown) {
    super(code, message, cause === undefined ? undefined : { cause });
    this.retryAfterMs = retryAfterMs;
  }
}

/** The time of a call, or of one attempt, was over. Its `cause` is what `AbortSignal.timeout` would give. */
export function timeoutError(what: "call" | "attempt", lengthMs: number): ClientError {
  const message = `The ${what} had no answer within ${Math.round(lengthMs)} ms.`;
  return new ClientError("ERR_SPILLWAY_CALL_TIMEOUT", message, undefined, new DOMException(message, "TimeoutError"));
}
