import { AsyncLocalStorage } from "node:async_hooks";
import { type Clock, systemClock } from "spillway";
import { invalidOption } from "spillway/kit";

/** Headers as a server gets them: Node's, Fastify's, or the platform's. */
export type IncomingHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/** What the calls made for an incoming request inherit from it. */
export interface CallerContext {
  /** `undefined` when the request has no deadline. */
  readonly deadlineAtMs: number | undefined;
  /** The attempt header, when the caller repeats the request itself if need be. */
  readonly attempt: string | undefined;
  readonly clock: Clock;
}

export interface OnBehalfOfOptions {
  /** The headers' names, where the clients do not use the usual ones. */
  readonly deadlineHeader?: string;
  readonly attemptHeader?: string;
  readonly clock?: Clock;
}

const contexts = new AsyncLocalStorage<CallerContext>();

/**
 * Runs `run`, in which every call of every client belongs to the incoming request with these headers: it has no more time
 * than that request has left, and leaves retrying to its caller when that one says that it retries. So a call through several
 * services is repeated by one of them. In Fastify: `app.addHook("onRequest", (request, _reply, done) =>
 * onBehalfOf(request.headers, done))`. A caller can only shorten what is done for it, so the headers need no trust.
 * @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION` for headers that are none.
 */
export function onBehalfOf<T>(headers: IncomingHeaders, run: () => T, options: OnBehalfOfOptions = {}): T {
  const {
    deadlineHeader = "x-request-deadline-ms",
    attemptHeader = "x-request-attempt",
    clock = systemClock,
  } = options;
  if (typeof headers !== "object" || headers === null)
    throw invalidOption("headers", "the headers of the incoming request", headers);
  const leftMs = readDeadlineMs(firstValue(headers, deadlineHeader));
  const context: CallerContext = {
    deadlineAtMs: leftMs === undefined ? undefined : clock.monotonicMs() + leftMs,
    attempt: attemptOf(firstValue(headers, attemptHeader)),
    clock,
  };
  return contexts.run(context, run);
}

/** A number to send on; whatever else was sent there says as well that the caller repeats the request. */
function attemptOf(value: string | undefined): string | undefined {
  return value === undefined || /^[0-9]{1,9}$/.test(value) ? value : "1";
}

/** What the present call inherits. */
export function callerContext(): CallerContext | undefined {
  return contexts.getStore();
}

/** What is left of a deadline, from its header: digits alone. @returns `undefined` for anything else. */
export function readDeadlineMs(value: string | null | undefined): number | undefined {
  const text = value?.trim() ?? "";
  return /^[0-9]{1,15}$/.test(text) ? Number(text) : undefined;
}

function firstValue(headers: IncomingHeaders, name: string): string | undefined {
  if (typeof (headers as Headers).get === "function") return (headers as Headers).get(name) ?? undefined;
  const value = (headers as Readonly<Record<string, string | readonly string[] | undefined>>)[name.toLowerCase()];
  return typeof value === "string" ? value : value?.[0];
}
