import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** An answer as it came over a connection. */
export interface RawAnswer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A connection on which a test writes what it likes, and reads answers that say how long they are. Closed after the test. */
export class RawConnection {
  readonly socket: Socket;
  #received = "";
  #isClosed = false;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setEncoding("latin1");
    socket.on("data", (chunk: string) => {
      this.#received += chunk;
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#isClosed = true;
    });
  }

  static async open(port: number): Promise<RawConnection> {
    const socket = connect(port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    await once(socket, "connect");
    return new RawConnection(socket);
  }

  /** Whether the other side has closed it. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  write(text: string): void {
    this.socket.write(text, "latin1");
  }

  /** The next answer, in the order in which they came. @throws Error when there is none within 5 s. */
  async answer(): Promise<RawAnswer> {
    const untilMs = performance.now() + 5000;
    for (;;) {
      const found = takeAnswer(this.#received);
      if (found !== undefined) {
        this.#received = found.rest;
        // What comes before the answer proper, "100 Continue" for one, is not looked at.
        if (found.answer.status >= 200) return found.answer;
        continue;
      }
      if (this.#isClosed || performance.now() > untilMs)
        throw new Error(`No answer on a connection that is ${this.#isClosed ? "closed" : "open"}: ${this.#received}`);
      await new Promise(setImmediate);
    }
  }
}

function takeAnswer(text: string): { readonly answer: RawAnswer; readonly rest: string } | undefined {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const [first = "", ...lines] = text.slice(0, end).split("\r\n");
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]),
  );
  const status = Number(first.split(" ")[1]);
  const length = status < 200 ? 0 : Number(headers["content-length"]);
  const from = end + 4;
  if (!(text.length >= from + length)) return undefined;
  return { answer: { status, headers, body: text.slice(from, from + length) }, rest: text.slice(from + length) };
}
