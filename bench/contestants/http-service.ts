import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import {
  HTTP_BODY,
  type HttpServerKind,
  type HttpServerReply,
  type HttpServerRequest,
  type LocalDecisions,
} from "./http-messages.ts";

const REQUEST = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n";
const PATIENCE_MS = 20_000;

/** A service in a process of its own, and connections to it that stay open. */
export class HttpService {
  readonly #child: ChildProcess;
  readonly #port: number;
  #sockets: Socket[] = [];

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.#port = port;
  }

  static async start(kind: HttpServerKind, redisUrl: string, limit: number): Promise<HttpService> {
    const child = fork(fileURLToPath(new URL("./http-server.js", import.meta.url)), { execArgv: [] });
    const { port, error } = await exchange(child, { ask: "listen", kind, redisUrl, limit });
    if (port !== undefined) return new HttpService(child, port);
    child.kill();
    throw new Error(error ?? "it did not listen");
  }

  async usage(): Promise<{ readonly cpuMs: number; readonly local: LocalDecisions | undefined }> {
    const { cpuMs = 0, local } = await exchange(this.#child, { ask: "usage" });
    return { cpuMs, local };
  }

  /**
   * Each connection asks again as soon as it is answered, until the time is over. This process does not sleep meanwhile: a server
   * on the same machine that answers one that sleeps has to wake it, the more often the slower it is itself.
   */
  async load(connections: number, ms: number): Promise<{ readonly admitted: number; readonly refused: number }> {
    while (this.#sockets.length < connections) this.#sockets.push(await this.#connect());
    const untilMs = performance.now() + ms;
    const more = (): boolean => performance.now() < untilMs;
    const stayAwake = (): void => void (more() && setImmediate(stayAwake));
    stayAwake();
    const counts = await Promise.all(this.#sockets.slice(0, connections).map((socket) => askWhile(socket, more)));
    return {
      admitted: counts.reduce((sum, { admitted }) => sum + admitted, 0),
      refused: counts.reduce((sum, { refused }) => sum + refused, 0),
    };
  }

  /** Asks so many times, one after another, and says how many went in. */
  async admittedOf(asks: number): Promise<number> {
    const socket = await this.#connect();
    let left = asks;
    const { admitted } = await askWhile(socket, () => left-- > 0);
    socket.destroy();
    return admitted;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets = [];
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.kill();
    await ended;
  }

  async #connect(): Promise<Socket> {
    const socket = connect(this.#port, "127.0.0.1").setNoDelay(true);
    socket.setEncoding("latin1");
    await once(socket, "connect");
    return socket;
  }
}

/** One request after another on one connection. */
function askWhile(
  socket: Socket,
  more: () => boolean,
): Promise<{ readonly admitted: number; readonly refused: number }> {
  return new Promise((resolve, reject) => {
    let admitted = 0;
    let refused = 0;
    let answer = "";
    const end = (error?: Error): void => {
      socket.off("data", read).off("error", end).off("close", lost);
      if (error === undefined) resolve({ admitted, refused });
      else reject(error);
    };
    const lost = (): void => end(new Error("the connection was closed"));
    const next = (): void => {
      if (more()) socket.write(REQUEST);
      else end();
    };
    const read = (chunk: string): void => {
      answer += chunk;
      if (!isWhole(answer)) return;
      if (answer.startsWith("HTTP/1.1 200") && answer.endsWith(HTTP_BODY)) admitted++;
      else refused++;
      answer = "";
      next();
    };
    socket.on("data", read).on("error", end).on("close", lost);
    next();
  });
}

function isWhole(answer: string): boolean {
  const bodyAt = answer.indexOf("\r\n\r\n") + 4;
  if (bodyAt < 4) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(answer)?.[1];
  return answer.length >= bodyAt + Number(length ?? 0);
}

function exchange(child: ChildProcess, request: HttpServerRequest): Promise<HttpServerReply> {
  return new Promise((resolve, reject) => {
    const end = (run: () => void): void => {
      clearTimeout(timer);
      child.off("message", answered).off("exit", gone);
      run();
    };
    const answered = (reply: HttpServerReply): void => end(() => resolve(reply));
    const gone = (): void => end(() => reject(new Error("the server's process ended")));
    const timer = setTimeout(() => end(() => reject(new Error("the server does not answer"))), PATIENCE_MS);
    child.once("message", answered).once("exit", gone);
    child.send(request);
  });
}
