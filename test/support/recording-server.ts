import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { performance } from "node:perf_hooks";
import { afterEach } from "vitest";

export type Handler = (request: IncomingMessage, response: ServerResponse, body: string, number: number) => void;

/** A real server on the loopback, which notes what comes. */
export class TestServer {
  readonly bodies: string[] = [];
  readonly atMs: number[] = [];
  readonly sockets = new Set<Socket>();
  /** Requests whose connection was cut before their answer was out. */
  cut = 0;
  url = "";
  readonly #server: Server;

  constructor(handler: Handler) {
    this.#server = createServer((request, response) => {
      const number = this.atMs.push(performance.now());
      let body = "";
      response.on("close", () => {
        if (!response.writableFinished) this.cut++;
      });
      request.on("data", (chunk) => {
        body += chunk;
      });
      request.on("end", () => {
        this.bodies.push(body);
        handler(request, response, body, number);
      });
    });
    this.#server.on("connection", (socket) => {
      this.sockets.add(socket);
      socket.on("close", () => this.sockets.delete(socket));
    });
  }

  get requests(): number {
    return this.atMs.length;
  }

  async open(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
    return this;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

const servers: TestServer[] = [];
/** Opens a server that is closed after the test. */
export async function serve(handler: Handler): Promise<TestServer> {
  const server = await new TestServer(handler).open();
  servers.push(server);
  return server;
}
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});
