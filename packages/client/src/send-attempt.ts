import type { Clock } from "spillway";
import { onAbort } from "spillway/kit";
import { abortBodyWith } from "./abort-body.ts";
import { timeoutError } from "./client-error.ts";
import type { Fetch, FetchInit, FetchInput } from "./fetch-types.ts";
import { readJsonBody } from "./read-json-body.ts";

/** How long the JSON of a 429 may take once its head is there. */
const BODY_WITHIN_MS = 1000;

/** What one attempt came to. */
export type AttemptResult =
  | {
      readonly kind: "answer";
      readonly response: Response;
      /** The JSON of a 429, which can say that no retry helps; `undefined` when it was not there within a second. */
      readonly body?: unknown;
      /** Gives up what was not read of that. */
      readonly endReading?: (() => void) | undefined;
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
  const startedMs = clock.monotonicMs();
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
  if (result.kind !== "answer") return result;
  const { response } = result;
  if (signal !== undefined && response.body) abortBodyWith(signal, controller, response.body);
  const withinMs = Math.min(BODY_WITHIN_MS, limitMs - (clock.monotonicMs() - startedMs));
  if (response.status !== 429 || withinMs <= 0 || signal?.aborted) return result;
  const { json, end } = await readJsonBody(response, { clock, withinMs, signal });
  const read = { ...result, body: json, endReading: end };
  if (!signal?.aborted) return read;
  letGo(read);
  return { kind: "aborted", reason: signal.reason };
}

/** Lets the body of an answer that nobody will read go, and its connection with it. */
export function letGo(result: AttemptResult): void {
  if (result.kind !== "answer") return;
  const body: { readonly cancel?: () => unknown } | null = result.response.body;
  // A body that someone reads, or has read, rejects. One of another kind of fetch may have no such method.
  if (typeof body?.cancel === "function") Promise.resolve(body.cancel()).catch(() => undefined);
  result.endReading?.();
}

async function answerTo(call: AttemptCall, controller: AbortController): Promise<AttemptResult> {
  try {
    const response = await call.fetch(call.input, { ...call.init, signal: controller.signal });
    // What is no response must fail here, not later.
    if (typeof response.status !== "number") throw new TypeError("fetch answered with something that is no response");
    return { kind: "answer", response };
  } catch (error) {
    return { kind: "error", error };
  }
}
