import { connect } from "node:net";
import { HttpAnswerReader } from "./http-answer.ts";
import type { PreparedRequest, RequestEnd, RequestSender } from "./request-sender.ts";

/** A connection for each request, which serves it alone: every request meets the load balancer anew. */
export class FreshConnections implements RequestSender {
  readonly #request: PreparedRequest;

  constructor(request: PreparedRequest) {
    this.#request = request;
  }

  send(onEnd: (end: RequestEnd) => void): () => void {
    const { host, port, bytes } = this.#request;
    const reader = new HttpAnswerReader();
    let over = false;
    const finish = (end: RequestEnd): void => {
      if (over) return;
      over = true;
      socket.destroy();
      onEnd(end);
    };
    const socket = connect({ host, port, noDelay: true });
    socket.write(bytes);
    socket.on("data", (chunk: Buffer) => {
      const answer = reader.push(chunk)[0];
      if (answer !== undefined) finish({ answer });
    });
    socket.on("end", () => {
      const answer = reader.end();
      finish(answer === undefined ? { failure: "ENDED_EARLY" } : { answer });
    });
    socket.on("error", (error: NodeJS.ErrnoException) => finish({ failure: error.code ?? error.message }));
    socket.on("close", () => finish({ failure: "CLOSED_EARLY" }));
    return () => finish({ failure: "GIVEN_UP" });
  }

  close(): void {
    // Each connection ends with its request.
  }
}
