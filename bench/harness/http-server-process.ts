import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";

const STARTED_WITHIN_MS = 20_000;

/** An HTTP server in a process of its own, and keep-alive connections to it that ask one request after another. */
export class HttpServerProcess {
  readonly #child: ChildProcess;
  readonly #connections: Connection[];

  private constructor(child: ChildProcess, connections: Connection[]) {
    this.#child = child;
    this.#connections = connections;
  }

  /** @param module one that sends `{ port }` when it listens, and `{ cpuMs }` for each message, and keeps idle connections. */
  static async start(module: URL, kind: string, connections: number): Promise<HttpServerProcess> {
    const child = fork(module, [kind], { execArgv: [], stdio: ["ignore", "inherit", "inherit", "ipc"] });
    try {
      const signal = AbortSignal.timeout(STARTED_WITHIN_MS);
      const [{ port }] = (await once(child, "message", { signal })) as [{ port: number }];
      const opened = await Promise.all(Array.from({ length: connections }, () => Connection.open(port)));
      return new HttpServerProcess(child, opened);
    } catch (error) {
      child.kill("SIGKILL");
      throw error;
    }
  }

  /** One request. @returns the head of the answer and its body. */
  ask(): Promise<string> {
    return (this.#connections[0] as Connection).ask();
  }

  /** Each connection asks again and again for so long. */
  async flood(ms: number): Promise<{ answers: number; wallMs: number; cpuMs: number }> {
    const before = await this.#cpuMs();
    const startedMs = performance.now();
    const untilMs = startedMs + ms;
    let answers = 0;
    const loop = async (connection: Connection): Promise<void> => {
      while (performance.now() < untilMs) {
        await connection.ask();
        answers++;
      }
    };
    await Promise.all(this.#connections.map(loop));
    const wallMs = performance.now() - startedMs;
    return { answers, wallMs, cpuMs: (await this.#cpuMs()) - before };
  }

  async close(): Promise<void> {
    for (const connection of this.#connections) connection.close();
    const exited = once(this.#child, "exit");
    this.#child.disconnect();
    await exited;
  }

  async #cpuMs(): Promise<number> {
    this.#child.send({});
    const [{ cpuMs }] = (await once(this.#child, "message")) as [{ cpuMs: number }];
    return cpuMs;
  }
}

/** One connection with one request on it at a time. */
class Connection {
  readonly #socket: Socket;
  #text = "";
  #answer: ((text: string) => void) | undefined;
  #fail: ((error: Error) => void) | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.setEncoding("latin1");
    socket.on("data", (chunk) => this.#read(String(chunk)));
    socket.on("error", (error) => this.#fail?.(error));
    socket.on("close", () => this.#fail?.(new Error("The server closed a connection.")));
  }

  static async open(port: number): Promise<Connection> {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    return new Connection(socket);
  }

  ask(): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#answer = resolve;
      this.#fail = reject;
      this.#socket.write("GET / HTTP/1.1\r\nhost: bench\r\n\r\n");
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  /** Answers have a length; nothing else is read of them. */
  #read(chunk: string): void {
    this.#text += chunk;
    const bodyAt = this.#text.indexOf("\r\n\r\n") + 4;
    if (bodyAt < 4) return;
    const length = Number(/content-length: (\d+)/i.exec(this.#text)?.[1] ?? 0);
    if (this.#text.length < bodyAt + length) return;
    const text = this.#text;
    this.#text = "";
    this.#answer?.(text);
  }
}
