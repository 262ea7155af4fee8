import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { PassThrough, Readable } from "node:stream";
import Fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import type { Decision } from "spillway";
import { describe, expect, it } from "vitest";
import { spillway } from "./index.ts";
import {
  guarded,
  HAS_TIMEOUTS,
  handlerTimeout,
  held,
  listen,
  memoryLimiter,
  StillClock,
  withoutLocalState,
} from "./test-support.ts";

const SOON = { interval: 1, timeout: 5000 };
const atRest = { active: 0, waiting: 0 };

describe("when slots come back", () => {
  it.each<[string, (app: FastifyInstance) => void, number]>([
    ["a reply", (app) => app.get("/", async () => "in"), 200],
    ["an error", (app) => app.get("/", () => Promise.reject(new Error("boom"))), 500],
    ["a stream", (app) => app.get("/", (_request, reply) => void reply.send(Readable.from(["a", "b"]))), 200],
    ["a raw reply", (app) => app.get("/", (_request, reply) => void reply.hijack().raw.end("raw")), 200],
    [
      "a reply of an earlier hook",
      (app) => app.get("/", { preHandler: async (_r, reply) => reply.send("hook") }, async () => "in"),
      200,
    ],
    ["a route that is not found after all", (app) => app.get("/", (_request, reply) => void reply.callNotFound()), 404],
  ])("once after %s, over a socket and injected", async (_title, routes, status) => {
    const { app, admission } = await guarded(routes, {}, { slots: 1, lineMs: 0 });
    expect((await app.inject("/")).statusCode).toBe(status);
    await expect.poll(() => admission.stats(), SOON).toMatchObject({ ...atRest, admitted: 1, wasted: 0 });
    const response = await fetch(await listen(app));
    await response.text();
    expect(response.status).toBe(status);
    await expect.poll(() => admission.stats(), SOON).toMatchObject({ ...atRest, admitted: 2, wasted: 0 });
  });

  it("after a reply that is cut off in the middle", async () => {
    const endless = new Readable({ read() {} });
    const { app, admission } = await guarded((one) => one.get("/", (_request, reply) => void reply.send(endless)));
    const url = await listen(app);
    endless.push("first");
    const [response] = (await once(httpRequest(url).end(), "response")) as [IncomingMessage];
    await once(response, "data");
    response.destroy();
    await expect.poll(() => admission.stats(), SOON).toMatchObject({ ...atRest, wasted: 1 });
  });

  it.skipIf(!HAS_TIMEOUTS)("from one whose handler took too long for Fastify", async () => {
    const { handler } = held();
    const { app, admission } = await guarded((one) => one.get("/", handlerTimeout(500), handler));
    expect((await app.inject("/")).statusCode).toBe(503);
    await expect.poll(() => admission.stats(), SOON).toMatchObject({ ...atRest, admitted: 1 });
  });

  it("from one that waits when Fastify gives it up", async () => {
    const { ends, handler } = held();
    const { app, admission } = await guarded(
      (one) => one.get("/slow", handler).get("/", handlerTimeout(2000), async () => "in"),
      {},
      { slots: 1, lineMs: 1e6, waitMs: 1e6 },
    );
    const first = app.inject("/slow");
    await expect.poll(() => ends.length, SOON).toBe(1);
    const second = await app.inject("/");
    // Its deadline is the timeout of the route, less what work takes: it hears of it before Fastify gives it up.
    expect([second.statusCode, second.json().reason]).toEqual([503, "deadline"]);
    ends[0]?.("done");
    await first;
    await expect.poll(() => admission.stats(), SOON).toMatchObject(atRest);
  });

  it("from a caller who left while a limiter asked its store", async () => {
    const limiter = memoryLimiter(new StillClock(), { name: "p", limit: 9, period: "1s" });
    const answers: (() => void)[] = [];
    const consume = (key: string) =>
      new Promise<Decision>((resolve) => void answers.push(() => resolve(limiter.consumeNow(key) as Decision)));
    let closed = 0;
    const app = Fastify();
    app.addHook("onRequest", async (_request, reply) => void reply.raw.once("close", () => closed++));
    await app.register(spillway, { limiter: { ...withoutLocalState(limiter), consume } });
    const { admission } = await guarded((one) => one.get("/", async () => "in"), {}, { slots: 1, lineMs: 0 }, app);
    const url = await listen(app);
    const abort = new AbortController();
    const gone = fetch(url, { signal: abort.signal }).catch(() => {});
    await expect.poll(() => answers.length, SOON).toBe(1);
    abort.abort();
    await gone;
    await expect.poll(() => closed, SOON).toBe(1);
    answers[0]?.();
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
    expect(admission.stats()).toMatchObject({ ...atRest, admitted: 0 });
  });
});

describe("callers who left during a hook that came first", () => {
  it("take no slots, however many requests they had pipelined", async () => {
    const app = Fastify();
    const laters: (() => void)[] = [];
    app.addHook("onRequest", (_request, _reply, done) => void laters.push(done));
    const { admission } = await guarded((one) => one.get("/", async () => "in"), {}, { slots: 1 }, app);
    await listen(app);
    const connected = once(app.server, "connection");
    const socket = connect((app.server.address() as AddressInfo).port, "127.0.0.1");
    const [connection] = await connected;
    socket.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n".repeat(3));
    await expect.poll(() => laters.length, SOON).toBe(3);
    const ended = once(connection, "close");
    socket.destroy();
    await ended;
    for (const later of laters) later();
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
    expect(admission.stats()).toMatchObject({ ...atRest, admitted: 0 });
  });
});

describe("a refusal that comes late, out of the line", () => {
  it("goes to the error handler when onShed throws", async () => {
    const onShed = () => {
      throw new Error("boom");
    };
    const { ends, handler } = held();
    const admissionOptions = { slots: 1, waitMs: 20 };
    const { app, admission } = await guarded((one) => one.get("/", handler), { onShed }, admissionOptions);
    const first = app.inject("/");
    await expect.poll(() => ends.length, SOON).toBe(1);
    const second = await app.inject("/");
    expect([second.statusCode, second.json().message]).toEqual([500, "boom"]);
    ends[0]?.("done");
    await first;
    await expect.poll(() => admission.stats(), SOON).toMatchObject(atRest);
  });

  it.each([
    ["a permit", 10_000, 2],
    ["a refusal", 20, 1],
  ])("as does %s: it touches nothing when someone else is replying meanwhile", async (_title, waitMs, admitted) => {
    const body = new PassThrough();
    const { ends, handler } = held();
    const app = Fastify();
    const sent: FastifyReply[] = [];
    app.addHook("onRequest", (request, reply, done) => {
      // Behind the guard, and before any timer: on a busy machine the wait may be over in the next turn already.
      if (request.url === "/other")
        process.nextTick(() => sent.push(reply.code(418).send(body)) && body.write("first, "));
      done();
    });
    let ran = 0;
    const { admission } = await guarded(
      (one) => one.get("/", handler).get("/other", async () => ran++),
      {},
      { slots: 1, waitMs },
      app,
    );
    const first = app.inject("/");
    await expect.poll(() => ends.length, SOON).toBe(1);
    const other = app.inject("/other");
    await expect.poll(() => sent.length, SOON).toBe(1);
    await expect.poll(() => sent[0]?.raw.headersSent, SOON).toBe(true);
    if (admitted === 1) await expect.poll(() => admission.stats().shed.waited_too_long, SOON).toBe(1);
    ends[0]?.("done");
    await first;
    await expect.poll(() => admission.stats(), SOON).toMatchObject({ active: admitted - 1, admitted });
    body.end("last");
    const { statusCode, body: text, headers } = await other;
    expect([statusCode, text, headers["retry-after"], ran]).toEqual([418, "first, last", undefined, 0]);
    await expect.poll(() => admission.stats(), SOON).toMatchObject(atRest);
  });
});
