import Fastify, { type FastifyPluginCallback } from "fastify";
import { SpillwayError } from "spillway";
import { describe, expect, it } from "vitest";
import defaultExport, { type SpillwayOptions, spillway } from "./index.ts";
import { limitedApp, memoryLimiter, StillClock } from "./test-support.ts";

const policy = { name: "minute", limit: 3, period: "1m" } as const;

async function registering(options: unknown, config?: unknown): Promise<unknown> {
  const app = Fastify();
  try {
    await app.register(spillway, options as SpillwayOptions);
    if (config !== undefined) app.get("/", { config: { spillway: config as true } }, async () => "in");
    await app.ready();
    return undefined;
  } catch (error) {
    return error;
  } finally {
    await app.close();
  }
}

describe("the plugin", () => {
  it("is there by its name, as the default export too, under the names and ranges Fastify checks", async () => {
    const app = await limitedApp({ limiter: memoryLimiter(new StillClock(), policy) });
    expect(app.hasPlugin("@spillway/fastify")).toBe(true);
    expect(defaultExport).toBe(spillway);
  });

  it("registers twice, side by side and nested", async () => {
    const limiter = memoryLimiter(new StillClock(), policy);
    const app = await limitedApp({ limiter }, (one) => {
      const nested: FastifyPluginCallback = (inner, _options, done) => {
        inner.register(spillway, { limiter });
        done();
      };
      one.register(nested);
      one.register(nested);
      one.register(spillway, { limiter });
    });
    expect(app.hasRequestDecorator("spillway")).toBe(true);
  });

  it("takes the options that Fastify's register adds", async () => {
    const limiter = memoryLimiter(new StillClock(), policy);
    expect(await registering({ limiter, prefix: "/api", logLevel: "warn" })).toBeUndefined();
  });
});

describe("bad plugin options", () => {
  it.each([
    ["limiter", undefined],
    ["limiter", {}],
    ["limiter", "redis"],
    ["key", "ip"],
    ["addresses", 56],
    ["addresses.ipv6Subnet", { ipv6Subnet: 0 }],
    ["addresses.ipv6Subnet", { ipv6Subnet: "64" }],
    ["addresses.ipv4", { ipv4: 24 }],
    ["global", "yes"],
    ["hook", "onSend"],
    ["headers", true],
    ["headers", "draft-7"],
    ["notFound", 1],
    ["preflights", null],
    ["problemJson", "yes"],
    ["body", {}],
    ["onRefused", []],
    ["options.limitter", 1],
  ])("%s: registration fails and names it (%o)", async (option, value) => {
    const name = option.replace(/^options\./, "").replace(/\..*/, "");
    const error = await registering({ limiter: memoryLimiter(new StillClock(), policy), [name]: value });
    expect(error).toBeInstanceOf(SpillwayError);
    expect(error).toMatchObject({ code: "ERR_SPILLWAY_INVALID_OPTION" });
    expect((error as Error).message).toMatch(new RegExp(`^Option ${option} must be .+, got .+\\.$`));
  });

  it("body and problemJson do not go together", async () => {
    const limiter = memoryLimiter(new StillClock(), policy);
    const error = await registering({ limiter, problemJson: true, body: () => "text" });
    expect((error as Error).message).toContain("Option body must be left out together with problemJson");
  });
});

describe("a bad config.spillway", () => {
  it.each([
    ["config.spillway", 5],
    ["config.spillway", null],
    ["config.spillway", "search"],
    ["config.spillway.costs", { costs: 5 }],
    ["config.spillway.cost", { cost: Number.NaN }],
    ["config.spillway.cost", { cost: -1 }],
    ["config.spillway.cost", { cost: 0.5 }],
    ["config.spillway.cost", { cost: "5" }],
    ["config.spillway.cost", { cost: Number.POSITIVE_INFINITY }],
    ["config.spillway.cost.minute", { cost: { minute: -1 } }],
    ["config.spillway.limiter", { limiter: {} }],
    ["config.spillway.key", { key: "ip" }],
    ["config.spillway.hook", { hook: "onResponse" }],
  ])("%s: the route cannot be added, and the error names it (%o)", async (option, config) => {
    const error = await registering({ limiter: memoryLimiter(new StillClock(), policy) }, config);
    expect(error).toMatchObject({ code: "ERR_SPILLWAY_INVALID_OPTION" });
    expect((error as Error).message).toMatch(new RegExp(`^Option ${option} must be .+, got .+\\.$`));
  });
});
