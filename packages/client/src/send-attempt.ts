import type { Clock } from "spillway";
import { timeoutError } from "./client-error.ts";
import type { Fetch, FetchInit, FetchInput } from "./fetch-types.ts";
import { abortBodyWith, onAbort } from "./on-abort.ts";
import { readJsonBody } from "./read-json-body.ts";

/** What one attempt came to. */
export type AttemptResult =
  | {
      readonly kind: "answer";
      readonly response: Response;
      /** The JSON of a 429, which can say that no retry helps. */
      readonly body: unknown;
    }
  | { readonly kind: "error"; readonly error: unknown }
  /** The caller's signal ended it. */
  | { readonly kind: "aborted"; readonly reason: unknown };

export interface AttemptCall {
  readonly fetch: Fetch;
  readonly input: FetchInput;
  readonly init: FetchInit;
  readonly signal: AbortSignal | undefined;
  /** How long the head of the answer may take; `Infinity` for as long as it likes. */
  readonly limitMs: number;
  /** The length that a timeout's message names, and whose it is. */
  readonly limitOf: "call" | "attempt";
  readonly lengthMs: number;
  readonly clock: Clock;
}

/**
 * Sends one request. It settles within `limitMs` and at once on the caller's abort, also when the given `fetch` heeds no
 * signal; what comes after that is let go. It never rejects, and leaves no timer.
 */
export async function sendAttempt(call: AttemptCall): Promise<AttemptResult> {
  const { signal, clock, limitMs } = call;
  if (signal?.aborted) return { kind: "aborted", reason: signal.reason };
  const controller = new AbortController();
  const fetched = answerTo(call, controller);
  let stop = (): void => undefined;
  const cutShort = new Promise<AttemptResult>((resolve) => {
    const end = (result: AttemptResult, reason: unknown): void => {
      resolve(result);
      controller.abort(reason);
      void fetched.then(letGo);
    };
    const timer =
      limitMs === Number.POSITIVE_INFINITY
        ? undefined
        : clock.startTimer(
            () => {
              const error = timeoutError(call.limitOf, call.lengthMs);
              end({ kind: "error", error }, error);
            },
            limitMs,
            true,
          );
    const takeBack =
      signal === undefined
        ? undefined
        : onAbort(signal, () => end({ kind: "aborted", reason: signal.reason }, signal.reason));
    stop = () => {
      timer?.cancel();
      takeBack?.();
    };
  });
  const result = await Promise.race([fetched, cutShort]);
  stop();
  if (result.kind === "answer" && signal !== undefined && result.response.body)
    abortBodyWith(signal, controller, result.response.body);
  return result;
}

/** Lets the body of an answer that nobody will read go, and its connection with it. */
export function letGo(result: AttemptResult): void {
  if (result.kind !== "answer") return;
  // A body that someone reads, or has read, rejects.
  result.response.body?.cancel().catch(() => undefined);
}

async function answerTo(call: AttemptCall, controller: AbortController): Promise<AttemptResult> {
  try {
    const response = await call.fetch(call.input, { ...call.init, signal: controller.signal });
    const body = response.status === 429 ? await readJsonBody(response) : undefined;
    return { kind: "answer", response, body };
  } catch (error) {
    return { kind: "error", error };
  }
}
