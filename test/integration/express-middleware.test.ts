import { decisionOf, rateLimitMiddleware } from "@spillway/http";
import express, { type Express, type Request, type Response } from "express";
import type { Decision, PolicyOptions, RefusedDecision } from "spillway";
import { describe, expect, it, onTestFinished } from "vitest";
import { ask, limitFields, serve } from "../support/http-exchange.ts";
import { manualLimiter } from "../support/manual-limiter.ts";

const five: PolicyOptions = { name: "minute", limit: 5, period: "1m" };

function createApp(): Express {
  return express().set("env", "test").disable("x-powered-by");
}

/** What Node warns of while a test runs. */
function warnings(): Error[] {
  const heard: Error[] = [];
  const listen = (warning: Error) => heard.push(warning);
  process.on("warning", listen);
  onTestFinished(() => void process.off("warning", listen));
  return heard;
}

describe("on Express 5", () => {
  it("limits one route by what Express knows of a request, and shows its handler the decision", async () => {
    const { limiter } = manualLimiter(five);
    const app = createApp();
    const limit = rateLimitMiddleware({
      limiter,
      key: (request: Request<{ user: string }>) => request.params.user,
      cost: (request) => Number(request.query.rows ?? 1),
    });
    app.get("/:user", limit, (request, response) => {
      const decision = decisionOf<Decision>(request);
      response.json([decision?.key, decision?.remaining]);
    });
    const server = await serve(app);
    expect((await ask(server, { path: "/anna?rows=3" })).body).toBe('["anna",2]');
    expect((await ask(server, { path: "/bert" })).body).toBe('["bert",4]');
    expect((await ask(server, { path: "/anna?rows=3" })).status).toBe(429);
    expect((await ask(server, { path: "/anna?rows=NaN" })).status).toBe(500);
  });

  it("sends refusals by Express's own means, and tells of them with the limiter's own decision", async () => {
    const { limiter } = manualLimiter({ ...five, limit: 1 });
    const told: string[] = [];
    const app = createApp();
    app.use(
      rateLimitMiddleware({
        limiter,
        onRefused: (request: Request, refusal: RefusedDecision) => void told.push(`${request.path} ${refusal.key}`),
        respond: (_request, response: Response, refusal) => response.json({ waitMs: refusal.retryAfterMs }),
      }),
    );
    const server = await serve(app);
    await ask(server);
    const refused = await ask(server, { path: "/a?b" });
    expect([refused.status, refused.body, refused.headers["retry-after"]]).toEqual([429, '{"waitMs":60000}', "60"]);
    expect(told).toEqual(["/a ip:127.0.0.1"]);
  });

  it("lets respond wait, and hands what it throws then to the error handler", async () => {
    const { limiter } = manualLimiter({ ...five, limit: 1 });
    const app = createApp();
    app.use(
      rateLimitMiddleware({
        limiter,
        respond: async (request: Request, response: Response) => {
          await new Promise(setImmediate);
          if (request.path === "/throw") throw Object.assign(new Error("page not found"), { status: 418 });
          response.send("later");
        },
      }),
    );
    const server = await serve(app);
    await ask(server);
    expect(await ask(server)).toMatchObject({ status: 429, body: "later" });
    const failed = await ask(server, { path: "/throw" });
    expect([failed.status, failed.headers["retry-after"]]).toEqual([418, undefined]);
  });

  it("never takes what a key function throws for Express's leave to skip the limit", async () => {
    const { limiter } = manualLimiter(five);
    for (const thrown of ["route", "router", undefined]) {
      const app = createApp();
      const key = () => {
        throw thrown;
      };
      app.get("/", rateLimitMiddleware({ limiter, key }), (_request, response) => void response.send("in"));
      app.use((_request: Request, response: Response) => void response.send("around"));
      const answer = await ask(await serve(app));
      expect(answer.status).toBe(500);
      expect(answer.body).toContain("The rate limit could not be decided");
    }
    expect(limiter.stats().allowed).toBe(0);
  });

  it("counts a request once where the same middleware is mounted twice", async () => {
    const { limiter } = manualLimiter(five);
    const app = createApp();
    const limit = rateLimitMiddleware({ limiter });
    app.use(limit);
    app.use(
      "/inner",
      limit,
      express.Router().get("/", limit, (_request, response) => void response.send("in")),
    );
    const answer = await ask(await serve(app), { path: "/inner" });
    expect([answer.status, limitFields(answer).RateLimit]).toEqual([200, '"minute";r=4;t=12']);
  });

  it("runs dry: everybody goes in, nothing is told, and refusals are known", async () => {
    const { limiter } = manualLimiter(five);
    const reasons: string[] = [];
    const app = createApp();
    app.use(
      rateLimitMiddleware({ limiter, dryRun: true, onRefused: (_request, { reason }) => void reasons.push(reason) }),
    );
    app.get("/", (_request, response) => void response.send("in"));
    const server = await serve(app);
    for (let n = 0; n < 8; n++) {
      const answer = await ask(server);
      expect([answer.status, limitFields(answer)]).toEqual([200, {}]);
    }
    expect(reasons).toEqual(["limited", "limited", "limited"]);
  });
});

describe("C17 on Express 5", () => {
  it("(a) paths that nothing serves count where the middleware stands before all routes", async () => {
    const app = createApp();
    app.use(rateLimitMiddleware({ limiter: manualLimiter({ ...five, limit: 10 }).limiter }));
    const server = await serve(app);
    const statuses: number[] = [];
    for (let n = 0; n < 12; n++) statuses.push((await ask(server, { path: `/missing/${n}` })).status);
    expect(statuses).toEqual([...new Array(10).fill(404), 429, 429]);
  });

  it("(b) a refused cross-origin GET carries the CORS headers and exposes the limit's", async () => {
    const app = createApp();
    app.use((_request, response, next) => {
      response.setHeader("Access-Control-Allow-Origin", "https://example.com");
      response.setHeader("Access-Control-Expose-Headers", "RateLimit, RateLimit-Policy, Retry-After");
      next();
    });
    app.use(rateLimitMiddleware({ limiter: manualLimiter({ ...five, limit: 1 }).limiter }));
    const server = await serve(app);
    await ask(server);
    const refused = await ask(server, { headers: { origin: "https://example.com" } });
    expect([refused.status, refused.headers["access-control-allow-origin"]]).toEqual([429, "https://example.com"]);
    for (const name of String(refused.headers["access-control-expose-headers"]).toLowerCase().split(", "))
      expect(refused.headers[name]).toBeDefined();
  });

  it("(c) a global limit and a route's are charged once each, and both are told", async () => {
    const app = createApp();
    const global = manualLimiter({ name: "global", limit: 10, period: "1m" });
    const route = manualLimiter({ name: "route", limit: 3, period: "1m" });
    app.use(rateLimitMiddleware({ limiter: global.limiter, legacyHeaders: "delta" }));
    const own = rateLimitMiddleware({ limiter: route.limiter, legacyHeaders: "delta" });
    app.get("/", own, (_request, response) => void response.send("in"));
    expect(limitFields(await ask(await serve(app)))).toEqual({
      "RateLimit-Policy": '"global";q=10;w=60,"route";q=3;w=60',
      RateLimit: '"global";r=9;t=6,"route";r=2;t=20',
      "X-RateLimit-Limit": "3",
      "X-RateLimit-Remaining": "2",
      "X-RateLimit-Reset": "20",
    });
  });

  it("(d) a reply that something earlier has sent stays as it is, uncounted, also when it calls next all the same", async () => {
    const heard = warnings();
    const { limiter } = manualLimiter({ ...five, limit: 1 });
    const errors: unknown[] = [];
    const app = createApp();
    app.use("/early", (_request, response) => void response.status(202).send("early"));
    app.use("/both", (_request, response, next) => {
      response.status(202).send("early");
      next();
    });
    app.use(rateLimitMiddleware({ limiter }));
    app.use((_request, _response, next) => next());
    app.use((error: unknown, _request: Request, response: Response, _next: unknown) => {
      errors.push(error);
      response.end();
    });
    const server = await serve(app);
    for (const path of ["/early", "/both", "/early", "/both"]) {
      const answer = await ask(server, { path });
      expect([answer.status, answer.body, limitFields(answer)]).toEqual([202, "early", {}]);
    }
    expect(limiter.stats().allowed).toBe(0);
    expect([errors, heard]).toEqual([[], []]);
  });
});

describe("C18 on Express 5", () => {
  it.each([
    ["is off", false, 5, "limited by the address of its connection"],
    ["is 1: the proxy appends whom it saw", 1, 5, undefined],
    ["names the proxy", "loopback", 5, undefined],
    ["is true, which lets any caller choose its bucket", true, 50, "`trust proxy` set to true"],
  ])(
    "(a) where trust proxy %s, as many of 50 go in as callers are told apart",
    async (_title, trust, admitted, said) => {
      const heard = warnings();
      const app = createApp().set("trust proxy", trust);
      app.use(rateLimitMiddleware({ limiter: manualLimiter(five).limiter }));
      app.use((_request, response) => void response.send("in"));
      const server = await serve(app);
      let goneIn = 0;
      for (let n = 1; n <= 50; n++) {
        const headers = { "x-forwarded-for": `198.51.100.${n}, 203.0.113.7` };
        if ((await ask(server, { headers })).status === 200) goneIn++;
      }
      expect(goneIn).toBe(admitted);
      const messages = heard.filter(({ name }) => name === "SpillwayWarning").map(({ message }) => message);
      expect(messages).toEqual(said === undefined ? [] : [expect.stringContaining(said)]);
    },
  );

  it("(b) a key from a header that is absent, empty, sent twice or very long", async () => {
    const app = createApp();
    const key = ({ headers }: Request) => headers["x-api-key"] as string | undefined;
    app.use(rateLimitMiddleware({ limiter: manualLimiter(five).limiter, key }));
    app.use((request, response) => void response.send(decisionOf<Decision>(request)?.key));
    const server = await serve(app);
    const keyFor = async (value?: string | string[]) =>
      (await ask(server, { headers: value === undefined ? {} : { "x-api-key": value } })).body;
    expect(await keyFor()).toBe("ip:127.0.0.1");
    expect(await keyFor("")).toBe("ip:127.0.0.1");
    expect(await keyFor(["a", "b"])).toBe("a, b");
    expect(await keyFor("k".repeat(8192))).toBe("k".repeat(8192));
    expect(await keyFor("ip:192.0.2.1")).toBe("ip:key:192.0.2.1");
  });
});

describe("C04 on Express 5", () => {
  async function start(...policies: PolicyOptions[]) {
    const { limiter, clock } = manualLimiter(...policies);
    const app = createApp();
    app.use(rateLimitMiddleware({ limiter, legacyHeaders: "epoch" }));
    app.use((_request, response) => void response.send("in"));
    return { clock, server: await serve(app) };
  }

  it("(a) Retry-After is 1, never 0, for a wait of 200 ms, and (b) 2 for one of 1,900 ms", async () => {
    const quick = await start({ name: "burst", limit: 5, period: "1s", burst: 1 });
    await ask(quick.server);
    expect((await ask(quick.server)).headers["retry-after"]).toBe("1");
    const slow = await start({ name: "slow", limit: 1, period: "2s" });
    await ask(slow.server);
    slow.clock.advance(100);
    expect((await ask(slow.server)).headers["retry-after"]).toBe("2");
  });

  it("(c) the reset is a delta within the window, and an epoch of ten digits under its own name", async () => {
    const { server, clock } = await start({ name: "minute", limit: 100, period: "60s", algorithm: "fixed-window" });
    await ask(server);
    clock.advance(17_300);
    const earliest = Math.ceil((Date.now() + 42_700) / 1000);
    const answer = await ask(server);
    expect(answer.headers.ratelimit).toBe('"minute";r=98;t=43');
    expect(answer.headers["x-ratelimit-reset"]).toMatch(/^\d{10}$/);
    expect(Number(answer.headers["x-ratelimit-reset"])).toBeGreaterThanOrEqual(earliest);
    expect(Number(answer.headers["x-ratelimit-reset"])).toBeLessThanOrEqual(Math.ceil((Date.now() + 42_700) / 1000));
  });

  it("(d) a client that waits exactly Retry-After, alone, is admitted every time in 200 tries", async () => {
    const thirds: PolicyOptions = { name: "thirds", limit: 3, period: "1s", burst: 1 };
    const { server, clock } = await start(thirds, { name: "sevenths", limit: 7, period: 10_007, burst: 2 });
    for (let refusals = 0; refusals < 200; ) {
      const answer = await ask(server);
      clock.advance(37.003);
      if (answer.status === 200) continue;
      refusals++;
      clock.advance(Number(answer.headers["retry-after"]) * 1000 - 37.003);
      expect((await ask(server)).status).toBe(200);
    }
  });
});
