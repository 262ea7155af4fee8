import { once } from "node:events";
import { Agent, createServer, type IncomingMessage, type RequestListener, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";

/** A server on a free port of loopback, ended after the test together with its connections. */
export async function serve(listener: RequestListener): Promise<Server> {
  const server = createServer(listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return server;
}

/** An answer as it came over the socket. */
export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers: IncomingMessage["headers"];
  /** Names as they were written, in their order. */
  readonly names: readonly string[];
}

export interface AskOptions {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string;
  readonly agent?: Agent;
}

/** Sends one request and waits for the whole answer. */
export async function ask(server: Server, options: AskOptions = {}): Promise<Answer> {
  const { method = "GET", path = "/", headers = {}, body, agent = false } = options;
  const sent = request({ host: "127.0.0.1", port: portOf(server), method, path, headers, agent });
  sent.end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return {
    status: response.statusCode as number,
    body: await text(response),
    headers: response.headers,
    names: response.rawHeaders.filter((_, index) => index % 2 === 0),
  };
}

export function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** One connection that stays open, closed after the test. */
export function keptConnection(): Agent {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  return agent;
}

/** The fields of an answer that belong to limits, by the names they were written with. */
export function limitFields({ headers, names }: Answer): Record<string, unknown> {
  const own = names.filter((name) => /^(?:x-)?ratelimit|^retry-after$/i.test(name));
  return Object.fromEntries(own.map((name) => [name, headers[name.toLowerCase()]]));
}
