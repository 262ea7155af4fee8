import type { FastifyPluginCallback } from "fastify";
import type { PolicyOptions, RateLimiter } from "spillway";
import { describe, expect, it } from "vitest";
import { byHeader, spillway } from "./index.ts";
import { limitedApp, memoryLimiter, StillClock, withoutLocalState } from "./test-support.ts";

const global: PolicyOptions = { name: "global", limit: 10, period: "1m" };
const search: PolicyOptions = { name: "search", limit: 3, period: "1m" };
const tenant: PolicyOptions = { name: "tenant", limit: 5, period: "1m" };

/** The tokens that the policies of a key have left. */
async function left(limiter: RateLimiter, key = "ip:127.0.0.1"): Promise<Record<string, number>> {
  const { policies } = await limiter.peek(key);
  return Object.fromEntries(policies.map(({ policy, remaining }) => [policy, remaining]));
}

describe.each([
  ["decided at once", (real: RateLimiter) => real],
  ["decided by the store", withoutLocalState],
])("several policies, %s", (_title, wrap) => {
  it("a route counts under those that it names, each once, and the fields list them alone (C17 c)", async () => {
    const limiter = memoryLimiter(new StillClock(), global, search, tenant);
    const app = await limitedApp({ limiter: wrap(limiter), policies: ["global"] }, (one) => {
      one.get("/", async () => "in");
      one.get("/search", { config: { spillway: { policies: ["global", "search"] } } }, async (request) => {
        const { policy, remaining, costs } = request.spillway ?? {};
        return { policy, remaining, costs };
      });
    });
    const found = await app.inject("/search");
    expect(found.headers.ratelimit).toBe('"global";r=9;t=6,"search";r=2;t=20');
    expect(found.json()).toEqual({ policy: "search", remaining: 2, costs: [1, 1] });
    expect(await left(limiter)).toEqual({ global: 9, search: 2, tenant: 5 });
    expect((await app.inject("/")).headers.ratelimit).toBe('"global";r=8;t=6');
    expect(await left(limiter)).toEqual({ global: 8, search: 2, tenant: 5 });
  });

  it("a refusal by one charges none, and names it", async () => {
    const limiter = memoryLimiter(new StillClock(), global, search);
    const config = { spillway: { policies: ["search", "global"], cost: { search: 2, global: 1 } } };
    const app = await limitedApp({ limiter: wrap(limiter), problemJson: true }, (one) =>
      one.get("/", { config }, async () => "in"),
    );
    expect((await app.inject("/")).statusCode).toBe(200);
    const refused = await app.inject("/");
    expect(refused.statusCode).toBe(429);
    expect(refused.json()["violated-policies"]).toEqual(["search"]);
    expect(refused.headers["retry-after"]).toBe("20");
    expect(await left(limiter)).toEqual({ global: 9, search: 1 });
  });

  it("a group of routes counts as its own registration says, each policy once", async () => {
    const limiter = memoryLimiter(new StillClock(), global, search, tenant);
    const shared = wrap(limiter);
    const app = await limitedApp({ limiter: shared, policies: ["global"] }, (one) => {
      const group: FastifyPluginCallback = (inner, _options, done) => {
        inner.register(spillway, { limiter: shared, policies: ["global", "tenant"] });
        inner.after(() => inner.get("/", async () => "in"));
        done();
      };
      one.register(group, { prefix: "/group" });
    });
    expect((await app.inject("/group")).headers.ratelimit).toBe('"global";r=9;t=6,"tenant";r=4;t=12');
    expect(await left(limiter)).toEqual({ global: 9, search: 3, tenant: 4 });
  });

  it("each can have callers of its own, and all are charged or none", async () => {
    const limiter = memoryLimiter(new StillClock(), global, tenant);
    const keys = { tenant: byHeader("x-tenant"), global: () => "everybody" };
    const app = await limitedApp({ limiter: wrap(limiter), keys, onWarning: () => {} });
    const ask = (one: string) => app.inject({ url: "/", headers: { "x-tenant": one } });
    for (let n = 0; n < 5; n++) expect((await ask("acme")).statusCode).toBe(200);
    const refused = await ask("acme");
    expect([refused.statusCode, refused.headers.ratelimit]).toEqual([429, '"global";r=5;t=6,"tenant";r=0;t=12']);
    expect((await ask("other")).headers.ratelimit).toBe('"global";r=4;t=6,"tenant";r=4;t=12');
    expect(await left(limiter, "x-tenant:acme")).toEqual({ global: 10, tenant: 0 });
  });
});

describe("what a request costs", () => {
  it("can be told by a function for the policies that count", async () => {
    const limiter = memoryLimiter(new StillClock(), global, search);
    const cost = (request: { query: unknown }) => JSON.parse((request.query as { cost: string }).cost);
    const config = { spillway: { policies: ["global"], cost } };
    const app = await limitedApp({ limiter }, (one) => one.get("/", { config }, async () => "in"));
    const ask = (asked: unknown) => app.inject({ url: "/", query: { cost: JSON.stringify(asked) } });
    expect((await ask(3)).headers.ratelimit).toBe('"global";r=7;t=6');
    expect((await ask({ global: 2 })).headers.ratelimit).toBe('"global";r=5;t=6');
    for (const bad of [{ search: 1 }, -1, { global: 0.5 }, "1", null]) {
      const response = await ask(bad);
      expect([response.statusCode, response.json().code]).toEqual([500, "ERR_SPILLWAY_INVALID_COST"]);
    }
    expect(await left(limiter)).toEqual({ global: 5, search: 3 });
  });

  it("is that of the plugin where the route has none", async () => {
    const app = await limitedApp({ limiter: memoryLimiter(new StillClock(), global), cost: 4 }, (one) => {
      one.get("/", async () => "in");
      one.get("/own", { config: { spillway: { cost: 1 } } }, async () => "in");
    });
    expect((await app.inject("/")).headers.ratelimit).toBe('"global";r=6;t=6');
    expect((await app.inject("/own")).headers.ratelimit).toBe('"global";r=5;t=6');
  });
});

describe("a policy that the limiter does not have", () => {
  const limiter = () => memoryLimiter(new StillClock(), global, search);

  it.each([
    ["policies", { policies: ["globl"] }],
    ["cost", { cost: { globl: 1 } }],
    ["keys", { keys: { globl: () => "all" } }],
  ])("in %s keeps the route from being added, and the error names it and those there are", async (name, config) => {
    const adding = limitedApp({ limiter: limiter() }, (app) => {
      app.get("/", { config: { spillway: config } }, async () => "in");
    });
    const message = `Option config.spillway.${name} must be a policy of its limiter (global, search), got "globl".`;
    await expect(adding).rejects.toMatchObject({ code: "ERR_SPILLWAY_INVALID_OPTION", message });
  });

  it("keeps the plugin from being registered", async () => {
    await expect(limitedApp({ limiter: limiter(), policies: ["globl"] })).rejects.toThrow(/^Option policies must be/);
  });

  it("is looked for in the limiter of the route", async () => {
    const own = memoryLimiter(new StillClock(), tenant);
    const app = await limitedApp({ limiter: limiter(), policies: ["global"] }, (one) => {
      one.get("/", { config: { spillway: { limiter: own, policies: ["tenant"] } } }, async () => "in");
      one.get("/all", { config: { spillway: { limiter: own } } }, async () => "in");
    });
    expect((await app.inject("/")).headers.ratelimit).toBe('"tenant";r=4;t=12');
    expect((await app.inject("/all")).headers.ratelimit).toBe('"tenant";r=3;t=12');
  });
});
