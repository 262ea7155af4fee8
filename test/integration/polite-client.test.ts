import { getEventListeners } from "node:events";
import { performance } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import {
  type Client,
  ClientError,
  type ClientOptions,
  createClient,
  type Outcome,
  onBehalfOf,
  outcomeOf,
} from "@spillway/client";
import spillway from "@spillway/fastify";
import { rateLimitMiddleware } from "@spillway/http";
import { eventually } from "@spillway/testkit";
import Fastify from "fastify";
import { createRateLimiter } from "spillway";
import { describe, expect, it } from "vitest";
import { type Handler, serve } from "../support/recording-server.ts";
import { startProgram } from "../support/run-program.ts";

/** Fails the first requests, then answers. */
const failing =
  (failures: number, headers: Record<string, string> = {}): Handler =>
  (_request, response, _body, number) =>
    number <= failures ? response.writeHead(503, headers).end("no") : response.end("yes");

const quick: ClientOptions = { retry: { backoffBase: 10 } };

describe("the platform's fetch behind the client", () => {
  it("is tried again after a failure, with the whole body", async () => {
    const server = await serve(failing(2));
    const response = await createClient(quick).fetch(server.url, { method: "PUT", body: "whole" });
    expect([response.status, await response.text()]).toEqual([200, "yes"]);
    expect(server.bodies).toEqual(["whole", "whole", "whole"]);
    expect(outcomeOf(response)?.attempts.map(({ status }) => status)).toEqual([503, 503, 200]);
  });

  it("sends a stream once, in full", async () => {
    const server = await serve(failing(1));
    const init = { method: "PUT", body: new Blob(["once"]).stream(), duplex: "half" } as RequestInit;
    const response = await createClient(quick).fetch(server.url, init);
    expect([response.status, await response.text(), server.bodies]).toEqual([503, "no", ["once"]]);
    expect(outcomeOf(response)?.stopped).toBe("not-replayable");
  });

  it("never comes back before Retry-After, by the server's own clock", async () => {
    const server = await serve(failing(1, { "retry-after": "1" }));
    await createClient(quick).fetch(server.url);
    const [first = 0, second = 0] = server.atMs;
    expect(second - first).toBeGreaterThanOrEqual(1000);
    expect(second - first).toBeLessThan(2500);
  });

  it("is tried again when the connection is reset or refused", async () => {
    const server = await serve((request, response, _body, number) => {
      if (number === 1) request.socket.destroy();
      else response.end("yes");
    });
    const response = await createClient(quick).fetch(server.url);
    expect([await response.text(), server.requests]).toEqual(["yes", 2]);
    await server.close();
    const outcome = await createClient(quick).request(server.url, { method: "POST", body: "x" });
    expect(outcome).toMatchObject({ kind: "failed", stopped: "attempts-used" });
    expect(outcome.attempts.map(({ errorCode }) => errorCode)).toEqual(Array(4).fill("ECONNREFUSED"));
  });

  it("is ended by the deadline, and its connection with it", async () => {
    const server = await serve(() => undefined);
    const startedMs = performance.now();
    const error = await createClient({ deadline: 200 })
      .fetch(server.url)
      .catch((reason: unknown) => reason);
    const tookMs = performance.now() - startedMs;
    expect(error).toBeInstanceOf(ClientError);
    expect(tookMs).toBeGreaterThanOrEqual(199);
    expect(tookMs).toBeLessThan(1200);
    await eventually(() => expect(server.cut).toBe(1), { withinMs: 5000 });
  });

  it("is ended by an abort while it waits, while it is under way, and while its body is read", async () => {
    const server = await serve((request, response) => {
      if (request.url === "/wait") response.writeHead(503, { "retry-after": "5" }).end();
      else if (request.url === "/body") response.write("begun");
    });
    for (const path of ["wait", "hang"]) {
      const client = createClient();
      const controller = new AbortController();
      const call = client.fetch(server.url + path, { signal: controller.signal }).catch((reason: unknown) => reason);
      await new Promise((resolve) => setTimeout(resolve, 50));
      controller.abort("enough");
      expect(await call).toBe("enough");
      expect(client.stats()).toMatchObject({ waiting: 0, inFlight: 0, attempts: 1, aborted: 1 });
    }
    const controller = new AbortController();
    const response = await createClient().fetch(`${server.url}body`, { signal: controller.signal });
    const text = response.text().catch((reason: unknown) => reason);
    collectGarbage();
    controller.abort(new Error("enough"));
    expect(await text).toBeInstanceOf(Error);
    await eventually(() => expect(server.cut).toBe(2), { withinMs: 5000 });
  });

  it("keeps nothing on a signal that outlives its calls", async () => {
    const server = await serve((_request, response) => response.end("yes"));
    const client = createClient();
    const { signal } = new AbortController();
    for (let call = 0; call < 200; call++) await (await client.fetch(server.url, { signal })).text();
    await eventually(
      () => {
        collectGarbage();
        expect(getEventListeners(signal, "abort").length).toBe(0);
      },
      { withinMs: 10_000 },
    );
  });

  it("gives the connections of failures back, read or not", async () => {
    const server = await serve((_request, response) => response.writeHead(503).end("x".repeat(100_000)));
    await createClient({
      ...quick,
      retry: { limit: 20, backoffBase: 1, backoffLimit: 1 },
      budget: false,
      throttle: false,
    }).fetch(server.url);
    expect(server.requests).toBe(21);
    expect(server.sockets.size).toBeLessThanOrEqual(3);
  });

  it("reads from a 429 that a quota is spent, and leaves the body to the caller", async () => {
    const body = JSON.stringify({ error: { message: "over", type: "insufficient_quota", code: "insufficient_quota" } });
    const server = await serve((_request, response) =>
      response.writeHead(429, { "content-type": "application/json", "retry-after": "1" }).end(body),
    );
    const response = await createClient().fetch(server.url);
    expect([outcomeOf(response)?.stopped, await response.text(), server.requests]).toEqual(["quota-spent", body, 1]);
  });
});

describe("a service that hangs, called 100 times a second", () => {
  const hung: ClientOptions = { throttle: false, retry: 0, deadline: "2s" };

  it("has 60 calls at most in flight, and others fail at once", async () => {
    const server = await serve(() => undefined);
    const client = createClient({ ...hung, breaker: { openFor: "60s" } });
    let most = 0;
    const calls: Promise<Outcome>[] = [];
    const call = (): void => {
      calls.push(client.request(server.url));
      most = Math.max(most, client.stats().inFlight);
    };
    for (let number = 0; number < 150; number++) {
      call();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(most).toBeLessThanOrEqual(60);
    const failFastMs: number[] = [];
    for (let number = 0; number < 1000; number++) {
      const startedMs = performance.now();
      expect((await client.request(server.url)).kind).toBe("refused");
      failFastMs.push(performance.now() - startedMs);
    }
    // The median: on a busy machine the slowest are those that had to wait for the processor.
    expect(failFastMs.toSorted((a, b) => a - b)[500]).toBeLessThanOrEqual(5);
    const kinds = (await Promise.all(calls)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "failed").length).toBe(server.requests);
  });

  it("is asked again when it answers again, and the breaker closes", async () => {
    let hangs = true;
    const server = await serve((_request, response) => {
      if (!hangs) response.end("yes");
    });
    const client = createClient({ ...hung, deadline: 100, breaker: { openFor: 200, minimumCalls: 5 } });
    await Promise.all(Array.from({ length: 10 }, () => client.request(server.url)));
    expect(client.stats().origins[0]?.breaker).toBe("open");
    hangs = false;
    await eventually(
      async () => {
        await client.request(server.url, {}, { deadline: "5s" });
        expect(client.stats().origins[0]?.breaker).toBe("closed");
      },
      { withinMs: 10_000 },
    );
  });
});

describe("our own servers", () => {
  it.each(["token-bucket", "fixed-window", "sliding-window-counter", "sliding-window-log"] as const)(
    "are asked once for what can never fit, as Fastify or as middleware (C06 e, %s)",
    async (algorithm) => {
      const policies = { name: "small", limit: 10, period: "1s", algorithm } as const;
      const small = createRateLimiter({ policies });
      const guard = rateLimitMiddleware({ limiter: small, cost: 11 });
      const server = await serve((request, response) => guard(request, response, () => response.end("never")));
      const refused = await createClient().request(server.url);
      expect([server.requests, refused.stopped, refused.attempts[0]?.status]).toEqual([1, "told-not-to", 429]);
      await small.close();
      const limiter = createRateLimiter({ policies });
      const app = Fastify();
      let requests = 0;
      app.addHook("onRequest", async () => {
        requests++;
      });
      await app.register(spillway, { limiter, onWarning: () => undefined });
      app.get("/", { config: { spillway: { cost: 11 } } }, async () => "never");
      const url = await app.listen({ port: 0, host: "127.0.0.1" });
      const outcome = await createClient().request(url);
      await app.close();
      await limiter.close();
      expect([requests, outcome.stopped, outcome.attempts[0]?.status]).toEqual([1, "told-not-to", 429]);
    },
  );

  it("are not asked what their fields show to be over the limit", async () => {
    const limiter = createRateLimiter({ policies: { name: "rate", limit: 50, period: "1s", burst: 10 } });
    const app = Fastify();
    const statuses: number[] = [];
    app.addHook("onResponse", async (_request, reply) => {
      statuses.push(reply.statusCode);
    });
    await app.register(spillway, { limiter });
    app.get("/", async () => "in");
    const url = await app.listen({ port: 0, host: "127.0.0.1" });
    const client = createClient();
    await client.fetch(url);
    for (let round = 0; round < 5; round++) await Promise.all(Array.from({ length: 10 }, () => client.fetch(url)));
    await app.close();
    await limiter.close();
    const refused = statuses.filter((status) => status === 429).length;
    expect(refused).toBeLessThanOrEqual(3);
    expect(statuses.filter((status) => status === 200).length).toBe(51);
  });

  it("pass deadline and retries on to the services behind them", async () => {
    const bottom = await serve((_request, response) => response.writeHead(503).end());
    const client: Client = createClient({ ...quick, budget: false, throttle: false });
    const app = Fastify();
    app.addHook("onRequest", (request, _reply, done) => onBehalfOf(request.headers, done));
    app.get("/", async (_request, reply) => reply.code((await client.fetch(bottom.url)).status).send());
    const url = await app.listen({ port: 0, host: "127.0.0.1" });
    const outcome = await createClient({ ...quick, budget: false, throttle: false }).request(url);
    await app.close();
    expect([outcome.attempts.length, bottom.requests, client.stats().stopped.nested]).toEqual([4, 4, 4]);
  });
});

it("a program stays for a call that waits to try again, and is not kept by a client", async () => {
  const server = await serve(() => undefined);
  await server.close();
  const waiting = await startProgram("polite-client.mjs", { env: { URL: server.url } }).ended;
  expect([waiting.code, waiting.errors, waiting.output]).toEqual([
    0,
    "",
    expect.stringMatching(/^failed 2\nlived \d+\n$/),
  ]);
  expect(Number(/lived (\d+)/.exec(waiting.output)?.[1])).toBeGreaterThan(300);
  const unused = await startProgram("polite-client.mjs").ended;
  expect([unused.code, unused.errors, unused.output]).toEqual([0, "", expect.stringMatching(/^lived \d+\n$/)]);
});

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}
