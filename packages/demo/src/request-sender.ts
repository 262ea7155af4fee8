import type { HttpAnswer } from "./http-answer.ts";

/** Where to, and the bytes to send. */
export interface PreparedRequest {
  readonly host: string;
  readonly port: number;
  readonly bytes: Buffer;
}

/** How one request ended: with an answer, or with the code of what went wrong. */
export type RequestEnd = { readonly answer: HttpAnswer } | { readonly failure: string };

/** Sends the same request again and again, without a queue: nothing waits its turn inside the generator. */
export interface RequestSender {
  /**
   * Sends one. Its end is told once, and never before this returns.
   * @returns gives the request up; after its end this does nothing.
   */
  send(onEnd: (end: RequestEnd) => void): () => void;
  /** Ends the connections. */
  close(): void;
}

/** A GET request. `connection` is what it asks for: one answer, or more to come. */
export function prepareRequest(
  url: URL,
  fields: Readonly<Record<string, string>>,
  connection: "close" | "keep-alive" = "close",
): PreparedRequest {
  const lines = [`GET ${url.pathname}${url.search} HTTP/1.1`, `host: ${url.host}`, `connection: ${connection}`];
  for (const [name, value] of Object.entries(fields)) lines.push(`${name}: ${value}`);
  return {
    host: url.hostname,
    port: Number(url.port === "" ? 80 : url.port),
    bytes: Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"),
  };
}
