import type { IncomingMessage, ServerResponse } from "node:http";
import type { Admission } from "../admission.ts";
import type { AcquireOptions } from "../ask.ts";
import { requireFunction } from "../option-error.ts";
import type { Permit, WorkOutcome } from "../permit.ts";
import type { Shed } from "../shed.ts";
import type { Place } from "../waiter.ts";
import { onConnectionEnd } from "./connection-end.ts";
import { withAttempt } from "./request-attempt.ts";

/**
 * Enters a request whose slots go back when its reply closes, whichever way: finished, failed or cut off. A caller who hangs up leaves the
 * line at once, and `onAnswer` is then never called. `x-request-attempt` is counted. Replies of HTTP/2 are fine too.
 */
export function enterWithReply(
  admission: Admission,
  options: AcquireOptions | undefined,
  request: IncomingMessage,
  response: ServerResponse,
  onAnswer: (answer: Permit | Shed) => void,
): void {
  requireFunction(onAnswer, "onAnswer");
  // Its "close" has been, and would never come again.
  if (isGone(request, response)) return;
  let visit: Visit | undefined;
  let isAnswered = false;
  const place = admission.enter(
    (answer) => {
      isAnswered = true;
      if (answer.admitted) {
        visit ??= new Visit(request, response);
        visit.hold(answer);
      }
      onAnswer(answer);
    },
    withAttempt(options, request.headers),
  );
  if (isAnswered) return;
  visit = new Visit(request, response);
  visit.wait(place);
}

/** One request that waits or works, until its reply closes. */
class Visit {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  #stopWatchingConnection: (() => void) | undefined;
  #place: Place | undefined;
  #permit: Permit | undefined;

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.#request = request;
    this.#response = response;
  }

  wait(place: Place): void {
    this.#place = place;
    this.#watch();
  }

  hold(permit: Permit): void {
    this.#permit = permit;
    noteWork(this.#response, permit);
    if (this.#place === undefined) this.#watch();
  }

  #watch(): void {
    const closed = (): void => this.#close(closed);
    this.#response.once("close", closed);
    // A pipelined reply whose turn has not come is not told that the connection is gone.
    const { socket } = this.#request;
    if (!this.#response.socket && typeof socket?.once === "function")
      this.#stopWatchingConnection = onConnectionEnd(socket, closed);
  }

  #close(listener: () => void): void {
    this.#response.removeListener("close", listener);
    this.#stopWatchingConnection?.();
    if (this.#permit === undefined) this.#place?.leave();
    else this.#permit.release(outcomeOf(this.#response));
  }
}

/** The work is done when the reply begins: the time that a slow reader takes to read it is not the time that work takes. */
function noteWork(response: ServerResponse, permit: Permit): void {
  const writeHead = response.writeHead as (...parts: unknown[]) => ServerResponse;
  response.writeHead = (...parts: unknown[]) => {
    permit.endWork();
    return writeHead.apply(response, parts);
  };
}

/** What both versions of HTTP call it. */
type AnyResponse = ServerResponse & { readonly stream?: { readonly destroyed: boolean } };

/** A pipelined reply whose turn has not come is not told that its connection is gone: only the request knows. */
function isGone({ socket }: IncomingMessage, response: AnyResponse): boolean {
  return response.destroyed || response.closed || response.stream?.destroyed === true || socket?.destroyed === true;
}

function outcomeOf(response: ServerResponse): WorkOutcome {
  // With HTTP/2 a reply that was cut off counts as finished, but not as ended. One that a test injects closes before it has
  // finished, on a connection that is still there.
  const isWhole = response.writableEnded && (response.writableFinished || response.socket?.destroyed === false);
  if (!isWhole) return "abandoned";
  return response.statusCode >= 500 ? "failed" : "done";
}
