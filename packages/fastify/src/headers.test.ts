import { Readable } from "node:stream";
import Fastify, { type LightMyRequestResponse } from "fastify";
import type { PolicyOptions } from "spillway";
import { describe, expect, it } from "vitest";
import { spillway } from "./index.ts";
import { limitedApp, memoryLimiter, StillClock, withoutLocalState } from "./test-support.ts";

const minute: PolicyOptions = { name: "minute", limit: 2, period: "1m", burst: 2 };
const daily: PolicyOptions = { name: "daily", limit: 1000, period: "1d", algorithm: "fixed-window" };

/** The fields that belong to limits, as a client gets them. */
function fieldsOf(response: LightMyRequestResponse): Record<string, unknown> {
  const names = ["ratelimit-policy", "ratelimit", "retry-after"];
  return Object.fromEntries(names.filter((name) => name in response.headers).map((n) => [n, response.headers[n]]));
}

describe.each([
  ["decided at once", false],
  ["decided by the store", true],
])("fields of a reply, %s", (_title, asksStore) => {
  const limiterOf = (clock: StillClock, ...policies: PolicyOptions[]) => {
    const limiter = memoryLimiter(clock, ...policies);
    return asksStore ? withoutLocalState(limiter) : limiter;
  };

  it("allowed: the policy, what is left, and when more comes", async () => {
    const app = await limitedApp({ limiter: limiterOf(new StillClock(), minute) });
    const response = await app.inject("/");
    expect(response.statusCode).toBe(200);
    expect(fieldsOf(response)).toEqual({ "ratelimit-policy": '"minute";q=2;w=60', ratelimit: '"minute";r=1;t=30' });
  });

  it("refused: 429, Retry-After, and a JSON body in the shape of Fastify's errors", async () => {
    const clock = new StillClock();
    const app = await limitedApp({ limiter: limiterOf(clock, minute) });
    await app.inject("/");
    await app.inject("/");
    clock.advance(500);
    const response = await app.inject("/");
    expect(response.statusCode).toBe(429);
    expect(fieldsOf(response)).toEqual({
      "ratelimit-policy": '"minute";q=2;w=60',
      ratelimit: '"minute";r=0;t=30',
      "retry-after": "30",
    });
    expect(response.headers["content-type"]).toBe("application/json; charset=utf-8");
    expect(response.json()).toEqual({
      statusCode: 429,
      code: "SPILLWAY_LIMITED",
      error: "Too Many Requests",
      message: "Over the limit, come back later.",
      retryAfterMs: 29_500,
    });
  });

  it("never: 429 without Retry-After, since no wait helps, and nothing is charged", async () => {
    const limiter = limiterOf(new StillClock(), minute);
    const app = await limitedApp({ limiter, onWarning: () => {} }, (one) => {
      one.get("/", { config: { spillway: { cost: 3 } } }, async () => "in");
      one.get("/cheap", async () => "in");
    });
    const response = await app.inject("/");
    expect(response.statusCode).toBe(429);
    expect(fieldsOf(response)).toEqual({ "ratelimit-policy": '"minute";q=2;w=60', ratelimit: '"minute";r=2;t=0' });
    expect(response.headers["x-should-retry"]).toBe("false");
    expect(response.json()).toEqual({
      statusCode: 429,
      code: "SPILLWAY_NEVER",
      error: "Too Many Requests",
      message: "This request costs more than its limit ever allows.",
    });
    expect((await app.inject("/cheap")).headers.ratelimit).toBe('"minute";r=1;t=30');
  });

  it("exempt: none", async () => {
    const app = await limitedApp({ limiter: limiterOf(new StillClock(), minute) }, (one) => {
      one.get("/", { config: { spillway: false } }, async (request) => ({ decision: request.spillway }));
    });
    for (let i = 0; i < 4; i++) {
      const response = await app.inject("/");
      expect(response.json()).toEqual({ decision: null });
      expect(fieldsOf(response)).toEqual({});
    }
  });

  it("two policies: both fields list both, and a refusal tells the wait of the one that refuses", async () => {
    const app = await limitedApp({ limiter: limiterOf(new StillClock(), minute, daily) });
    const policy = '"minute";q=2;w=60,"daily";q=1000;w=86400';
    expect(fieldsOf(await app.inject("/"))).toEqual({
      "ratelimit-policy": policy,
      ratelimit: '"minute";r=1;t=30,"daily";r=999;t=86400',
    });
    await app.inject("/");
    expect(fieldsOf(await app.inject("/"))).toEqual({
      "ratelimit-policy": policy,
      ratelimit: '"minute";r=0;t=30,"daily";r=998;t=86400',
      "retry-after": "30",
    });
  });

  it("HEAD: counts once and gets the same fields as GET, and a refusal has no body", async () => {
    const app = await limitedApp({ limiter: limiterOf(new StillClock(), minute) });
    expect((await app.inject({ method: "HEAD", url: "/" })).headers.ratelimit).toBe('"minute";r=1;t=30');
    expect((await app.inject("/")).headers.ratelimit).toBe('"minute";r=0;t=30');
    const refused = await app.inject({ method: "HEAD", url: "/" });
    expect(refused.statusCode).toBe(429);
    expect(refused.headers["retry-after"]).toBe("30");
    expect(refused.body).toBe("");
  });

  it("a handler that throws: the error's own status and body, and the fields", async () => {
    const app = await limitedApp({ limiter: limiterOf(new StillClock(), minute) }, (one) => {
      one.get("/", async () => {
        throw Object.assign(new Error("teapot"), { statusCode: 418 });
      });
    });
    const response = await app.inject("/");
    expect(response.statusCode).toBe(418);
    expect(response.json().message).toBe("teapot");
    expect(fieldsOf(response)).toEqual({ "ratelimit-policy": '"minute";q=2;w=60', ratelimit: '"minute";r=1;t=30' });
  });

  it("a stream: the fields, and the whole body", async () => {
    const app = await limitedApp({ limiter: limiterOf(new StillClock(), minute) }, (one) => {
      one.get("/", (_request, reply) => reply.type("text/plain").send(Readable.from(["a", "b", "c"])));
    });
    const response = await app.inject("/");
    expect(response.body).toBe("abc");
    expect(fieldsOf(response)).toEqual({ "ratelimit-policy": '"minute";q=2;w=60', ratelimit: '"minute";r=1;t=30' });
  });

  it("a reply that an earlier hook sent: left as it is, not counted, and nothing is sent twice (C17 d)", async () => {
    const lines: string[] = [];
    const app = Fastify({ logger: { level: "warn", stream: { write: (line: string) => lines.push(line) } } });
    app.addHook("onRequest", async (request, reply) => {
      if (request.headers["x-early"]) return reply.code(202).send("early");
    });
    await limitedApp({ limiter: limiterOf(new StillClock(), minute) }, undefined, app);
    for (let i = 0; i < 3; i++) {
      const response = await app.inject({ url: "/", headers: { "x-early": "1" } });
      expect([response.statusCode, response.body, fieldsOf(response)]).toEqual([202, "early", {}]);
    }
    expect((await app.inject("/")).headers.ratelimit).toBe('"minute";r=1;t=30');
    expect(lines).toEqual([]);
  });
});

describe("the reply's fields by option", () => {
  it("are left out with headers false, but for the Retry-After of a refusal", async () => {
    const limiter = memoryLimiter(new StillClock(), { ...minute, burst: 1 });
    const app = await limitedApp({ limiter, headers: false });
    expect(fieldsOf(await app.inject("/"))).toEqual({});
    expect(fieldsOf(await app.inject("/"))).toEqual({ "retry-after": "30" });
  });

  it("name the policies of both where two registrations guard one route, each charged once", async () => {
    const clock = new StillClock();
    const app = await limitedApp({ limiter: memoryLimiter(clock, minute) }, (outer) => {
      const limiter = memoryLimiter(clock, daily);
      outer.register((inner, _options, done) => {
        inner.register(spillway, { limiter });
        inner.after(() => inner.get("/", async () => "in"));
        done();
      });
    });
    expect(fieldsOf(await app.inject("/"))).toEqual({
      "ratelimit-policy": '"minute";q=2;w=60,"daily";q=1000;w=86400',
      ratelimit: '"minute";r=1;t=30,"daily";r=999;t=86400',
    });
  });
});

describe("C04: headers that tell the client when to come back", () => {
  it("(a) Retry-After is 1, never 0, for a wait of 200 ms", async () => {
    const limiter = memoryLimiter(new StillClock(), { name: "burst", limit: 5, period: "1s", burst: 1 });
    const app = await limitedApp({ limiter });
    await app.inject("/");
    const response = await app.inject("/");
    expect(response.json().retryAfterMs).toBe(200);
    expect(response.headers["retry-after"]).toBe("1");
  });

  it("(b) Retry-After is 2 for a wait of 1,900 ms", async () => {
    const clock = new StillClock();
    const app = await limitedApp({ limiter: memoryLimiter(clock, { name: "slow", limit: 1, period: "2s" }) });
    await app.inject("/");
    clock.advance(100);
    const response = await app.inject("/");
    expect(response.json().retryAfterMs).toBe(1900);
    expect(response.headers["retry-after"]).toBe("2");
  });

  it("(c) the reset is whole seconds from now, within the window, never a date", async () => {
    const clock = new StillClock();
    const app = await limitedApp({
      limiter: memoryLimiter(clock, { name: "minute", limit: 100, period: "60s", algorithm: "fixed-window" }),
    });
    expect((await app.inject("/")).headers.ratelimit).toBe('"minute";r=99;t=60');
    clock.advance(17_300);
    const response = await app.inject("/");
    expect(response.headers.ratelimit).toBe('"minute";r=98;t=43');
    expect(Object.keys(response.headers).filter((name) => /reset|retry/.test(name))).toEqual([]);
    clock.advance(42_699);
    expect((await app.inject("/")).headers.ratelimit).toBe('"minute";r=97;t=1');
  });

  it("(d) a client that waits exactly Retry-After, alone, is admitted every time in 200 tries", async () => {
    const clock = new StillClock();
    const policies: PolicyOptions[] = [
      { name: "thirds", limit: 3, period: "1s", burst: 1 },
      { name: "sevenths", limit: 7, period: 10_007, burst: 2 },
    ];
    const app = await limitedApp({ limiter: memoryLimiter(clock, ...policies) });
    for (let refusals = 0; refusals < 200; ) {
      const response = await app.inject("/");
      clock.advance(37.003);
      if (response.statusCode === 200) continue;
      refusals++;
      clock.advance(Number(response.headers["retry-after"]) * 1000 - 37.003);
      expect((await app.inject("/")).statusCode).toBe(200);
    }
  });
});
