import { createKeyHash } from "@spillway/http";
import Fastify from "fastify";
import type { PolicyOptions } from "spillway";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { byAddress, byApiKey, byHeader, byUser, type SetupWarning, type SpillwayOptions } from "./index.ts";
import { limitedApp, memoryLimiter, StillClock, withoutLocalState } from "./test-support.ts";

const minute: PolicyOptions = { name: "minute", limit: 2, period: "1m", burst: 2 };
const limiter = () => memoryLimiter(new StillClock(), minute);

describe("the allow list", () => {
  const from = async (allowList: SpillwayOptions["allowList"], remoteAddress: string) => {
    const app = await limitedApp({ limiter: limiter(), ...(allowList === undefined ? {} : { allowList }) });
    return "ratelimit" in (await app.inject({ url: "/", remoteAddress })).headers;
  };

  it("leaves addresses and subnets alone, in every way of writing them", async () => {
    const list = ["192.0.2.1", "198.51.100.0/24", "2001:db8::/32"];
    const exempt = ["192.0.2.1", "::ffff:192.0.2.1", "198.51.100.77", "2001:db8:1::1", "2001:0db8:0::2"];
    for (const address of exempt) expect([address, await from(list, address)]).toEqual([address, false]);
    for (const address of ["192.0.2.2", "198.51.101.1", "2001:db9::1"])
      expect([address, await from(list, address)]).toEqual([address, true]);
  });

  it("knows a forwarded address with a port, brackets or a zone, and nobody by what is no address", async () => {
    const list = ["192.0.2.1", "2001:db8::/32", "fe80::/10"];
    const forwarded = async (address: string) => {
      const app = await limitedApp({ limiter: limiter(), allowList: list }, undefined, Fastify({ trustProxy: true }));
      return "ratelimit" in (await app.inject({ url: "/", headers: { "x-forwarded-for": address } })).headers;
    };
    for (const address of ["192.0.2.1:80", "[2001:db8::1]:80", "[2001:db8::1]", "fe80::1%eth0", "::ffff:c000:201"])
      expect([address, await forwarded(address)]).toEqual([address, false]);
    for (const address of ["192.0.2.2:80", "192.0.2.1.example", "unknown", "2001:db8"])
      expect([address, await forwarded(address)]).toEqual([address, true]);
  });

  it("can be a function of the request, which must answer at once", async () => {
    expect(await from(({ ip }) => ip === "192.0.2.1", "192.0.2.1")).toBe(false);
    expect(await from(() => false, "192.0.2.1")).toBe(true);
    const late = (async () => true) as unknown as () => boolean;
    const app = await limitedApp({ limiter: limiter(), allowList: late });
    expect((await app.inject("/")).json().message).toContain("allowList must be a synchronous function");
  });

  it("lets nobody by when it throws: the error goes to the error handler", async () => {
    const shared = limiter();
    const allowList = () => {
      throw Object.assign(new Error("boom"), { statusCode: 418 });
    };
    const app = await limitedApp({ limiter: shared, allowList });
    const response = await app.inject("/");
    expect([response.statusCode, response.json().message, shared.stats().allowed]).toEqual([418, "boom", 0]);
  });

  it.each([["::1/129"], ["192.0.2.0/33"], ["localhost"], ["192.0.2.0/24/1"], [""], [7], ["192.0.2.1/"]])(
    "names an entry that is none: %o",
    async (entry) => {
      const registering = limitedApp({ limiter: limiter(), allowList: ["192.0.2.1", entry as string] });
      await expect(registering).rejects.toThrow(/^Option allowList\[1\] must be an address or a subnet/);
    },
  );
});

describe("a dry run", () => {
  it("lets everybody in without fields, counts, and tells whom it would have refused", async () => {
    const shared = limiter();
    const told: string[] = [];
    const onRefused: SpillwayOptions["onRefused"] = (_request, { reason }) => void told.push(reason);
    const app = await limitedApp({ limiter: shared, dryRun: true, legacyHeaders: "delta", onRefused }, (one) => {
      one.get("/", async (request) => ({ allowed: request.spillway?.allowed }));
    });
    const allowed = [];
    for (let n = 0; n < 3; n++) {
      const response = await app.inject("/");
      expect(Object.keys(response.headers).filter((name) => /ratelimit|retry/.test(name))).toEqual([]);
      allowed.push(response.json().allowed);
    }
    expect(allowed).toEqual([true, true, false]);
    expect(told).toEqual(["limited"]);
    expect(shared.stats()).toMatchObject({ allowed: 2, refused: 1 });
  });

  it("lets in where nothing can be decided, and says the first fault", async () => {
    const warnings: SetupWarning[] = [];
    const key = () => {
      throw new Error("boom");
    };
    const onWarning = (warning: SetupWarning) => void warnings.push(warning);
    const app = await limitedApp({ limiter: limiter(), dryRun: true, key, onWarning });
    for (let n = 0; n < 2; n++) expect((await app.inject("/")).statusCode).toBe(200);
    expect(warnings).toMatchObject([
      { code: "SPILLWAY_WARN_DRY_RUN_FAULT", message: "The dry run could not decide: Error: boom" },
    ]);
  });

  it("can be of one route, and what throws no error is still no leave to go on elsewhere", async () => {
    const key = () => {
      throw undefined;
    };
    const app = await limitedApp({ limiter: limiter(), key, onWarning: () => {} }, (one) => {
      one.get("/", async () => "in");
      one.get("/dry", { config: { spillway: { dryRun: true } } }, async () => "in");
    });
    expect((await app.inject("/")).statusCode).toBe(500);
    expect((await app.inject("/dry")).statusCode).toBe(200);
  });

  it("of the limiter tells onRefused what was waived", async () => {
    const waived = vi.fn();
    const real = limiter();
    const refusal = real.consumeNow("ip:127.0.0.1", { cost: 3 });
    const allowed = { ...real.consumeNow("ip:127.0.0.1", { cost: 0 }), waived: refusal };
    const app = await limitedApp({
      limiter: { ...withoutLocalState(real), consumeNow: () => allowed as never },
      onRefused: waived,
    });
    expect((await app.inject("/")).statusCode).toBe(200);
    expect(waived).toHaveBeenCalledExactlyOnceWith(expect.anything(), refusal);
  });
});

describe("an onRefused that comes late and rejects", () => {
  const boom = new Error("boom");
  const rejects = () => Promise.reject(boom) as never;
  const method = "then";
  const ofLibrary = () => ({ [method]: (_done: unknown, fail: (error: Error) => void) => fail(boom) }) as never;

  it.each([
    ["and the refusal is sent all the same", 429, rejects],
    ["and a dry run goes on", 200, rejects],
    ["also where the promise is one of a library", 429, ofLibrary],
  ])("is logged as an error, %s", async (_then, statusCode, onRefused) => {
    const lines: { msg: string; err?: { message: string } }[] = [];
    const stream = { write: (line: string) => void lines.push(JSON.parse(line)) };
    const app = Fastify({ logger: { level: "warn", stream } });
    await limitedApp({ limiter: limiter(), onRefused, dryRun: statusCode === 200 }, undefined, app);
    for (let n = 0; n < 2; n++) await app.inject("/");
    expect((await app.inject("/")).statusCode).toBe(statusCode);
    const logged = () => lines.map(({ msg, err }) => [msg, err?.message]);
    await expect.poll(logged).toEqual([["Option onRefused rejected.", "boom"]]);
  });
});

describe("a refusal while the store is away and nobody is let in", () => {
  it.each([false, true])("is no fault of the caller: 503, with its wait (problemJson: %j)", async (problemJson) => {
    const real = limiter();
    for (let n = 0; n < 2; n++) await real.consume("ip:127.0.0.1");
    const refusal = await real.consume("ip:127.0.0.1");
    const closed = { ...refusal, degraded: true, source: "closed" };
    const away = { ...withoutLocalState(real), consumeNow: () => closed as never };
    const response = await (await limitedApp({ limiter: away, problemJson })).inject("/");
    expect([response.statusCode, response.headers["retry-after"]]).toEqual([503, "30"]);
    const type = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";
    const plain = { statusCode: 503, code: "SPILLWAY_UNDECIDED", error: "Service Unavailable", retryAfterMs: 30_000 };
    expect(response.json()).toMatchObject(problemJson ? { type, status: 503 } : plain);
  });
});

describe("a ban", () => {
  it("shuts out who goes on after so many refusals, without asking the limiter, and nobody else", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const clock = new StillClock();
    const shared = memoryLimiter(clock, minute);
    const app = await limitedApp({ limiter: shared, ban: { after: 2, forMs: 90_000 } });
    const ask = (remoteAddress = "192.0.2.1") => app.inject({ url: "/", remoteAddress });
    for (let n = 0; n < 3; n++) await ask();
    const last = await ask();
    expect(last.json()).toMatchObject({ code: "SPILLWAY_BLOCKED", retryAfterMs: 90_000 });
    expect(last.headers).toMatchObject({ "retry-after": "90", ratelimit: '"minute";r=0;t=90' });
    clock.advance(60_000);
    vi.advanceTimersByTime(60_000);
    const { refused } = shared.stats();
    expect((await ask()).headers["retry-after"]).toBe("30");
    expect(shared.stats().refused).toBe(refused);
    expect((await ask("192.0.2.2")).statusCode).toBe(200);
    vi.advanceTimersByTime(30_000);
    expect((await ask()).statusCode).toBe(200);
    vi.useRealTimers();
  });

  it("does not follow from refusals of an outage, which everybody gets", async () => {
    const real = limiter();
    const degraded = { ...real.consumeNow("ip:127.0.0.1", { cost: 3 }), degraded: true, source: "closed" };
    const away = { ...withoutLocalState(real), consumeNow: () => degraded as never };
    const app = await limitedApp({ limiter: away, ban: { after: 1 } });
    for (let n = 0; n < 3; n++) expect((await app.inject("/")).json().code).toBe("SPILLWAY_NEVER");
  });

  it("of a caller with several keys shuts out nobody else who shares some of them", async () => {
    const app = await limitedApp({
      limiter: memoryLimiter(
        new StillClock(),
        { ...minute, name: "everybody" },
        { ...minute, name: "caller", limit: 9 },
      ),
      keys: { everybody: () => "all" },
      ban: { after: 2 },
      onWarning: () => {},
    });
    const codeFor = async (remoteAddress: string) =>
      (await app.inject({ url: "/", remoteAddress })).body.match(/SPILLWAY_\w+/)?.[0];
    const [one, other] = ["192.0.2.1", "192.0.2.2"];
    for (let n = 0; n < 2; n++) await app.inject({ url: "/", remoteAddress: one });
    expect([await codeFor(one), await codeFor(one)]).toEqual(["SPILLWAY_LIMITED", "SPILLWAY_BLOCKED"]);
    expect(await codeFor(other)).toBe("SPILLWAY_LIMITED");
    expect(await codeFor(one)).toBe("SPILLWAY_BLOCKED");
  });

  it.each([
    ["after", {}],
    ["after", { after: 0 }],
    ["forMs", { after: 1, forMs: 1.5 }],
    ["maxKeys", { after: 1, maxKeys: 0 }],
  ])("with a bad %s is no option", async (name, ban) => {
    const registering = limitedApp({ limiter: limiter(), ban: ban as { after: number } });
    await expect(registering).rejects.toThrow(`Option ban.${name} must be a whole number from 1`);
  });
});

describe("fields that were there before the draft", () => {
  it("tell of the policy that binds, over all registrations", async () => {
    const app = await limitedApp({ limiter: limiter(), legacyHeaders: "delta", headers: false });
    expect((await app.inject("/")).headers).toMatchObject({
      "x-ratelimit-limit": "2",
      "x-ratelimit-remaining": "1",
      "x-ratelimit-reset": "30",
    });
    await app.inject("/");
    expect((await app.inject("/")).headers).toMatchObject({ "x-ratelimit-remaining": "0", "retry-after": "30" });
  });

  it("have ten digits as an epoch", async () => {
    const app = await limitedApp({ limiter: limiter(), legacyHeaders: "epoch" });
    const reset = (await app.inject("/")).headers["x-ratelimit-reset"] as string;
    expect(reset).toMatch(/^\d{10}$/);
    expect(Math.abs(Number(reset) * 1000 - Date.now() - 30_000)).toBeLessThan(5000);
  });
});

describe("headers that a browser is shown", () => {
  const exposed = async (options: Partial<SpillwayOptions>, earlier?: string | string[]) => {
    const app = Fastify();
    app.addHook("onRequest", async (_request, reply) => {
      if (earlier !== undefined) reply.header("access-control-expose-headers", earlier);
    });
    await limitedApp({ limiter: limiter(), exposeHeaders: true, ...options }, undefined, app);
    return (await app.inject("/")).headers["access-control-expose-headers"];
  };
  const fields = "RateLimit, RateLimit-Policy, Retry-After";

  it("are the fields, beside those that were there, each once", async () => {
    expect(await exposed({})).toBe(fields);
    expect(await exposed({}, "X-Total, retry-after")).toBe("X-Total, retry-after, RateLimit, RateLimit-Policy");
    expect(await exposed({}, ["X-Total", "X-Page"])).toBe(`X-Total, X-Page, ${fields}`);
    expect(await exposed({ legacyHeaders: "delta" })).toBe(
      `${fields}, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset`,
    );
  });

  it("are left alone without the option, and on replies that tell of no limit", async () => {
    expect(await exposed({ exposeHeaders: false }, "X-Total")).toBe("X-Total");
    expect(await exposed({ allowList: () => true })).toBeUndefined();
    expect(await exposed({ dryRun: true })).toBeUndefined();
  });
});

describe("named keys", () => {
  const keyOf = async (key: SpillwayOptions["key"], headers: Record<string, string>, user?: unknown) => {
    const app = Fastify();
    app.addHook("onRequest", async (request) => void Object.assign(request, { user }));
    const options = key === undefined ? {} : { key };
    await limitedApp({ limiter: limiter(), ...options }, (one) => one.get("/", async (r) => r.spillway?.key), app);
    return (await app.inject({ url: "/", headers })).body;
  };
  const address = "ip:127.0.0.1";

  it("are the address, a header, an API key or a user, and the address where there is none", async () => {
    expect(await keyOf(byAddress, {})).toBe(address);
    expect(await keyOf(byHeader("X-Tenant"), { "x-tenant": "a:b" })).toBe("x-tenant:a%3Ab");
    expect(await keyOf(byHeader("X-Tenant"), {})).toBe(address);
    expect(await keyOf(byApiKey(), { "x-api-key": "42" })).toBe("api-key:42");
    expect(await keyOf(byApiKey(), { authorization: "bearer 42" })).toBe("api-key:42");
    expect(await keyOf(byApiKey(), { authorization: "Basic 42" })).toBe(address);
    expect(await keyOf(byUser(), {}, { id: 7 })).toBe("user:7");
    expect(await keyOf(byUser(), {}, { sub: "seven" })).toBe("user:seven");
    expect(await keyOf(byUser(), {}, { name: "seven" })).toBe(address);
    expect(await keyOf(byUser(), {})).toBe(address);
    expect(
      await keyOf(
        byUser(({ headers }) => headers["x-user"] as string),
        { "x-user": "me" },
      ),
    ).toBe("user:me");
  });

  it("hide secrets with a hash", async () => {
    const hash = createKeyHash({ secret: "0123456789abcdef" });
    expect(await keyOf(byApiKey(hash), { "x-api-key": "42" })).toBe(`api-key:${hash("42")}`);
  });

  it("refuse a user or a hash that comes late, without an unhandled rejection", async () => {
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    onTestFinished(() => void process.off("unhandledRejection", unhandled));
    const late = () => Promise.reject(new Error("late")) as never;
    for (const key of [byUser(late), byHeader("x-tenant", late)])
      expect(JSON.parse(await keyOf(key, { "x-tenant": "a" }))).toMatchObject({
        statusCode: 500,
        code: "ERR_SPILLWAY_INVALID_KEY",
      });
    await new Promise(setImmediate);
    expect(unhandled).not.toHaveBeenCalled();
  });

  it("refuse what is no header's name", () => {
    for (const name of ["", "a b", 7])
      expect(() => byHeader(name as string)).toThrow(/^Option name must be a header name/);
  });
});
