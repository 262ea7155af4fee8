import type { IncomingMessage, ServerResponse } from "node:http";
import type { Admission } from "../admission.ts";
import type { AcquireOptions } from "../ask.ts";
import type { Permit, WorkOutcome } from "../permit.ts";
import type { Shed } from "../shed.ts";
import type { Place } from "../waiter.ts";
import { onConnectionEnd } from "./connection-end.ts";

/**
 * Enters a request whose slots go back when its reply closes, whichever way: finished, failed or cut off. A caller who hangs up leaves the
 * line at once, and `onAnswer` is then never called. Replies of HTTP/2 are fine too.
 */
export function enterWithReply(
  admission: Admission,
  options: AcquireOptions | undefined,
  request: IncomingMessage,
  response: ServerResponse,
  onAnswer: (answer: Permit | Shed) => void,
): void {
  // Its "close" has been, and would never come again.
  if (isGone(response)) return;
  const visit = new Visit(request, response, onAnswer);
  visit.enter(admission, options);
}

/** One request between its arrival and the close of its reply. */
class Visit {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #onAnswer: (answer: Permit | Shed) => void;
  #stopWatchingConnection: (() => void) | undefined;
  #place: Place | undefined;
  #permit: Permit | undefined;
  #isWatched = false;

  constructor(request: IncomingMessage, response: ServerResponse, onAnswer: (answer: Permit | Shed) => void) {
    this.#request = request;
    this.#response = response;
    this.#onAnswer = onAnswer;
  }

  enter(admission: Admission, options: AcquireOptions | undefined): void {
    let isShed = false;
    const place = admission.enter((answer) => {
      if (answer.admitted) {
        this.#permit = answer;
        noteWork(this.#response, answer);
        this.#watch();
      } else isShed = true;
      this.#onAnswer(answer);
    }, options);
    if (isShed || this.#permit !== undefined) return;
    this.#place = place;
    this.#watch();
  }

  #watch(): void {
    if (this.#isWatched) return;
    this.#isWatched = true;
    this.#response.once("close", this.#closed);
    // A pipelined reply whose turn has not come is not told that the connection is gone.
    const { socket } = this.#request;
    if (!this.#response.socket && typeof socket?.once === "function")
      this.#stopWatchingConnection = onConnectionEnd(socket, this.#closed);
  }

  readonly #closed = (): void => {
    this.#response.removeListener("close", this.#closed);
    this.#stopWatchingConnection?.();
    if (this.#permit === undefined) this.#place?.leave();
    else this.#permit.release(outcomeOf(this.#response));
  };
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

function isGone(response: AnyResponse): boolean {
  return response.destroyed || response.closed || response.stream?.destroyed === true;
}

function outcomeOf(response: ServerResponse): WorkOutcome {
  // With HTTP/2 a reply that was cut off counts as finished, but not as ended. One that a test injects closes before it has
  // finished, on a connection that is still there.
  const isWhole = response.writableEnded && (response.writableFinished || response.socket?.destroyed === false);
  if (!isWhole) return "abandoned";
  return response.statusCode >= 500 ? "failed" : "done";
}
