import { PassThrough } from "node:stream";
import Fastify, { type FastifyPluginCallback, type FastifyReply } from "fastify";
import type { Decision, PolicyOptions, RateLimiter, RefusedDecision } from "spillway";
import { describe, expect, it } from "vitest";
import { type HookName, type SpillwayOptions, spillway } from "./index.ts";
import { HAS_TIMEOUTS, limitedApp, memoryLimiter, StillClock, withoutLocalState } from "./test-support.ts";

const three: PolicyOptions = { name: "minute", limit: 3, period: "1m" };
const preflight = {
  method: "OPTIONS",
  url: "/",
  headers: { origin: "https://example.com", "access-control-request-method": "GET" },
} as const;

function limiter(): RateLimiter {
  return memoryLimiter(new StillClock(), three);
}

describe("which requests count", () => {
  it("takes the cost from the route, or from a function of the request", async () => {
    const app = await limitedApp({ limiter: limiter() }, (one) => {
      one.get("/two", { config: { spillway: { cost: 2 } } }, async () => "in");
      const cost = (request: { query: unknown }) => Number((request.query as { n: string }).n);
      one.get("/many", { config: { spillway: { cost } } }, async () => "in");
      one.get("/named", { config: { spillway: { cost: { minute: 1 } } } }, async () => "in");
    });
    expect((await app.inject("/two")).headers.ratelimit).toBe('"minute";r=1;t=20');
    expect((await app.inject("/many?n=0")).headers.ratelimit).toBe('"minute";r=1;t=20');
    expect((await app.inject("/named")).headers.ratelimit).toBe('"minute";r=0;t=20');
  });

  it("leaves routes alone that do not ask for it when global is false", async () => {
    const app = await limitedApp({ limiter: limiter(), global: false }, (one) => {
      one.get("/", async () => "in");
      one.get("/true", { config: { spillway: true } }, async () => "in");
      one.get("/object", { config: { spillway: {} } }, async () => "in");
      one.get("/false", { config: { spillway: false } }, async () => "in");
    });
    const counted = async (url: string) => "ratelimit" in (await app.inject(url)).headers;
    const answers = await Promise.all(["/", "/true", "/object", "/false"].map(counted));
    expect(answers).toEqual([false, true, true, false]);
  });

  it("counts with the route's own limiter in place of the plugin's", async () => {
    const [global, own] = [limiter(), memoryLimiter(new StillClock(), { name: "own", limit: 1, period: "1s" })];
    const app = await limitedApp({ limiter: global }, (one) => {
      one.get("/", { config: { spillway: { limiter: own } } }, async () => "in");
    });
    expect((await app.inject("/")).headers.ratelimit).toBe('"own";r=0;t=1');
    expect((await app.inject("/")).statusCode).toBe(429);
    expect(global.stats().allowed).toBe(0);
  });

  it("charges a limiter once where nested registrations share it, by the inner one's options", async () => {
    const shared = limiter();
    const app = await limitedApp({ limiter: shared, hook: "preHandler" }, (outer) => {
      outer.register((inner, _options, done) => {
        inner.register(spillway, { limiter: shared, key: () => "inner" });
        inner.after(() => inner.get("/", async (request) => request.spillway?.key));
        done();
      });
    });
    const response = await app.inject("/");
    expect(response.body).toBe("inner");
    expect(response.headers.ratelimit).toBe('"minute";r=2;t=20');
    expect(shared.stats().allowed).toBe(1);
  });

  it("charges once for a route with hooks of its own, and for its HEAD twin", async () => {
    const shared = limiter();
    let own = 0;
    const onRequest = [async () => void own++];
    const app = await limitedApp({ limiter: shared }, (one) => one.get("/", { onRequest }, async () => "in"));
    await app.inject("/");
    await app.inject({ method: "HEAD", url: "/" });
    expect([own, shared.stats().allowed, onRequest.length]).toEqual([2, 2, 1]);
  });

  it("does not cover a route that was there before the plugin", async () => {
    const app = Fastify();
    app.get("/before", async () => "in");
    await limitedApp({ limiter: limiter(), onWarning: () => {} }, undefined, app);
    expect((await app.inject("/before")).headers.ratelimit).toBeUndefined();
    expect((await app.inject("/")).headers.ratelimit).toBe('"minute";r=2;t=20');
  });

  it("shows the handler the decision", async () => {
    const app = await limitedApp({ limiter: limiter() }, (one) => {
      one.get("/", async (request) => ({ allowed: request.spillway?.allowed, remaining: request.spillway?.remaining }));
    });
    expect((await app.inject("/")).json()).toEqual({ allowed: true, remaining: 2 });
  });

  it.each<HookName>(["onRequest", "preParsing", "preValidation", "preHandler"])(
    "decides in %s, after the hooks of the app and of the route",
    async (hook) => {
      const seen: string[] = [];
      const key = () => `${seen.push("guard")}`;
      const app = Fastify();
      app.addHook(hook as "onRequest", async () => void seen.push("app"));
      const own = { [hook]: async () => void seen.push("route") };
      const handler = async () => `${seen.push("handler")}`;
      await limitedApp({ limiter: limiter(), key, hook }, (one) => one.post("/", own, handler), app);
      const response = await app.inject({ method: "POST", url: "/", payload: { some: "body" } });
      expect(response.statusCode).toBe(200);
      expect(seen).toEqual(["app", "route", "guard", "handler"]);
    },
  );

  it("lets one route decide later than the others, where its cost needs the body", async () => {
    const cost = (request: { body: unknown }) => (request.body as { rows: number }).rows;
    const app = await limitedApp({ limiter: limiter() }, (one) => {
      one.post("/", { config: { spillway: { cost, hook: "preHandler" } } }, async () => "in");
    });
    const post = (rows: number) => app.inject({ method: "POST", url: "/", payload: { rows } });
    expect((await post(2)).headers.ratelimit).toBe('"minute";r=1;t=20');
    expect((await post(2)).statusCode).toBe(429);
  });
});

describe("C17 (a): requests that find no route", () => {
  it("count with notFound, in the same bucket, and are refused when it is empty", async () => {
    const app = await limitedApp({ limiter: limiter(), notFound: true });
    const statuses = [];
    for (let n = 0; n < 4; n++) statuses.push((await app.inject(`/missing/${n}`)).statusCode);
    expect(statuses).toEqual([404, 404, 404, 429]);
    expect((await app.inject("/")).statusCode).toBe(429);
  });

  it("count under an app's own not-found handlers, at every prefix", async () => {
    const app = await limitedApp({ limiter: limiter(), notFound: true, hook: "preHandler" }, (one) => {
      one.setNotFoundHandler((_request, reply) => reply.code(404).send("nothing here"));
      const nested: FastifyPluginCallback = (inner, _options, done) => {
        inner.setNotFoundHandler((_request, reply) => reply.code(404).send("nor here"));
        done();
      };
      one.register(nested, { prefix: "/inner" });
    });
    const bodies = [];
    for (const url of ["/x", "/inner/x", "/x"]) bodies.push((await app.inject(url)).body);
    expect(bodies).toEqual(["nothing here", "nor here", "nothing here"]);
    expect((await app.inject("/inner/x")).statusCode).toBe(429);
  });

  it("do not count twice when a counted route gives up with callNotFound", async () => {
    const shared = limiter();
    const app = await limitedApp({ limiter: shared, notFound: true, hook: "preHandler" }, (one) => {
      one.get("/", (_request, reply) => reply.callNotFound());
    });
    expect((await app.inject("/")).statusCode).toBe(404);
    expect(shared.stats().allowed).toBe(1);
  });

  it("do not count without notFound", async () => {
    const shared = limiter();
    const app = await limitedApp({ limiter: shared });
    expect((await app.inject("/missing")).statusCode).toBe(404);
    expect(shared.stats().allowed).toBe(0);
  });
});

describe("C17 (b): CORS preflights", () => {
  const routes = (app: ReturnType<typeof Fastify>) => {
    app.route({ method: ["GET", "OPTIONS"], url: "/", handler: async () => "in" });
  };

  it("neither count nor fail", async () => {
    const shared = limiter();
    const app = await limitedApp({ limiter: shared, notFound: true }, routes);
    for (let n = 0; n < 20; n++) {
      expect((await app.inject(preflight)).statusCode).toBe(200);
      expect((await app.inject({ ...preflight, url: "/missing" })).statusCode).toBe(404);
    }
    expect((await app.inject("/")).headers.ratelimit).toBe('"minute";r=2;t=20');
    expect(shared.stats().allowed).toBe(1);
  });

  it("count when told so, and so does any other OPTIONS request", async () => {
    const app = await limitedApp({ limiter: limiter(), preflights: true }, routes);
    expect((await app.inject(preflight)).headers.ratelimit).toBe('"minute";r=2;t=20');
    const plain = await limitedApp({ limiter: limiter() }, routes);
    const headers = { origin: "https://example.com" };
    expect((await plain.inject({ method: "OPTIONS", url: "/", headers })).headers.ratelimit).toBe('"minute";r=2;t=20');
  });
});

describe("what a refusal looks like", () => {
  const one: PolicyOptions = { name: "minute", limit: 1, period: "1m" };

  async function refused(options: Omit<SpillwayOptions, "limiter">) {
    const app = await limitedApp({ limiter: memoryLimiter(new StillClock(), one), ...options });
    await app.inject("/");
    return app.inject("/");
  }

  it("is a problem document when asked for", async () => {
    const response = await refused({ problemJson: true });
    expect(response.statusCode).toBe(429);
    expect(response.headers["content-type"]).toBe("application/problem+json; charset=utf-8");
    expect(response.headers["retry-after"]).toBe("60");
    expect(response.json()).toEqual({
      type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
      title: "Quota exceeded",
      status: 429,
      detail: "Over the limit, come back later.",
      "violated-policies": ["minute"],
    });
  });

  it("is what body builds: an object as JSON, a text as text", async () => {
    const body = (_request: unknown, decision: RefusedDecision) => ({ wait: decision.retryAfterMs });
    expect((await refused({ body })).json()).toEqual({ wait: 60_000 });
    const text = await refused({ body: () => "slow down" });
    expect([text.statusCode, text.headers["content-type"], text.body]).toEqual([
      429,
      "text/plain; charset=utf-8",
      "slow down",
    ]);
  });

  it("is told to onRefused first, and an admission is not", async () => {
    const told: unknown[] = [];
    await refused({ onRefused: (request, decision) => told.push([request.url, decision.policy, decision.reason]) });
    expect(told).toEqual([["/", "minute", "limited"]]);
  });

  it("does not run the handler, and reaches onSend and onResponse hooks like any reply", async () => {
    const seen: unknown[] = [];
    const app = Fastify();
    app.addHook("onSend", async (_request, reply) => void seen.push(reply.statusCode));
    app.addHook("onError", async () => void seen.push("error"));
    await limitedApp({ limiter: limiter() }, (it) => it.get("/", async () => void seen.push("handler")), app);
    for (let n = 0; n < 4; n++) await app.inject("/");
    expect(seen.slice(-3)).toEqual(["handler", 200, 429]);
    expect(seen).not.toContain("error");
  });

  it("never calls a late body function a reply", async () => {
    const response = await refused({ body: async () => "late" });
    expect(response.statusCode).toBe(500);
    expect(response.json().message).toContain("body must be a synchronous function");
  });
});

describe.each([
  ["decided at once", (real: RateLimiter) => real],
  ["decided by the store", withoutLocalState],
])("faults, %s", (_title, wrap) => {
  const routes = (cost: () => unknown) => (app: ReturnType<typeof Fastify>) => {
    app.get("/", { config: { spillway: { cost: cost as () => number } } }, async () => "in");
  };
  const boom = () => {
    throw new Error("boom");
  };

  it.each([Number.NaN, -1, 1.5, "1", undefined, null, Promise.resolve(1)])(
    "a cost function that returns %o is a 500 with a clear message, never an admission",
    async (got) => {
      const app = await limitedApp(
        { limiter: wrap(limiter()) },
        routes(() => got),
      );
      const response = await app.inject("/");
      expect(response.statusCode).toBe(500);
      expect(response.json()).toMatchObject({ code: "ERR_SPILLWAY_INVALID_COST" });
      expect(response.json().message).toContain("a whole number from 0");
    },
  );

  it.each<[string, Partial<SpillwayOptions>, () => unknown]>([
    ["cost", {}, boom],
    ["key", { key: boom }, () => 1],
    ["onRefused", { onRefused: boom }, () => 9],
    ["body", { body: boom }, () => 9],
  ])("what %s throws goes to the error handler, as 500", async (_name, options, cost) => {
    const app = await limitedApp({ limiter: wrap(limiter()), ...options }, routes(cost));
    const response = await app.inject("/");
    expect(response.statusCode).toBe(500);
    expect(response.json().message).toBe("boom");
    expect(response.headers["retry-after"]).toBeUndefined();
  });

  it("keeps the status of an error that has one, so that a key function can answer 401", async () => {
    const key = () => {
      throw Object.assign(new Error("who?"), { statusCode: 401 });
    };
    const app = await limitedApp({ limiter: wrap(limiter()), key });
    expect((await app.inject("/")).statusCode).toBe(401);
  });

  it("a closed limiter is a 500, never an admission", async () => {
    const closed = limiter();
    const app = await limitedApp({ limiter: wrap(closed) });
    await closed.close();
    const response = await app.inject("/");
    expect([response.statusCode, response.json().code]).toEqual([500, "ERR_SPILLWAY_CLOSED"]);
  });
});

describe("a decision that comes late", () => {
  /** A limiter whose answer waits until it is let go: an admission, or a refusal. */
  function slow(admits: boolean) {
    const real = limiter();
    let letGo = () => {};
    const consume = (): Promise<Decision> =>
      new Promise((resolve) => {
        letGo = () => resolve(real.consumeNow("any", { cost: admits ? 1 : 9 }) as Decision);
      });
    return { limiter: { ...withoutLocalState(real), consume }, letGo: () => letGo() };
  }

  it.each([
    ["an admission", true],
    ["a refusal", false],
  ])(
    "%s touches nothing when someone else has replied meanwhile, or is about to end a reply",
    async (_title, admits) => {
      const lines: string[] = [];
      const app = Fastify({ logger: { level: "warn", stream: { write: (line: string) => lines.push(line) } } });
      const held = slow(admits);
      const body = new PassThrough();
      let latest: FastifyReply | undefined;
      app.addHook("onRequest", (request, reply, done) => {
        latest = reply;
        setImmediate(() => reply.code(503).send(request.url === "/stream" ? body : "gave up"));
        done();
      });
      const handler = async () => void lines.push("handled");
      await limitedApp({ limiter: held.limiter }, (one) => one.get("/", handler).get("/stream", handler), app);
      const whole = await app.inject("/");
      held.letGo();
      latest = undefined;
      const streamed = app.inject("/stream");
      body.write("first, ");
      await expect.poll(() => latest?.raw.headersSent, { interval: 1 }).toBe(true);
      held.letGo();
      await new Promise(setImmediate);
      body.end("last");
      for (const [response, text] of [
        [whole, "gave up"],
        [await streamed, "first, last"],
      ] as const) {
        expect([response.statusCode, response.body]).toEqual([503, text]);
        expect(response.headers.ratelimit).toBeUndefined();
      }
      expect(lines).toEqual([]);
    },
  );

  it("touches nothing when the reply was hijacked meanwhile", async () => {
    const held = slow(false);
    const app = Fastify();
    app.addHook("onRequest", (_request, reply, done) => {
      setImmediate(() => {
        reply.hijack();
        held.letGo();
        setImmediate(() => reply.raw.end("raw"));
      });
      done();
    });
    await limitedApp({ limiter: held.limiter }, undefined, app);
    const response = await app.inject("/");
    expect([response.statusCode, response.body, response.headers.ratelimit]).toEqual([200, "raw", undefined]);
  });

  it.skipIf(!HAS_TIMEOUTS)(
    "leaves the request's own signal alone, which Fastify aborts with the body once it is watched",
    async () => {
      const app = Fastify();
      await limitedApp(
        { limiter: withoutLocalState(limiter()) },
        (one) =>
          one.post("/", async (request) => ({
            aborted: (request as unknown as { signal: AbortSignal }).signal.aborted,
          })),
        app,
      );
      await app.listen({ port: 0, host: "127.0.0.1" });
      const { port } = app.server.address() as { port: number };
      const headers = { "content-type": "application/json" };
      const response = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", headers, body: "{}" });
      expect(await response.json()).toEqual({ aborted: false });
      expect(response.headers.get("ratelimit")).toBe('"minute";r=2;t=20');
    },
  );
});
