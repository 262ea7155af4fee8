import { createAdmission } from "@spillway/admission";
import Fastify, { type FastifyContextConfig, type FastifyRequest } from "fastify";
import { createRateLimiter, type Decision } from "spillway";
import { describe, expect, expectTypeOf, it } from "vitest";
import { byHeader, type SpillwayAdmissionRouteOptions, type SpillwayRouteOptions } from "./index.ts";

// The type checker is what tests here: each line below a `@ts-expect-error` must be refused by it, and no other.
describe("a route's own configuration", () => {
  it("is typed, for the limiter and for admission", () => {
    const app = Fastify();
    const limiter = createRateLimiter({ policies: { name: "api", limit: 1, period: "1s" } });
    const handler = async (): Promise<string> => "in";
    app.get("/1", { config: { spillway: false, spillwayAdmission: true } }, handler);
    app.get(
      "/2",
      { config: { spillway: { cost: 5, policies: ["api"], keys: { api: byHeader("x-tenant") } } } },
      handler,
    );
    app.get("/3", { config: { spillway: { limiter, cost: { api: 2 }, hook: "preHandler", dryRun: true } } }, handler);
    app.get("/4", { config: { spillway: { cost: (request) => request.url.length, key: ({ ip }) => ip } } }, handler);
    app.get(
      "/5",
      { config: { spillwayAdmission: { cost: 2, deadlineMs: 800, admission: createAdmission() } } },
      handler,
    );
    // Fastify's own types let members pass that nobody knows: the plugin refuses them, as the route is added.
    // @ts-expect-error a cost that is text
    app.get("/7", { config: { spillway: { cost: "5" } } }, handler);
    // @ts-expect-error a cost that comes late
    app.get("/8", { config: { spillway: { cost: async () => 5 } } }, handler);
    // @ts-expect-error a hook that no guard can stand in
    app.get("/9", { config: { spillway: { hook: "onResponse" } } }, handler);
    // @ts-expect-error a policy by number
    app.get("/10", { config: { spillway: { policies: [1] } } }, handler);
    expect(app.hasRoute({ method: "GET", url: "/4" })).toBe(true);
  });

  it("and what a request carries, have the types that the package exports", () => {
    expectTypeOf<NonNullable<FastifyContextConfig["spillway"]>>().toEqualTypeOf<boolean | SpillwayRouteOptions>();
    expectTypeOf<NonNullable<FastifyContextConfig["spillwayAdmission"]>>().toEqualTypeOf<
      boolean | SpillwayAdmissionRouteOptions
    >();
    expectTypeOf<FastifyRequest["spillway"]>().toEqualTypeOf<Decision | null>();
    expectTypeOf<ReturnType<NonNullable<FastifyRequest["spillwayAdmission"]>["remainingMs"]>>().toBeNumber();
  });
});
