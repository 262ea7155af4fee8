import { spillway } from "@spillway/fastify";
import Fastify, { type FastifyInstance } from "fastify";
import type { PolicyOptions, RateLimiter } from "spillway";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Algorithm, admitted, EACH, notFor, openScenes, PERIODS_TO_FULL, policyOf, remainingOf } from "./scene.ts";

const { open } = openScenes();

async function serving(limiter: RateLimiter): Promise<FastifyInstance> {
  const app = Fastify();
  onTestFinished(() => app.close());
  await app.register(spillway, { limiter, key: () => "k", onWarning: () => {} });
  app.get("/", async () => "in");
  app.get("/dear", { config: { spillway: { cost: 11 } } }, async () => "in");
  return app;
}

/** One token, and the next one after so long. */
function oneIn(algorithm: Algorithm, waitMs: number): PolicyOptions {
  return policyOf(algorithm, { limit: 1, period: waitMs / PERIODS_TO_FULL[algorithm] });
}

describe.each(EACH)("$algorithm, $store", ({ store, algorithm }) => {
  it.each([
    ["C04 a", "1, never 0, for a wait of 200 ms", 200, "1"],
    ["C04 b", "2 for one of 1,900 ms", 1900, "2"],
  ])("%s: Retry-After is %s", async (_case, _title, waitMs, header) => {
    const { limiter } = await open(store);
    const app = await serving(limiter(oneIn(algorithm, waitMs)));
    const first = await app.inject("/");
    expect([first.statusCode, first.headers["retry-after"]]).toEqual([200, undefined]);
    const second = await app.inject("/");
    expect([second.statusCode, second.json().retryAfterMs, second.headers["retry-after"]]).toEqual([
      429,
      waitMs,
      header,
    ]);
  });

  it("C04 c: the reset is whole seconds from now, never a date", async () => {
    // 100 per 60 s, one request and 17.3 s later another. The bucket has a token more every 0.6 s; of the counter's two tokens
    // one is counted no more when half of the next window is over.
    const seconds = { "token-bucket": 1, "fixed-window": 43, "sliding-window-counter": 73, "sliding-window-log": 43 };
    const { limiter, pass } = await open(store);
    const app = await serving(limiter(policyOf(algorithm, { name: "minute", limit: 100, period: "60s" })));
    await app.inject("/");
    await pass(17_300);
    const { headers } = await app.inject("/");
    const left = algorithm === "token-bucket" ? 99 : 98;
    expect(headers.ratelimit).toBe(`"minute";r=${left};t=${seconds[algorithm]}`);
    expect(headers["ratelimit-policy"]).toBe('"minute";q=100;w=60');
    expect(Object.keys(headers).filter((name) => /reset|retry/.test(name))).toEqual([]);
  });

  it("C04 d: a client that waits exactly Retry-After, alone, is admitted each time in 200 tries", async () => {
    const { limiter, pass } = await open(store);
    const app = await serving(limiter(policyOf(algorithm, { limit: 7, period: 1234.567 })));
    for (let refusals = 0; refusals < 200; ) {
      const response = await app.inject("/");
      if (response.statusCode === 429) {
        refusals++;
        expect(response.headers["retry-after"]).toMatch(/^[1-9]\d*$/);
        await pass(Number(response.headers["retry-after"]) * 1000);
        expect((await app.inject("/")).statusCode).toBe(200);
      } else await pass(37.003);
    }
  });

  it("C06 a: a cost above the limit is never admitted, has no wait, and takes nothing", async () => {
    const { limiter: make } = await open(store);
    const limiter = make(policyOf(algorithm, { period: 1000 / PERIODS_TO_FULL[algorithm] }));
    const refused = { allowed: false, reason: "never", remaining: 10, retryAfterMs: Number.POSITIVE_INFINITY };
    expect(await limiter.consume("k", { cost: 11 })).toMatchObject(refused);
    expect(await remainingOf(limiter)).toEqual([10]);
    expect(await admitted(limiter, 10)).toEqual([true]);
  });

  it("C06 c: a cost that equals the limit waits for all of it, and is admitted then", async () => {
    const { limiter: make, pass } = await open(store);
    const limiter = make(policyOf(algorithm, { period: 1000 / PERIODS_TO_FULL[algorithm] }));
    expect(await admitted(limiter, 10)).toEqual([true]);
    const refused = await limiter.consume("k", { cost: 10 });
    expect(refused).toMatchObject({ allowed: false, reason: "limited", retryAfterMs: 1000 });
    await pass(1000);
    expect(await admitted(limiter, 10)).toEqual([true]);
  });

  it("C06 d: no batch is larger than the limit, however long it is to last", async () => {
    const { limiter: make, pass } = await open(store);
    const limiter = make(policyOf(algorithm, { period: 1000 }), { lease: { maxDrainMs: 1000 } });
    let most = 0;
    for (let i = 0; i < 300; i++) {
      if (limiter.consumeNow("k") === undefined) await limiter.consume("k");
      const { leased, spent, returned } = limiter.stats().leases;
      most = Math.max(most, leased - spent - returned);
      await pass(i % 10 === 0 ? 700 : 3);
    }
    expect(most).toBeLessThanOrEqual(10);
    // A window of ten is too small to be leased.
    if (algorithm === "token-bucket") expect(most).toBeGreaterThan(0);
  });

  it("C06 e: a route that costs more than the limit answers without Retry-After", async () => {
    const { limiter } = await open(store);
    const app = await serving(limiter(policyOf(algorithm)));
    const response = await app.inject("/dear");
    expect([response.statusCode, response.headers["retry-after"]]).toEqual([429, undefined]);
  });
});

notFor([
  ["C05", "it is about a client that reads Retry-After, whoever wrote it: packages/client/src/asked-wait.test.ts"],
  ["C06 b", "consume() never waits for tokens, so there is no wait to give up"],
  ["C06 e, the client", "it obeys the missing Retry-After: polite-client.test.ts"],
]);
