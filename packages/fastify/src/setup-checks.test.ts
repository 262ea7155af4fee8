import Fastify, { type FastifyPluginCallback } from "fastify";
import type { PolicyOptions } from "spillway";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { byAddress, type SetupWarning, type SpillwayOptions, spillway } from "./index.ts";
import { limitedApp, memoryLimiter, StillClock } from "./test-support.ts";

const minute: PolicyOptions = { name: "minute", limit: 600, period: "1m", burst: 5 };

function setup(...policies: PolicyOptions[]) {
  const warnings: SetupWarning[] = [];
  const limiter = memoryLimiter(new StillClock(), ...(policies.length === 0 ? [minute] : policies));
  const options: SpillwayOptions = { limiter, onWarning: (warning) => warnings.push(warning) };
  return { options, warnings, codes: () => warnings.map(({ code }) => code) };
}

describe("a proxy that Fastify does not trust", () => {
  const forwarded = { url: "/", headers: { "x-forwarded-for": "198.51.100.1" } };

  it("is told once, when a request with X-Forwarded-For counts by the address of its connection", async () => {
    const { options, codes } = setup();
    const app = await limitedApp(options);
    await app.inject("/");
    expect(codes()).toEqual([]);
    for (let n = 0; n < 3; n++) await app.inject(forwarded);
    expect(codes()).toEqual(["SPILLWAY_WARN_TRUST_PROXY"]);
  });

  it("is no matter where proxies are trusted, or where the key is another one", async () => {
    const trusting = setup();
    await (await limitedApp(trusting.options, undefined, Fastify({ trustProxy: "127.0.0.1" }))).inject(forwarded);
    const keyed = setup();
    await (await limitedApp({ ...keyed.options, key: () => "ip:mine" })).inject(forwarded);
    expect([trusting.codes(), keyed.codes()]).toEqual([[], []]);
  });
});

describe("a key that is always the same", () => {
  async function ask(key: SpillwayOptions["key"], addresses: number) {
    const { options, codes } = setup();
    const app = await limitedApp({ ...options, ...(key === undefined ? {} : { key }) });
    for (let n = 0; n < 200; n++) await app.inject({ url: "/", remoteAddress: `192.0.2.${1 + (n % addresses)}` });
    return codes();
  }

  it("is told once where requests come from several addresses", async () => {
    expect(await ask(() => "undefined", 2)).toEqual(["SPILLWAY_WARN_SAME_KEY"]);
  });

  it("is no matter for one caller, for keys that differ, and for the address", async () => {
    expect(await ask(() => "me", 1)).toEqual([]);
    expect(await ask(({ ip }) => ip, 2)).toEqual([]);
    expect(await ask(byAddress, 2)).toEqual([]);
  });
});

describe("an onWarning", () => {
  const forwarded = { url: "/", headers: { "x-forwarded-for": "198.51.100.1" } };

  it("that rejects ends no process: it is a process warning, and the request goes in", async () => {
    const heard = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    onTestFinished(() => heard.mockRestore());
    const onWarning = async (): Promise<void> => {
      throw new Error("boom");
    };
    const app = await limitedApp({ ...setup().options, onWarning });
    expect((await app.inject(forwarded)).statusCode).toBe(200);
    const said = "Option onWarning rejected when told of SPILLWAY_WARN_TRUST_PROXY: Error: boom";
    expect(heard.mock.calls).toEqual([[said, "SpillwayWarning"]]);
  });

  it("that throws makes an error of the warning", async () => {
    const onWarning = ({ code }: SetupWarning): never => {
      throw new Error(code);
    };
    const cost = { config: { spillway: { cost: 6 } } };
    const adding = limitedApp(
      { ...setup().options, onWarning },
      (app) => void app.get("/dear", cost, async () => "in"),
    );
    await expect(adding).rejects.toThrow("SPILLWAY_WARN_COST_NEVER_FITS");
  });
});

describe("a fixed cost", () => {
  it.each<[string, object, string[]]>([
    ["above what a policy ever has", { cost: 6 }, ["SPILLWAY_WARN_COST_NEVER_FITS"]],
    ["above it for one policy", { cost: { minute: 6 } }, ["SPILLWAY_WARN_COST_NEVER_FITS"]],
    ["of 0", { cost: 0 }, ["SPILLWAY_WARN_COST_ZERO"]],
    ["for no policy that counts", { cost: {} }, ["SPILLWAY_WARN_COST_ZERO"]],
    ["that just fits", { cost: 5 }, []],
  ])("%s is told as the route is added: %o", async (_title, config, expected) => {
    const { options, warnings, codes } = setup();
    await limitedApp(options, (app) => app.get("/costly", { config: { spillway: config } }, async () => "in"));
    expect(codes()).toEqual(expected);
    for (const { message } of warnings) expect(message).toMatch(/^Route GET \/costly costs [06]/);
  });
});

describe("two policies of one name", () => {
  const other = { ...minute, limit: 60 };

  async function both(first: PolicyOptions, second: PolicyOptions) {
    const { options, codes } = setup(first);
    const limiter = memoryLimiter(new StillClock(), second);
    await limitedApp(options, (app) => {
      app.register((inner, _options, done) => {
        inner.register(spillway, { ...options, limiter });
        done();
      });
    });
    return codes();
  }

  it("are told where they have different numbers", async () => {
    expect(await both(minute, other)).toEqual(["SPILLWAY_WARN_POLICY_CLASH"]);
  });

  it("are no matter with the same numbers, or another name", async () => {
    expect(await both(minute, { ...minute })).toEqual([]);
    expect(await both(minute, { ...other, name: "other" })).toEqual([]);
  });

  it("are told where a route's own limiter has the second", async () => {
    const { options, codes } = setup();
    const limiter = memoryLimiter(new StillClock(), other);
    await limitedApp(options, (app) => app.get("/", { config: { spillway: { limiter } } }, async () => "in"));
    expect(codes()).toEqual(["SPILLWAY_WARN_POLICY_CLASH"]);
  });
});

describe("a route that was there before the plugin", () => {
  it("is told at the start, where register was not awaited", async () => {
    const { options, warnings, codes } = setup();
    const app = Fastify();
    onTestFinished(() => app.close());
    app.register(spillway, options);
    app.get("/early", async () => "in");
    await app.ready();
    expect(codes()).toEqual(["SPILLWAY_WARN_ROUTE_NOT_LIMITED"]);
    expect(warnings[0]?.message).toContain("/early (GET");
    expect(warnings[0]?.help).toContain("await");
    expect((await app.inject("/early")).headers.ratelimit).toBeUndefined();
  });

  it("is told at its first request below the root, and routes of other scopes are no matter", async () => {
    const { options, warnings } = setup();
    const app = Fastify();
    onTestFinished(() => app.close());
    app.get("/outside", async () => "in");
    const scope: FastifyPluginCallback = (inner, _options, done) => {
      inner.register(spillway, options);
      inner.get("/early", async () => "in");
      inner.after(() => inner.get("/late", async (request) => Object.keys(request.routeOptions.config)));
      done();
    };
    app.register(scope);
    expect((await app.inject("/late")).json()).not.toContain("spillway");
    await app.inject("/outside");
    expect(warnings).toEqual([]);
    await app.inject("/early");
    await app.inject("/early");
    expect(warnings.map(({ message }) => message)).toEqual([
      "Route GET /early was added before the plugin, and is not limited.",
    ]);
  });

  it("is no matter where it answers preflights alone, as that of a CORS plugin, unless these count", async () => {
    for (const [preflights, told] of [
      [false, []],
      [true, ["SPILLWAY_WARN_ROUTE_NOT_LIMITED"]],
    ] as const) {
      const { options, codes } = setup();
      const app = Fastify();
      app.options("*", async () => "go on");
      await limitedApp({ ...options, preflights }, undefined, app);
      expect(codes()).toEqual(told);
    }
    const { options, codes } = setup();
    const scope: FastifyPluginCallback = (inner, _options, done) => {
      inner.options("*", async () => "go on");
      inner.get("/early", async () => "in");
      inner.register(spillway, options);
      done();
    };
    const app = Fastify().register(scope);
    onTestFinished(() => app.close());
    expect((await app.inject({ method: "OPTIONS", url: "/" })).body).toBe("go on");
    expect(codes()).toEqual([]);
    await app.inject("/early");
    expect(codes()).toEqual(["SPILLWAY_WARN_ROUTE_NOT_LIMITED"]);
  });

  it("is looked for in linear time, whatever its path", async () => {
    const { options, codes } = setup();
    const app = Fastify();
    app.get(`/(${"A".repeat(40)}_`, async () => "in");
    await limitedApp(options, undefined, app);
    expect(codes()).toEqual(["SPILLWAY_WARN_ROUTE_NOT_LIMITED"]);
  });

  it("is no matter where the plugin came first, or the route is exempt", async () => {
    const { options, codes } = setup();
    const app = await limitedApp(options, (one) => {
      one.get("/", async () => "in");
      one.get("/exempt", { config: { spillway: false } }, async () => "in");
    });
    await app.inject("/exempt");
    expect(codes()).toEqual([]);
  });
});

describe("warnings", () => {
  it("are process warnings with code and help where nobody else is told", async () => {
    const seen: Error[] = [];
    const listen = (warning: Error) => void seen.push(warning);
    process.on("warning", listen);
    onTestFinished(() => void process.off("warning", listen));
    const { options } = setup();
    await limitedApp({ limiter: options.limiter }, (app) => {
      app.get("/", { config: { spillway: { cost: 0 } } }, async () => "in");
    });
    await new Promise(setImmediate);
    expect(seen).toMatchObject([
      { name: "SpillwayWarning", code: "SPILLWAY_WARN_COST_ZERO", message: "Route GET / costs 0." },
    ]);
    expect(seen[0]).toHaveProperty("detail", expect.stringContaining("never reached"));
  });
});
