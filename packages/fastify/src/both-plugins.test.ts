import { once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { createAdmission } from "@spillway/admission";
import Fastify, { type FastifyInstance, type FastifyPluginCallback } from "fastify";
import type { PolicyOptions } from "spillway";
import { describe, expect, it, onTestFinished } from "vitest";
import { type SpillwayAdmissionOptions, spillway, spillwayAdmission } from "./index.ts";
import { guarded, held, listen, memoryLimiter, StillClock } from "./test-support.ts";

const SOON = { interval: 1, timeout: 5000 };
const policy: PolicyOptions = { name: "minute", limit: 3, period: "1m" };

/** One request on a connection of HTTP/2: its status, the fields of both plugins, and its body. */
async function ask(session: ClientHttp2Session): Promise<readonly unknown[]> {
  const stream = session.request({ ":path": "/" });
  const [headers] = (await once(stream, "response")) as [Record<string, unknown>];
  return [headers[":status"], headers.ratelimit, headers["retry-after"], await text(stream)];
}

describe("both plugins in one app", () => {
  it("answer over HTTP/2 as over HTTP/1: 200, 503 and 429, with their fields", async () => {
    const { ends, handler } = held();
    const app = Fastify({ http2: true });
    onTestFinished(() => app.close());
    const admission = createAdmission({ slots: 1, lineMs: 0 });
    await app.register(spillway, { limiter: memoryLimiter(new StillClock(), policy) });
    await app.register(spillwayAdmission, { admission, log: false });
    app.get("/", handler);
    await app.listen({ port: 0, host: "127.0.0.1" });
    const session = connect(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}`);
    onTestFinished(() => session.destroy());
    const served = ask(session);
    await expect.poll(() => ends.length, SOON).toBe(1);
    const shed = '{"error":"overloaded","reason":"line_full"}';
    expect(await ask(session)).toEqual([503, '"minute";r=1;t=20', "1", shed]);
    expect(await ask(session)).toEqual([503, '"minute";r=0;t=20', "1", shed]);
    expect((await ask(session)).slice(0, 3)).toEqual([429, '"minute";r=0;t=20', "20"]);
    ends[0]?.("in");
    expect(await served).toEqual([200, '"minute";r=2;t=20', undefined, "in"]);
    const cut = session.request({ ":path": "/other" });
    cut.close();
    await expect.poll(() => admission.stats(), SOON).toMatchObject({ active: 0, waiting: 0, admitted: 1 });
  });

  it("a request that is turned away with 503 has been counted, and onShed can give that back", async () => {
    const limiter = memoryLimiter(new StillClock(), policy);
    const left = async () => (await limiter.peek("ip:127.0.0.1")).policies[0]?.remaining;
    const app = Fastify();
    await app.register(spillway, { limiter });
    const onShed: SpillwayAdmissionOptions["onShed"] = ({ spillway: decision }) => {
      if (isGivenBack && decision !== null) void limiter.refund(decision);
    };
    let isGivenBack = false;
    const routes = (one: FastifyInstance) => void one.get("/", async () => "in");
    const { admission } = await guarded(routes, { onShed }, { slots: 1, lineMs: 0 }, app);
    admission.acquireNow();
    expect((await app.inject("/")).statusCode).toBe(503);
    expect(await left()).toBe(2);
    isGivenBack = true;
    expect((await app.inject("/")).statusCode).toBe(503);
    expect(await left()).toBe(2);
  });

  it.each([
    [false, undefined],
    [true, "RateLimit, RateLimit-Policy, Retry-After"],
  ])("expose the fields of a 503 to browsers where it passes onSend hooks (%s)", async (onSend, exposed) => {
    const app = Fastify();
    await app.register(spillway, { limiter: memoryLimiter(new StillClock(), policy), exposeHeaders: true });
    const routes = (one: FastifyInstance) => void one.get("/", async () => "in");
    const { admission } = await guarded(routes, { onSend }, { slots: 1, lineMs: 0 }, app);
    admission.acquireNow();
    const { statusCode, headers } = await app.inject("/");
    expect([statusCode, headers["access-control-expose-headers"], headers.ratelimit]).toEqual([
      503,
      exposed,
      '"minute";r=2;t=20',
    ]);
  });

  it("hold for the scope that they are registered in, and what is below it, and no other", async () => {
    const admission = createAdmission({ slots: 1, lineMs: 0 });
    admission.acquireNow();
    const app = Fastify();
    onTestFinished(() => app.close());
    const scope: FastifyPluginCallback = (inner, _options, done) => {
      inner.register(spillway, { limiter: memoryLimiter(new StillClock(), policy) });
      inner.register(spillwayAdmission, { admission, log: false });
      inner.after(() => inner.get("/in", async () => "in"));
      inner.register((below, _none, ready) => {
        below.get("/below", async () => "below");
        ready();
      });
      done();
    };
    app.register(scope);
    app.register((beside, _options, done) => {
      beside.get("/beside", async (request) => [request.spillway ?? null, request.spillwayAdmission ?? null]);
      done();
    });
    expect([(await app.inject("/in")).statusCode, (await app.inject("/below")).statusCode]).toEqual([503, 503]);
    const beside = await app.inject("/beside");
    expect([beside.statusCode, beside.json(), beside.headers.ratelimit]).toEqual([200, [null, null], undefined]);
  });
});

describe("an app that is closed while its line is full", () => {
  it("answers who waits at once, where admission is closed in preClose, and lets work under way end", async () => {
    const { ends, handler } = held();
    const { app, admission } = await guarded(
      (one) => {
        one.get("/", handler);
        one.addHook("preClose", async () => void (await admission.close()));
      },
      {},
      { slots: 1, lineMs: 1e6, waitMs: 60_000 },
      Fastify({ forceCloseConnections: "idle" }),
    );
    const url = await listen(app);
    const calls = Array.from({ length: 4 }, async () => {
      const response = await fetch(url, { headers: { connection: "close" } });
      return [response.status, await response.text()];
    });
    await expect.poll(() => [ends.length, admission.stats().waiting], SOON).toEqual([1, 3]);
    const closing = app.close();
    await expect.poll(() => admission.stats().shed.closed, SOON).toBe(3);
    ends[0]?.("done");
    const answers = (await Promise.all(calls)).toSorted();
    expect(answers).toEqual([[200, "done"], ...Array(3).fill([503, '{"error":"overloaded","reason":"closed"}'])]);
    await closing;
    expect(admission.stats()).toMatchObject({ active: 0, waiting: 0, admitted: 1 });
  });
});
