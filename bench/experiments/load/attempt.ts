import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { LoadRun } from "./open-loop.ts";

/** What came of one request. */
export interface Answer {
  /** 0 when the connection failed. */
  readonly status: number;
  /** What a refusal said about when to come back. */
  readonly toldMs?: number | undefined;
  /** The code of what went wrong with the connection. */
  readonly error?: string;
}

/** One request. Its answer is told once, or never when it is abandoned before. */
export class Attempt {
  readonly #run: LoadRun;
  readonly #onAnswer: (answer: Answer) => void;
  #request: ClientRequest;
  #isOver = false;
  #wasSentAgain = false;

  constructor(run: LoadRun, onAnswer: (answer: Answer) => void) {
    this.#run = run;
    this.#onAnswer = onAnswer;
    this.#request = this.#send();
  }

  /** Closes the connection unless there was an answer. */
  abandon(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#request.destroy();
  }

  #send(): ClientRequest {
    const { plan, url, agent, open } = this.#run;
    const send = url.protocol === "https:" ? httpsRequest : httpRequest;
    const request = send(url, { method: plan.method ?? "GET", headers: { ...plan.headers }, agent });
    open.count++;
    request.once("close", () => open.count--);
    request.once("response", (response) => this.#read(response));
    request.on("error", (error: NodeJS.ErrnoException) => {
      if (!this.#sendAgain(request, error)) this.#tell({ status: 0, error: error.code ?? error.message });
    });
    return request.end(plan.body);
  }

  /** A connection that the server closes while it is idle may be used again in the same moment. The server has read nothing then. */
  #sendAgain(request: ClientRequest, error: NodeJS.ErrnoException): boolean {
    if (this.#isOver || this.#wasSentAgain || !request.reusedSocket || error.code !== "ECONNRESET") return false;
    this.#wasSentAgain = true;
    this.#request = this.#send();
    return true;
  }

  #read(response: IncomingMessage): void {
    const status = response.statusCode ?? 0;
    response.once("end", () => this.#tell({ status, toldMs: toldMsOf(response) }));
    response.once("error", (error: NodeJS.ErrnoException) =>
      this.#tell({ status: 0, error: error.code ?? error.message }),
    );
    response.resume();
  }

  #tell(answer: Answer): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onAnswer(answer);
  }
}

function toldMsOf({ headers }: IncomingMessage): number | undefined {
  const ms = Number(headers["retry-after-ms"] ?? Number.NaN);
  if (ms >= 0) return ms;
  const seconds = Number(headers["retry-after"] ?? Number.NaN);
  return seconds >= 0 ? seconds * 1000 : undefined;
}
