import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type ClientOptions, createClient, outcomeOf } from "@spillway/client";
import { eventually } from "@spillway/testkit";
import { describe, expect, it } from "vitest";
import { serve } from "../support/recording-server.ts";

const quick: ClientOptions = { retry: { backoffBase: 10 }, budget: false, throttle: false };

/** The URL of a port at which nobody listens. */
async function nobody(): Promise<string> {
  const server = await serve(() => undefined);
  await server.close();
  return server.url;
}

describe("a redirect", () => {
  it("of a POST to where nobody is does not send the POST again, since it has been seen", async () => {
    const away = await nobody();
    const server = await serve((_request, response) => response.writeHead(303, { location: away }).end());
    const outcome = await createClient(quick).request(server.url, { method: "POST", body: "once" });
    expect([outcome.kind, outcome.stopped, server.bodies]).toEqual(["failed", "not-idempotent", ["once"]]);
  });

  it("of a GET to where nobody is is tried again as a whole", async () => {
    const away = await nobody();
    const server = await serve((_request, response, _body, number) =>
      number === 1 ? response.writeHead(302, { location: away }).end() : response.end("yes"),
    );
    const response = await createClient(quick).fetch(server.url);
    expect([await response.text(), server.requests]).toEqual(["yes", 2]);
  });

  it("is followed with the body, retried from its start, and its end is what counts", async () => {
    const end = await serve((_request, response, _body, number) =>
      number === 1 ? response.writeHead(503).end() : response.end("yes"),
    );
    const start = await serve((_request, response) => response.writeHead(307, { location: end.url }).end());
    const response = await createClient(quick).fetch(start.url, { method: "PUT", body: "whole" });
    expect([await response.text(), start.bodies, end.bodies]).toEqual(["yes", ["whole", "whole"], ["whole", "whole"]]);
    expect(outcomeOf(response)?.attempts.map(({ status }) => status)).toEqual([503, 200]);
  });

  it.each([
    ["in a circle", {}],
    ["that the caller forbids", { redirect: "error" as const }],
  ])("%s fails the call without another attempt", async (_what, init) => {
    const server = await serve((_request, response) => response.writeHead(302, { location: server.url }).end());
    const outcome = await createClient(quick).request(server.url, init);
    expect([outcome.kind, outcome.stopped, outcome.attempts.length]).toEqual(["failed", "not-transient", 1]);
  });

  it("that the caller looks at itself is handed on", async () => {
    const server = await serve((_request, response) =>
      response.writeHead(302, { location: "/", "retry-after": "9" }).end(),
    );
    const response = await createClient(quick).fetch(server.url, { redirect: "manual" });
    expect([response.status, server.requests]).toEqual([302, 1]);
  });
});

describe("answers that nobody reads", () => {
  it.each([
    ["text", "text/plain", 429, 100],
    ["JSON that was looked into", "application/json", 429, 100],
    ["JSON that was too long to look into", "application/json", 429, 100_000],
    ["a failure", "text/plain", 503, 100_000],
  ])("%s give their connections back", async (_what, type, status, length) => {
    const server = await serve((_request, response) => {
      response.writeHead(status, { "content-type": type }).write('{"code":"');
      response.end(`${"x".repeat(length)}"}`);
    });
    const client = createClient({ ...quick, pause: false, retry: { limit: 1, backoffBase: 1 } });
    for (let call = 0; call < 10; call++) await client.fetch(server.url);
    await eventually(
      async () => {
        collectGarbage();
        await new Promise((resolve) => setImmediate(resolve));
        expect(server.sockets.size).toBeLessThanOrEqual(2);
      },
      { withinMs: 10_000 },
    );
    expect(client.stats()).toMatchObject({ inFlight: 0, calls: 10, attempts: 20 });
  });

  it("a 429 that sends no more of its JSON is handed on after a second, and its connection ends with an abort", async () => {
    const server = await serve((_request, response) =>
      response.writeHead(429, { "content-type": "application/json" }).write("{"),
    );
    const controller = new AbortController();
    const client = createClient({ retry: 0 });
    const response = await client.fetch(server.url, { signal: controller.signal });
    const tookMs = outcomeOf(response)?.tookMs ?? 0;
    expect([response.status, tookMs >= 990, tookMs < 5000]).toEqual([429, true, true]);
    controller.abort();
    await eventually(() => expect(server.cut).toBe(1), { withinMs: 5000 });
  });
});

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}
