import { DECISION_FIELD, type DecisionNote, readDecisionNote } from "./decision-note.ts";

/** What the load generator reads of an answer. */
export interface HttpAnswer {
  readonly status: number;
  /** Which worker says it answered: the `x-worker` field; empty when there is none. */
  readonly worker: string;
  /** How the worker says it decided. */
  readonly decision: DecisionNote | undefined;
}

const HEAD_END = "\r\n\r\n";
const STATUS = /^HTTP\/1\.[01] (\d{3})/;
const WORKER = /\r\nx-worker: *([^\r\n]*)/i;
const DECISION = new RegExp(`\\r\\n${DECISION_FIELD}: *([^\\r\\n]*)`, "i");
const LENGTH = /\r\ncontent-length: *(\d+)/i;

/**
 * Reads the HTTP/1.1 answers that come on one connection, in pieces. It knows as much of HTTP as the load generator needs: a
 * status, a few fields, and a body that ends at its content-length or with the connection.
 */
export class HttpAnswerReader {
  #text = "";

  /** @returns the answers of which this piece brought the last byte. */
  push(chunk: Buffer): HttpAnswer[] {
    this.#text += chunk.toString("latin1");
    const answers: HttpAnswer[] = [];
    for (let answer = this.#next(); answer !== undefined; answer = this.#next()) answers.push(answer);
    return answers;
  }

  /** @returns the answer that the end of the connection completes; `undefined` when it came too early for one. */
  end(): HttpAnswer | undefined {
    const headEnd = this.#text.indexOf(HEAD_END);
    const head = this.#text.slice(0, headEnd);
    return headEnd < 0 || LENGTH.test(head) ? undefined : answerOf(head);
  }

  #next(): HttpAnswer | undefined {
    const headEnd = this.#text.indexOf(HEAD_END);
    if (headEnd < 0) return undefined;
    const head = this.#text.slice(0, headEnd);
    const length = LENGTH.exec(head);
    if (length === null) return undefined;
    const end = headEnd + HEAD_END.length + Number(length[1]);
    if (this.#text.length < end) return undefined;
    this.#text = this.#text.slice(end);
    return answerOf(head);
  }
}

function answerOf(head: string): HttpAnswer | undefined {
  const status = STATUS.exec(head);
  if (status === null) return undefined;
  return {
    status: Number(status[1]),
    worker: WORKER.exec(head)?.[1]?.trim() ?? "",
    decision: readDecisionNote(DECISION.exec(head)?.[1]?.trim() ?? ""),
  };
}
