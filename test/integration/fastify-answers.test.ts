import { Readable } from "node:stream";
import { spillway } from "@spillway/fastify";
import { eventually, startRedisServer } from "@spillway/testkit";
import Fastify, { type FastifyInstance } from "fastify";
import { Redis } from "ioredis";
import { createRateLimiter, type PolicyOptions, type RateLimiter, redisStore, type StoreFailureMode } from "spillway";
import { describe, expect, it, onTestFinished } from "vitest";
import { FASTIFY_WAYS, type FastifyAsk, fieldsOf } from "../support/fastify-exchange.ts";
import { manualLimiter } from "../support/manual-limiter.ts";

const minute: PolicyOptions = { name: "minute", limit: 2, period: "1m", burst: 2 };
const daily: PolicyOptions = { name: "daily", limit: 1000, period: "1d", algorithm: "fixed-window" };
const POLICY = '"minute";q=2;w=60';
const ONE_TAKEN = { "ratelimit-policy": POLICY, ratelimit: '"minute";r=1;t=30' };
const REFUSED = { "ratelimit-policy": POLICY, ratelimit: '"minute";r=0;t=30', "retry-after": "30" };
const preflight = { origin: "https://example.com", "access-control-request-method": "GET" };

const DECIDERS: Readonly<Record<string, (limiter: RateLimiter) => RateLimiter>> = {
  "decided at once": (limiter) => limiter,
  "decided by the store": (limiter) => ({
    ...(limiter.policies === undefined ? {} : { policies: limiter.policies }),
    consume: (asked: never, options: never) => limiter.consume(asked, options),
    consumeNow: () => undefined,
    peek: (key) => limiter.peek(key),
    refund: (decision) => limiter.refund(decision),
    penalize: (key, cost) => limiter.penalize(key, cost),
    block: (key, duration) => limiter.block(key, duration),
    reset: (key) => limiter.reset(key),
    stats: () => limiter.stats(),
    close: () => limiter.close(),
    [Symbol.asyncDispose]: () => limiter.close(),
  }),
};

const CASES = Object.keys(FASTIFY_WAYS).flatMap((way) => Object.keys(DECIDERS).map((who) => [way, who] as const));

/** An application with a route of each kind, and the lines that it logs. */
async function application(limiter: RateLimiter, lines: string[] = []): Promise<FastifyInstance> {
  const app = Fastify({ logger: { level: "warn", stream: { write: (line: string) => lines.push(line) } } });
  app.addHook("onRequest", async (request, reply) => {
    if (request.headers.origin !== undefined) reply.header("access-control-allow-origin", request.headers.origin);
    if (request.headers["x-early"] !== undefined) return reply.code(202).send("early");
  });
  await app.register(spillway, { limiter, notFound: true, exposeHeaders: true, onWarning: () => {} });
  app.get("/", async () => "in");
  app.options("/", async () => "options");
  app.get("/costly", { config: { spillway: { cost: 3 } } }, async () => "in");
  app.get("/exempt", { config: { spillway: false } }, async () => "in");
  app.get("/stream", async (_request, reply) => reply.type("text/plain").send(Readable.from(["a", "b", "c"])));
  app.get("/throw", async () => {
    throw Object.assign(new Error("teapot"), { statusCode: 418 });
  });
  return app;
}

describe.each(CASES)("the answer of Fastify, over %s, %s", (way, who) => {
  async function setup(...policies: PolicyOptions[]) {
    const { limiter, clock } = manualLimiter(...(policies.length === 0 ? [minute] : policies));
    const lines: string[] = [];
    const app = await application((DECIDERS[who] as (typeof DECIDERS)[string])(limiter), lines);
    const ask = await (FASTIFY_WAYS[way] as (typeof FASTIFY_WAYS)[string])(app);
    return { ask, clock, limiter, lines };
  }

  async function emptied(ask: FastifyAsk): Promise<void> {
    for (let n = 0; n < 2; n++) expect((await ask()).status).toBe(200);
  }

  it("allowed with two policies: both fields list both", async () => {
    const { ask } = await setup(minute, daily);
    const answer = await ask();
    expect([answer.status, answer.body]).toEqual([200, "in"]);
    expect(fieldsOf(answer)).toEqual({
      "ratelimit-policy": '"minute";q=2;w=60,"daily";q=1000;w=86400',
      ratelimit: '"minute";r=1;t=30,"daily";r=999;t=86400',
    });
  });

  it("a bucket of 2 a second and 3 at most: three of five requests go in, the others wait for a second", async () => {
    const { ask, clock } = await setup({ name: "bucket", limit: 2, period: "1s", burst: 3 });
    const answers = [];
    for (let n = 0; n < 5; n++) answers.push(await ask());
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429, 429]);
    for (const answer of answers.slice(3)) expect(fieldsOf(answer)["retry-after"]).toBe("1");
    clock.advance(500);
    expect((await ask()).status).toBe(200);
  });

  it("blocked: 429 with the rest of the block, whatever is left", async () => {
    const { ask, clock, limiter } = await setup();
    await ask();
    await limiter.block("ip:127.0.0.1", "1m");
    clock.advance(20_500);
    const answer = await ask();
    expect([answer.status, fieldsOf(answer)["retry-after"]]).toEqual([429, "40"]);
    expect(JSON.parse(answer.body)).toMatchObject({ code: "SPILLWAY_BLOCKED", retryAfterMs: 39_500 });
  });

  it("refused: 429, Retry-After, and the wait in the body", async () => {
    const { ask, clock } = await setup();
    await emptied(ask);
    clock.advance(500);
    const answer = await ask();
    expect([answer.status, fieldsOf(answer)]).toEqual([429, REFUSED]);
    expect(JSON.parse(answer.body)).toMatchObject({ code: "SPILLWAY_LIMITED", retryAfterMs: 29_500 });
  });

  it("never: 429 without Retry-After, and nothing is charged", async () => {
    const { ask } = await setup();
    const answer = await ask({ path: "/costly" });
    expect([answer.status, fieldsOf(answer)]).toEqual([
      429,
      { "ratelimit-policy": POLICY, ratelimit: '"minute";r=2;t=0' },
    ]);
    expect(fieldsOf(await ask())).toEqual(ONE_TAKEN);
  });

  it("exempt: none of the fields, also where the quota is used up", async () => {
    const { ask } = await setup();
    await emptied(ask);
    const answer = await ask({ path: "/exempt" });
    expect([answer.status, fieldsOf(answer)]).toEqual([200, {}]);
  });

  it("404: counts by the switch, with the fields, and is refused like a route", async () => {
    const { ask } = await setup();
    const answers = [await ask({ path: "/a" }), await ask({ path: "/b" }), await ask({ path: "/c" })];
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 429]);
    expect(fieldsOf(answers[0] as (typeof answers)[0])).toEqual(ONE_TAKEN);
    expect(fieldsOf(answers[2] as (typeof answers)[0])).toEqual(REFUSED);
  });

  it("HEAD: counts as GET does, and a refusal has no body", async () => {
    const { ask } = await setup();
    expect(fieldsOf(await ask({ method: "HEAD" }))).toEqual(ONE_TAKEN);
    await ask();
    const answer = await ask({ method: "HEAD" });
    expect([answer.status, answer.body, fieldsOf(answer)]).toEqual([429, "", REFUSED]);
  });

  it("OPTIONS: counts, but for a preflight, which neither counts nor fails (C17 b)", async () => {
    const { ask } = await setup();
    for (let n = 0; n < 20; n++) {
      const answer = await ask({ method: "OPTIONS", headers: preflight });
      expect([answer.status, fieldsOf(answer)]).toEqual([200, {}]);
    }
    expect(fieldsOf(await ask({ method: "OPTIONS" }))).toEqual(ONE_TAKEN);
    await ask();
    const refused = await ask({ headers: { origin: "https://example.com" } });
    expect([refused.status, refused.headers["access-control-allow-origin"]]).toEqual([429, "https://example.com"]);
    expect(refused.headers["access-control-expose-headers"]).toBe("RateLimit, RateLimit-Policy, Retry-After");
  });

  it("a stream: the fields, and the whole body", async () => {
    const { ask } = await setup();
    const answer = await ask({ path: "/stream" });
    expect([answer.body, fieldsOf(answer)]).toEqual(["abc", ONE_TAKEN]);
  });

  it("a handler that throws: its own status, and the fields", async () => {
    const { ask } = await setup();
    const answer = await ask({ path: "/throw" });
    expect([answer.status, fieldsOf(answer)]).toEqual([418, ONE_TAKEN]);
  });

  it("a reply that a hook before has sent: left alone, and no log says that headers were sent twice (C17 d)", async () => {
    const { ask, lines, limiter } = await setup();
    for (let n = 0; n < 3; n++) {
      const answer = await ask({ headers: { "x-early": "1" } });
      expect([answer.status, answer.body, fieldsOf(answer)]).toEqual([202, "early", {}]);
    }
    expect(limiter.stats().allowed).toBe(0);
    expect(lines).toEqual([]);
  });
});

describe.each(Object.keys(FASTIFY_WAYS))("the answer of Fastify, over %s, while the store is away", (way) => {
  async function askAway(onStoreFailure: StoreFailureMode): Promise<FastifyAsk> {
    const away = await startRedisServer();
    await away.kill();
    const redis = new Redis(away.url, { lazyConnect: true });
    redis.on("error", () => {});
    const options = { policies: minute, onStateChange: () => {}, onStoreFailure };
    const limiter = createRateLimiter({ store: redisStore(redis), ...options });
    onTestFinished(async () => {
      await limiter.close();
      redis.disconnect();
      await away.stop();
    });
    await eventually(async () => (await limiter.consume("somebody else")).degraded, { withinMs: 5000 });
    return (FASTIFY_WAYS[way] as (typeof FASTIFY_WAYS)[string])(await application(limiter));
  }

  it("tells the share of this process, and when to come back", async () => {
    const ask = await askAway("backstop");
    const answers = [await ask(), await ask(), await ask()];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(fieldsOf(answers[0] as (typeof answers)[0])).toEqual(ONE_TAKEN);
    const refused = fieldsOf(answers[2] as (typeof answers)[0]);
    expect(refused["retry-after"]).toMatch(/^(?:30|2\d)$/);
    expect(refused.ratelimit).toBe(`"minute";r=0;t=${refused["retry-after"]}`);
  });

  it("is 503 with a wait where nobody is let in meanwhile: the caller is over no limit", async () => {
    const ask = await askAway("closed");
    for (const answer of [await ask(), await ask()]) {
      expect([answer.status, fieldsOf(answer)["retry-after"]]).toEqual([503, "1"]);
      expect(JSON.parse(answer.body)).toMatchObject({ statusCode: 503, code: "SPILLWAY_UNDECIDED" });
    }
    expect((await ask({ path: "/exempt" })).status).toBe(200);
  });
});
