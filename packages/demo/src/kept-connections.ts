import { connect, type Socket } from "node:net";
import { type HttpAnswer, HttpAnswerReader } from "./http-answer.ts";
import type { PreparedRequest, RequestEnd, RequestSender } from "./request-sender.ts";

/** How many connections each server gets. */
export const CONNECTIONS_EACH = 8;
const GREETED_WITHIN_MS = 5000;

/**
 * Connections that stay open, the same number to each server, for rates at which opening one for each request costs more than
 * all the rest. Requests are dealt out to the servers in turn, so that each gets its part whatever the number of connections.
 * A request never waits for another one's answer: it is sent behind it.
 */
export class KeptConnections implements RequestSender {
  readonly #request: PreparedRequest;
  readonly #groups: readonly (readonly KeptConnection[])[];
  #turn = 0;

  private constructor(request: PreparedRequest, groups: readonly (readonly KeptConnection[])[]) {
    this.#request = request;
    this.#groups = groups;
  }

  /**
   * Opens connections until each of so many servers has its number. On each one the greeting is sent first: its answer says
   * which server is behind it.
   * @throws Error when some server cannot be reached often enough.
   */
  static async open(request: PreparedRequest, greeting: PreparedRequest, servers: number): Promise<KeptConnections> {
    const groups = new Map<string, KeptConnection[]>();
    const isComplete = (): boolean =>
      groups.size === servers && [...groups.values()].every((group) => group.length === CONNECTIONS_EACH);
    for (let tries = 4 * servers * CONNECTIONS_EACH; tries > 0 && !isComplete(); tries--) {
      const connection = new KeptConnection(greeting);
      const { worker } = await connection.greet(greeting.bytes);
      const group = groups.get(worker) ?? [];
      groups.set(worker, group);
      if (group.length < CONNECTIONS_EACH) group.push(connection);
      else connection.close();
    }
    const kept = new KeptConnections(request, [...groups.values()]);
    if (isComplete()) return kept;
    kept.close();
    throw new Error(`Could not open ${CONNECTIONS_EACH} connections to each of ${servers} servers.`);
  }

  send(onEnd: (end: RequestEnd) => void): () => void {
    const turn = this.#turn++;
    const group = this.#groups[turn % this.#groups.length]!;
    let best = group[Math.floor(turn / this.#groups.length) % group.length]!;
    for (const connection of group) if (connection.load < best.load) best = connection;
    return best.send(this.#request.bytes, onEnd);
  }

  close(): void {
    for (const connection of this.#groups.flat()) connection.close();
  }
}

type OnEnd = (end: RequestEnd) => void;

class KeptConnection {
  readonly #socket: Socket;
  readonly #reader = new HttpAnswerReader();
  /** In the order in which answers will come. */
  #waiting: OnEnd[] = [];
  #failure: string | undefined;

  constructor({ host, port }: PreparedRequest) {
    this.#socket = connect({ host, port, noDelay: true });
    this.#socket.on("data", (chunk: Buffer) => {
      for (const answer of this.#reader.push(chunk)) this.#waiting.shift()?.({ answer });
    });
    this.#socket.on("error", (error: NodeJS.ErrnoException) => this.#fail(error.code ?? error.message));
    this.#socket.on("close", () => this.#fail("CLOSED_EARLY"));
  }

  /** Requests without an answer yet; infinite once it is closed. */
  get load(): number {
    return this.#failure === undefined ? this.#waiting.length : Number.POSITIVE_INFINITY;
  }

  send(bytes: Buffer, onEnd: OnEnd): () => void {
    let over = false;
    const finish: OnEnd = (end) => {
      if (over) return;
      over = true;
      onEnd(end);
    };
    const failure = this.#failure;
    if (failure !== undefined) process.nextTick(() => finish({ failure }));
    else {
      this.#waiting.push(finish);
      this.#socket.write(bytes);
    }
    return () => finish({ failure: "GIVEN_UP" });
  }

  /** @throws Error when the connection fails, or no answer comes in time. */
  greet(bytes: Buffer): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      const giveUp = this.send(bytes, (end) => {
        clearTimeout(timer);
        if ("answer" in end) return resolve(end.answer);
        this.close();
        return reject(new Error(`A connection to the servers failed (${end.failure}).`));
      });
      const timer = setTimeout(giveUp, GREETED_WITHIN_MS);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #fail(failure: string): void {
    this.#failure ??= failure;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const onEnd of waiting) onEnd({ failure });
  }
}
