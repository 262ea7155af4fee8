import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { connect, createServer as createHttp2Server } from "node:http2";
import { connect as connectSocket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type LimiterLike, rateLimitMiddleware } from "@spillway/http";
import { eventually } from "@spillway/testkit";
import type { Decision } from "spillway";
import { expect, it, onTestFinished, vi } from "vitest";
import { ask, keptConnection, limitFields, portOf, serve } from "../support/http-exchange.ts";
import { manualLimiter } from "../support/manual-limiter.ts";

const one = { name: "minute", limit: 1, period: "1m" } as const;

/** A limiter that asks the store, which answers only when it is told to. */
function heldLimiter() {
  const { limiter } = manualLimiter(one);
  const signals: AbortSignal[] = [];
  let letGo = (): void => {};
  const held: LimiterLike<Decision> = {
    consumeNow: () => undefined,
    consume: (key, options) =>
      new Promise((resolve, reject) => {
        const signal = options?.signal as AbortSignal;
        signals.push(signal);
        letGo = () => resolve(limiter.consumeNow(key) as Decision);
        signal.addEventListener("abort", () => reject(signal.reason));
      }),
  };
  return { held, limiter, signals, letGo: () => letGo() };
}

function unhandledRejections(): unknown[] {
  const heard: unknown[] = [];
  const listen = (reason: unknown) => heard.push(reason);
  process.on("unhandledRejection", listen);
  onTestFinished(() => void process.off("unhandledRejection", listen));
  return heard;
}

function startWith(limit: ReturnType<typeof rateLimitMiddleware>, handle = vi.fn()): Promise<Server> {
  return serve((request, response) =>
    limit(request, response, (error) => {
      handle(error);
      response.writeHead(error === undefined ? 200 : 500).end(error === undefined ? "in" : String(error));
    }),
  );
}

it("a caller who hangs up while the store is asked is given up, and nothing runs for it", async () => {
  const unhandled = unhandledRejections();
  const { held, limiter, signals } = heldLimiter();
  const handle = vi.fn();
  const server = await startWith(rateLimitMiddleware({ limiter: held }), handle);
  for (let n = 0; n < 20; n++) {
    const socket = connectSocket(portOf(server), "127.0.0.1");
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    await eventually(async () => signals.length === n + 1, { withinMs: 5000 });
    socket.destroy();
    await eventually(async () => signals[n]?.aborted === true, { withinMs: 5000 });
  }
  await new Promise(setImmediate);
  expect(handle).not.toHaveBeenCalled();
  expect(limiter.stats().allowed).toBe(0);
  expect(unhandled).toEqual([]);
});

it("a caller who has been answered meanwhile is not answered again", async () => {
  const unhandled = unhandledRejections();
  const { held, letGo, signals } = heldLimiter();
  const limit = rateLimitMiddleware({ limiter: held });
  const next = vi.fn();
  const server = await serve((request, response) => {
    limit(request, response, next);
    setImmediate(() => response.writeHead(503).end("gave up"));
  });
  const answer = await ask(server);
  letGo();
  await new Promise(setImmediate);
  expect([answer.status, answer.body, limitFields(answer)]).toEqual([503, "gave up", {}]);
  expect([next.mock.calls, unhandled, signals.length]).toEqual([[], [], 1]);
});

it("a refused upload leaves its connection fit for the next request", async () => {
  const { limiter, clock } = manualLimiter(one);
  const server = await startWith(rateLimitMiddleware({ limiter }));
  const connections = vi.fn();
  server.on("connection", connections);
  const agent = keptConnection();
  await ask(server, { agent });
  const refused = await ask(server, { agent, method: "POST", body: "x".repeat(1_000_000) });
  expect(refused.status).toBe(429);
  clock.advance(60_000);
  expect((await ask(server, { agent })).body).toBe("in");
  expect(connections).toHaveBeenCalledTimes(1);
});

it("a connection without an address is an error, and its caller shares no bucket", async () => {
  const { limiter } = manualLimiter(one);
  const limit = rateLimitMiddleware({ limiter });
  const path = join(tmpdir(), `spillway-${randomUUID()}.sock`);
  const server = createServer((request, response) =>
    limit(request, response, (error) => response.writeHead(500).end(String(error))),
  ).listen(path);
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const sent = request({ socketPath: path, agent: false }).end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  expect([response.statusCode, await text(response)]).toEqual([500, expect.stringContaining("has no address")]);
  expect(limiter.stats().allowed).toBe(0);
});

it("node:http2 gets the same answers", async () => {
  const limit = rateLimitMiddleware({ limiter: manualLimiter(one).limiter });
  const server = createHttp2Server((request, response) => limit(request, response, () => response.end("in")));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const session = connect(`http://127.0.0.1:${(server.address() as { port: number }).port}`);
  onTestFinished(() => {
    session.destroy();
    server.close();
  });
  const answers = [];
  for (let n = 0; n < 2; n++) {
    const stream = session.request({ ":path": "/" });
    const [headers] = (await once(stream, "response")) as [Record<string, unknown>];
    answers.push([headers[":status"], headers.ratelimit, headers["retry-after"], (await text(stream)).slice(0, 2)]);
  }
  expect(answers).toEqual([
    [200, '"minute";r=0;t=60', undefined, "in"],
    [429, '"minute";r=0;t=60', "60", '{"'],
  ]);
});

it("a handler's own types reach the functions of the options", async () => {
  const { limiter } = manualLimiter(one);
  const server = await serve((request, response) => {
    const limit = rateLimitMiddleware({
      limiter,
      key: ({ url }: IncomingMessage) => url,
      respond: (_request, response: ServerResponse, refusal) => response.writeHead(429, { "x-key": refusal.key }).end(),
    });
    limit(request, response, () => response.end("in"));
  });
  await ask(server, { path: "/a" });
  expect((await ask(server, { path: "/a" })).headers["x-key"]).toBe("/a");
});
