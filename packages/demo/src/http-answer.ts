/** What the load generator reads of an answer. */
export interface HttpAnswer {
  readonly status: number;
  /** Which worker says it answered: the `x-worker` field; empty when there is none. */
  readonly worker: string;
}

const HEAD_END = "\r\n\r\n";
const STATUS = /^HTTP\/1\.[01] (\d{3})/;
const WORKER = /\r\nx-worker: *([^\r\n]*)/i;
const LENGTH = /\r\ncontent-length: *(\d+)/i;

/**
 * Reads one HTTP/1.1 answer from the pieces of a connection that carries nothing else. It knows as much of HTTP as the load
 * generator needs: a status, a few fields, and a body that ends at its content-length or with the connection.
 */
export class HttpAnswerReader {
  #text = "";

  /** @returns the answer as soon as its last byte is there. */
  push(chunk: Buffer): HttpAnswer | undefined {
    this.#text += chunk.toString("latin1");
    const headEnd = this.#text.indexOf(HEAD_END);
    if (headEnd < 0) return undefined;
    const length = LENGTH.exec(this.#text.slice(0, headEnd));
    if (length === null || this.#text.length < headEnd + HEAD_END.length + Number(length[1])) return undefined;
    return this.#answer(headEnd);
  }

  /** @returns the answer that the end of the connection completes; `undefined` when it came too early for one. */
  end(): HttpAnswer | undefined {
    const headEnd = this.#text.indexOf(HEAD_END);
    if (headEnd < 0 || LENGTH.test(this.#text.slice(0, headEnd))) return undefined;
    return this.#answer(headEnd);
  }

  #answer(headEnd: number): HttpAnswer | undefined {
    const head = this.#text.slice(0, headEnd);
    const status = STATUS.exec(head);
    if (status === null) return undefined;
    return { status: Number(status[1]), worker: WORKER.exec(head)?.[1]?.trim() ?? "" };
  }
}
