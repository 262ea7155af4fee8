import type { FetchInit, FetchInput } from "./fetch-types.ts";

/** What can be said of a request before it is sent. */
export interface RequestTraits {
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  readonly signal: AbortSignal | undefined;
  readonly hasIdempotencyKey: boolean;
  readonly replayable: boolean;
}

/** @throws TypeError for headers that the platform does not take. */
export function requestTraits(input: FetchInput, init: FetchInit | undefined): RequestTraits {
  const request = isRequest(input) ? input : undefined;
  const headers = new Headers(init?.headers ?? request?.headers);
  const body: unknown = init?.body ?? undefined;
  return {
    url: request?.url ?? String(input),
    method: (init?.method ?? request?.method ?? "GET").toUpperCase(),
    headers,
    signal: (init?.signal === undefined ? request?.signal : init.signal) ?? undefined,
    hasIdempotencyKey: (headers.get("idempotency-key") ?? "").trim() !== "",
    // A request object's body is a stream, whatever it was made of.
    replayable: body === undefined ? (request?.body ?? null) === null : isReplayable(body),
  };
}

/** By its shape, since another copy of undici has a class of its own. */
function isRequest(input: FetchInput): input is Request {
  return typeof input === "object" && "url" in input && "headers" in input;
}

/** Whether a body can be sent again as it is; streams and iterables are gone after the first time. */
function isReplayable(body: unknown): boolean {
  return (
    typeof body === "string" ||
    body instanceof URLSearchParams ||
    body instanceof FormData ||
    body instanceof Blob ||
    body instanceof ArrayBuffer ||
    (typeof SharedArrayBuffer === "function" && body instanceof SharedArrayBuffer) ||
    ArrayBuffer.isView(body)
  );
}
