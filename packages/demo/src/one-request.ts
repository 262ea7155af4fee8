import { connect } from "node:net";
import { type HttpAnswer, HttpAnswerReader } from "./http-answer.ts";

/** Where to, and the bytes to send. */
export interface PreparedRequest {
  readonly host: string;
  readonly port: number;
  readonly bytes: Buffer;
}

/** How one request ended: with an answer, or with the code of what went wrong. */
export type RequestEnd = { readonly answer: HttpAnswer } | { readonly failure: string };

/**
 * A GET request whose connection serves it alone. Keep-alive would let a few connections, and so a few workers, carry
 * all requests.
 */
export function prepareRequest(url: URL, fields: Readonly<Record<string, string>>): PreparedRequest {
  const lines = [`GET ${url.pathname}${url.search} HTTP/1.1`, `host: ${url.host}`, "connection: close"];
  for (const [name, value] of Object.entries(fields)) lines.push(`${name}: ${value}`);
  return {
    host: url.hostname,
    port: Number(url.port === "" ? 80 : url.port),
    bytes: Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"),
  };
}

/**
 * Opens a connection, sends the request and reports once how it ended. There is no pool, so nothing waits its turn inside
 * the generator.
 * @returns gives the request up; after its end this does nothing.
 */
export function sendRequest(request: PreparedRequest, onEnd: (end: RequestEnd) => void): () => void {
  const reader = new HttpAnswerReader();
  let over = false;
  const finish = (end: RequestEnd): void => {
    if (over) return;
    over = true;
    socket.destroy();
    onEnd(end);
  };
  const socket = connect({ host: request.host, port: request.port, noDelay: true });
  socket.write(request.bytes);
  socket.on("data", (chunk: Buffer) => {
    const answer = reader.push(chunk);
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
