// Faults that other limiters for Fastify were found to have: each must not be there.
import { spillway } from "@spillway/fastify";
import { eventually } from "@spillway/testkit";
import Fastify, { type FastifyPluginCallback } from "fastify";
import {
  createRateLimiter,
  type Duration,
  memoryStore,
  type PolicyOptions,
  type RateLimiter,
  redisStore,
} from "spillway";
import { describe, expect, it, onTestFinished } from "vitest";
import { FASTIFY_WAYS } from "../support/fastify-exchange.ts";
import { PATIENT_MS, redisFixture } from "../support/redis-fixture.ts";

const redis = redisFixture();

type StoreOption = NonNullable<Parameters<typeof createRateLimiter>[0]["store"]>;

/** Limiters over one and the same store. */
const STORES: Readonly<Record<string, () => (...policies: PolicyOptions[]) => Promise<RateLimiter>>> = {
  memory: () => {
    const store = memoryStore();
    return (...policies) => limiterOver(store, policies);
  },
  Redis: () => {
    const store = redisStore(redis.connect({ lazyConnect: true }));
    redis.afterwards(() => store.close());
    return (...policies) => limiterOver(store, policies);
  },
};

/** One that has reached its store: on a busy machine the first connection may be given up. */
async function limiterOver(store: StoreOption, policies: PolicyOptions[]): Promise<RateLimiter> {
  const limiter = createRateLimiter({ store, policies, deadlineMs: PATIENT_MS, lease: false, onStateChange: () => {} });
  redis.afterwards(() => limiter.close());
  await eventually(async () => !(await limiter.consume("first")).degraded, { withinMs: 20_000 });
  return limiter;
}

/** A part of an application with a limiter of its own. */
function scopeWith(limiter: RateLimiter): FastifyPluginCallback {
  return (scope, _options, done) => {
    scope.register(spillway, { limiter });
    scope.after(() => scope.get("/", async () => "in"));
    done();
  };
}

/** A window that is over long after the test, so that nothing refills on a busy machine. */
function fixed(name: string, limit: number, period: Duration = "1h"): PolicyOptions {
  return { name, limit, period, algorithm: "fixed-window" };
}

const KEY = "ip:127.0.0.1";
const inject = FASTIFY_WAYS.inject as (typeof FASTIFY_WAYS)[string];

describe.each(Object.keys(STORES))("limiters over one store (%s)", (kind) => {
  const limiters = () => (STORES[kind] as (typeof STORES)[string])();

  it("do not share a count where they are used by hand beside each other", async () => {
    const make = limiters();
    const [wide, narrow] = [await make(fixed("wide", 100)), await make(fixed("login", 3))];
    for (let n = 0; n < 4; n++) expect((await wide.consume(KEY)).allowed).toBe(true);
    const login = [];
    for (let n = 0; n < 4; n++) login.push((await narrow.consume(KEY)).allowed);
    expect(login).toEqual([true, true, true, false]);
    expect((await wide.peek(KEY)).policies[0]?.remaining).toBe(96);
  });

  it("do not share a count where two registrations have different windows, one per scope", async () => {
    const make = limiters();
    const [short, long] = [await make(fixed("short", 2, "30m")), await make(fixed("long", 3))];
    const app = Fastify();
    for (const [prefix, limiter] of [
      ["/short", short],
      ["/long", long],
    ] as const)
      app.register(scopeWith(limiter), { prefix });
    const ask = await inject(app);
    const statuses = async (path: string, times: number): Promise<number[]> => {
      const found = [];
      for (let n = 0; n < times; n++) found.push((await ask({ path })).status);
      return found;
    };
    expect(await statuses("/short", 3)).toEqual([200, 200, 429]);
    expect(await statuses("/long", 4)).toEqual([200, 200, 200, 429]);
    expect((await ask({ path: "/long" })).headers["ratelimit-policy"]).toBe('"long";q=3;w=3600');
  });

  it("count routes of one group together: three routes that name a policy have its limit once, not three times", async () => {
    const limiter = await limiters()(fixed("group", 4), fixed("own", 100));
    const app = Fastify();
    await app.register(spillway, { limiter, policies: ["own"] });
    for (const path of ["/a", "/b", "/c"])
      app.get(path, { config: { spillway: { policies: ["group", "own"] } } }, async () => "in");
    app.get("/other", async () => "in");
    const ask = await inject(app);
    const statuses = [];
    for (const path of ["/a", "/b", "/c", "/a", "/b", "/c", "/a", "/other"])
      statuses.push((await ask({ path })).status);
    expect(statuses).toEqual([200, 200, 200, 200, 429, 429, 429, 200]);
    const left = (await limiter.peek(KEY)).policies.map(({ policy, remaining }) => [policy, remaining]);
    expect(left).toEqual([
      ["group", 0],
      ["own", 95],
    ]);
  });

  it("say that nothing is left once exactly all is used, and let none of many at once in after that", async () => {
    const limiter = await limiters()(fixed("login", 2));
    for (let n = 0; n < 2; n++) await limiter.consume(KEY);
    expect((await limiter.peek(KEY)).policies[0]).toMatchObject({ remaining: 0 });
    const app = Fastify();
    await app.register(spillway, { limiter: await limiters()(fixed("attempts", 5)) });
    let ran = 0;
    app.get("/", async () => ran++);
    const ask = await inject(app);
    const statuses = await Promise.all(Array.from({ length: 40 }, async () => (await ask()).status));
    expect([statuses.filter((status) => status === 200).length, ran]).toEqual([5, 5]);
  });

  it("never shut a caller out for longer because it asks again, nor keep anything for longer than the policy", async () => {
    const limiter = await limiters()({ name: "one", limit: 1, period: "1m" });
    const app = Fastify();
    await app.register(spillway, { limiter });
    app.get("/", async () => "in");
    const ask = await inject(app);
    await ask();
    const waits = [];
    for (let n = 0; n < 24; n++) waits.push(Number((await ask()).headers["retry-after"]));
    expect(Math.max(...waits)).toBeLessThanOrEqual(60);
    expect(waits).toEqual(waits.toSorted((a, b) => b - a));
    if (kind !== "Redis") return;
    const keys = await redis.client.keys("*{ip*one*");
    expect(keys).toHaveLength(1);
    for (const key of keys) expect(await redis.client.pttl(key)).toBeLessThanOrEqual(120_000);
  });

  it("bound a ban: it ends when it was said to, however often the caller asks meanwhile", async () => {
    const limiter = await limiters()({ name: "one", limit: 1, period: "1h" });
    const app = Fastify();
    onTestFinished(() => app.close());
    await app.register(spillway, { limiter, ban: { after: 2, forMs: 5000, withinMs: 60_000 } });
    app.get("/", async () => "in");
    const ask = await inject(app);
    const answers = [];
    for (let n = 0; n < 24; n++) answers.push(await ask());
    const banned = answers.map(({ body }) => body).filter((body) => body.includes("SPILLWAY_BLOCKED"));
    expect(banned).toHaveLength(22);
    const waits = banned.map((body) => Number((JSON.parse(body) as { retryAfterMs: number }).retryAfterMs));
    expect(Math.max(...waits)).toBeLessThanOrEqual(5000);
    expect(waits).toEqual(waits.toSorted((a, b) => b - a));
  });
});
