import type { RequestListener, Server } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type LimiterLike, type RateLimitMiddleware, rateLimitMiddleware } from "@spillway/http";
import { eventually, startRedisServer } from "@spillway/testkit";
import express from "express";
import { Redis } from "ioredis";
import { createRateLimiter, type Decision, type PolicyOptions, type RateLimiter, redisStore } from "spillway";
import { describe, expect, it, onTestFinished } from "vitest";
import { ask, limitFields, serve } from "../support/http-exchange.ts";
import { manualLimiter } from "../support/manual-limiter.ts";

const minute: PolicyOptions = { name: "minute", limit: 2, period: "1m", burst: 2 };
const daily: PolicyOptions = { name: "daily", limit: 1000, period: "1d", algorithm: "fixed-window" };

/** What an application does with a request that goes in, whatever serves it. */
const routes: Readonly<Record<string, RequestListener>> = {
  "/": (_request, response) => response.end("in"),
  "/stream": (_request, response) => void pipeline(Readable.from(["a", "b", "c"]), response),
  "/throw": () => {
    throw Object.assign(new Error("teapot"), { status: 418 });
  },
};

const handle: RequestListener = (request, response) => routes[request.url as string]?.(request, response);

const SERVERS: Readonly<Record<string, (limit: RateLimitMiddleware) => RequestListener>> = {
  "node:http": (limit) => (request, response) =>
    limit(request, response, (error) => {
      try {
        if (error !== undefined) throw error;
        handle(request, response);
      } catch (fault) {
        response.writeHead((fault as { status?: number }).status ?? 500).end("sorry");
      }
    }),
  "Express 5": (limit) => {
    const app = express().set("env", "test").disable("x-powered-by");
    app.use(limit, handle);
    return app;
  },
};

const WAYS: Readonly<Record<string, (limiter: RateLimiter) => LimiterLike<Decision>>> = {
  "decided at once": (limiter) => limiter,
  "decided by the store": (limiter) => ({
    consume: (key, options) => limiter.consume(key, options),
    consumeNow: () => undefined,
  }),
};

const CASES = Object.keys(SERVERS).flatMap((server) => Object.keys(WAYS).map((way) => [server, way] as const));

describe.each(CASES)("the answer of %s, %s", (kind, way) => {
  function limiterOf(...policies: PolicyOptions[]) {
    const { limiter, clock } = manualLimiter(...policies);
    return { clock, limiter: (WAYS[way] as (typeof WAYS)[string])(limiter) };
  }

  function start(limit: RateLimitMiddleware): Promise<Server> {
    return serve((SERVERS[kind] as (typeof SERVERS)[string])(limit));
  }

  it("allowed: both policies in both fields", async () => {
    const server = await start(rateLimitMiddleware({ limiter: limiterOf(minute, daily).limiter }));
    const answer = await ask(server);
    expect([answer.status, answer.body]).toEqual([200, "in"]);
    expect(limitFields(answer)).toEqual({
      "RateLimit-Policy": '"minute";q=2;w=60,"daily";q=1000;w=86400',
      RateLimit: '"minute";r=1;t=30,"daily";r=999;t=86400',
    });
  });

  it("refused: 429, Retry-After and a problem document", async () => {
    const { clock, limiter } = limiterOf(minute, daily);
    const server = await start(rateLimitMiddleware({ limiter, legacyHeaders: "delta" }));
    await ask(server);
    await ask(server);
    clock.advance(500);
    const answer = await ask(server);
    expect(answer.status).toBe(429);
    expect(limitFields(answer)).toEqual({
      "RateLimit-Policy": '"minute";q=2;w=60,"daily";q=1000;w=86400',
      RateLimit: '"minute";r=0;t=30,"daily";r=998;t=86400',
      "X-RateLimit-Limit": "2",
      "X-RateLimit-Remaining": "0",
      "X-RateLimit-Reset": "30",
      "Retry-After": "30",
    });
    expect(answer.headers["content-type"]).toBe("application/problem+json");
    expect(answer.headers["content-length"]).toBe(String(answer.body.length));
    expect(JSON.parse(answer.body)).toEqual({
      type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
      title: "Quota exceeded",
      status: 429,
      detail: "Over the limit, come back later.",
      "violated-policies": ["minute"],
    });
  });

  it("never: 429 without Retry-After, since no wait helps, and nothing is charged", async () => {
    const { limiter } = limiterOf(minute);
    const server = await start(rateLimitMiddleware({ limiter, cost: ({ method }) => (method === "PUT" ? 3 : 1) }));
    const answer = await ask(server, { method: "PUT" });
    expect(answer.status).toBe(429);
    expect(limitFields(answer)).toEqual({ "RateLimit-Policy": '"minute";q=2;w=60', RateLimit: '"minute";r=2;t=0' });
    expect(JSON.parse(answer.body).detail).toBe("This request costs more than its limit ever allows.");
    expect(limitFields(await ask(server))).toMatchObject({ RateLimit: '"minute";r=1;t=30' });
  });

  it("exempt: none", async () => {
    const { limiter } = limiterOf(minute);
    const server = await start(
      rateLimitMiddleware({ limiter, skip: ({ headers }) => headers["x-skip"] !== undefined }),
    );
    for (let n = 0; n < 4; n++) {
      const answer = await ask(server, { headers: { "x-skip": "1" } });
      expect([answer.status, limitFields(answer)]).toEqual([200, {}]);
    }
    expect(limitFields(await ask(server))).toMatchObject({ RateLimit: '"minute";r=1;t=30' });
  });

  it("HEAD: counts as GET does and gets the same fields, without a body", async () => {
    const server = await start(rateLimitMiddleware({ limiter: limiterOf(minute).limiter }));
    const head = await ask(server, { method: "HEAD" });
    expect([head.status, head.body, limitFields(head).RateLimit]).toEqual([200, "", '"minute";r=1;t=30']);
    await ask(server);
    const [refusedHead, refused] = [await ask(server, { method: "HEAD" }), await ask(server)];
    expect([refusedHead.status, refusedHead.body]).toEqual([429, ""]);
    expect(limitFields(refusedHead)).toEqual(limitFields(refused));
    expect(refusedHead.headers["content-length"]).toBe(refused.headers["content-length"]);
  });

  it("OPTIONS: counts, but for a CORS preflight, which neither counts nor fails (C17 b)", async () => {
    const server = await start(rateLimitMiddleware({ limiter: limiterOf(minute).limiter }));
    const headers = { origin: "https://example.com", "access-control-request-method": "GET" };
    for (let n = 0; n < 20; n++) {
      const preflight = await ask(server, { method: "OPTIONS", headers });
      expect([preflight.status, limitFields(preflight)]).toEqual([200, {}]);
    }
    const plain = await ask(server, { method: "OPTIONS" });
    expect(limitFields(plain)).toMatchObject({ RateLimit: '"minute";r=1;t=30' });
  });

  it("a stream: the fields, and the whole body", async () => {
    const server = await start(rateLimitMiddleware({ limiter: limiterOf(minute).limiter }));
    const answer = await ask(server, { path: "/stream" });
    expect([answer.body, limitFields(answer).RateLimit]).toEqual(["abc", '"minute";r=1;t=30']);
  });

  it("a handler that throws: its own status, the fields, and it was counted", async () => {
    const server = await start(rateLimitMiddleware({ limiter: limiterOf(minute).limiter }));
    const answer = await ask(server, { path: "/throw" });
    expect([answer.status, limitFields(answer)]).toEqual([
      418,
      { "RateLimit-Policy": '"minute";q=2;w=60', RateLimit: '"minute";r=1;t=30' },
    ]);
  });

  it("a key function that throws: an error, never an admission, and none of the fields", async () => {
    const key = () => {
      throw Object.assign(new Error("who?"), { status: 401 });
    };
    const server = await start(rateLimitMiddleware({ limiter: limiterOf(minute).limiter, key }));
    const answer = await ask(server);
    expect([answer.status, limitFields(answer)]).toEqual([401, {}]);
    expect(answer.body).not.toBe("in");
  });
});

describe.each(Object.keys(SERVERS))("the answer of %s, degraded", (kind) => {
  it("tells the share of this process, and when to come back", async () => {
    const away = await startRedisServer();
    await away.kill();
    const redis = new Redis(away.url, { lazyConnect: true });
    const limiter = createRateLimiter({ store: redisStore(redis), policies: minute, onStateChange: () => {} });
    onTestFinished(async () => {
      await limiter.close();
      redis.disconnect();
      await away.stop();
    });
    await eventually(async () => (await limiter.consume("somebody else")).degraded, { withinMs: 5000 });
    const server = await serve((SERVERS[kind] as (typeof SERVERS)[string])(rateLimitMiddleware({ limiter })));
    const answers = [await ask(server), await ask(server), await ask(server)];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(limitFields(answers[0] as (typeof answers)[0])).toEqual({
      "RateLimit-Policy": '"minute";q=2;w=60',
      RateLimit: '"minute";r=1;t=30',
    });
    const refused = limitFields(answers[2] as (typeof answers)[0]);
    expect(refused["RateLimit-Policy"]).toBe('"minute";q=2;w=60');
    expect(refused.RateLimit).toBe(`"minute";r=0;t=${refused["Retry-After"]}`);
    expect(refused["Retry-After"]).toMatch(/^(?:30|2\d)$/);
  });
});
