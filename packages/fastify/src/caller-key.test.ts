import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import Fastify, { type FastifyInstance } from "fastify";
import { describe, expect, it } from "vitest";
import { limitedApp, memoryLimiter, StillClock } from "./test-support.ts";

const policy = { name: "minute", limit: 5, period: "1m" } as const;
const byApiKey = (request: { headers: Record<string, unknown> }) => request.headers["x-api-key"] as string | undefined;

/** The key that each decision counted under. */
function showKey(app: FastifyInstance): void {
  app.get("/", async (request) => request.spillway?.key);
}

async function keyOf(app: FastifyInstance, remoteAddress: string, headers: Record<string, string> = {}) {
  return (await app.inject({ url: "/", remoteAddress, headers })).body;
}

describe("the caller's key", () => {
  it("is the address, an IPv6 one by its /56", async () => {
    const app = await limitedApp({ limiter: memoryLimiter(new StillClock(), policy) }, showKey);
    expect(await keyOf(app, "192.0.2.1")).toBe("ip:192.0.2.1");
    expect(await keyOf(app, "::ffff:192.0.2.1")).toBe("ip:192.0.2.1");
    expect(await keyOf(app, "2001:db8:0:1ff::1")).toBe("ip:2001:db8:0:100::/56");
  });

  it("groups IPv6 addresses as told", async () => {
    const limiter = memoryLimiter(new StillClock(), policy);
    const app = await limitedApp({ limiter, addresses: { ipv6Subnet: 64 } }, showKey);
    expect(await keyOf(app, "2001:db8:0:1ff::1")).toBe("ip:2001:db8:0:1ff::/64");
  });

  it("comes from the key function, and from a route's own before that", async () => {
    const app = await limitedApp({ limiter: memoryLimiter(new StillClock(), policy), key: () => "plugin" }, (one) => {
      showKey(one);
      one.get("/own", { config: { spillway: { key: () => "route" } } }, async (request) => request.spillway?.key);
    });
    expect((await app.inject("/")).body).toBe("plugin");
    expect((await app.inject("/own")).body).toBe("route");
  });

  it("is the address where the function knows none (C18 b)", async () => {
    const app = await limitedApp({ limiter: memoryLimiter(new StillClock(), policy), key: byApiKey }, showKey);
    expect(await keyOf(app, "192.0.2.1")).toBe("ip:192.0.2.1");
    expect(await keyOf(app, "192.0.2.1", { "x-api-key": "" })).toBe("ip:192.0.2.1");
    expect(await keyOf(app, "192.0.2.1", { "x-api-key": "42" })).toBe("42");
    expect(await keyOf(app, "192.0.2.1", { "x-api-key": "a, b" })).toBe("a, b");
    expect(await keyOf(app, "192.0.2.1", { "x-api-key": "k".repeat(8192) })).toBe("k".repeat(8192));
    const nullable = await limitedApp({ limiter: memoryLimiter(new StillClock(), policy), key: () => null }, showKey);
    expect(await keyOf(nullable, "192.0.2.1")).toBe("ip:192.0.2.1");
  });

  it("cannot be chosen to count against another caller's address", async () => {
    const app = await limitedApp({ limiter: memoryLimiter(new StillClock(), policy), key: byApiKey }, showKey);
    const victim = await keyOf(app, "192.0.2.1");
    const forged = [victim, "ip:key:192.0.2.1"].map((key) => keyOf(app, "198.51.100.9", { "x-api-key": key }));
    expect(await Promise.all(forged)).toEqual(["ip:key:192.0.2.1", "ip:key:key:192.0.2.1"]);
  });

  it.each([42, {}, [], true, Promise.resolve("late")])(
    "is refused with a 500 when the function returns %o",
    async (got) => {
      const key = () => got as unknown as string;
      const app = await limitedApp({ limiter: memoryLimiter(new StillClock(), policy), key });
      const response = await app.inject("/");
      expect(response.statusCode).toBe(500);
      expect(response.json()).toMatchObject({ code: "ERR_SPILLWAY_INVALID_KEY" });
      expect(response.json().message).toMatch(
        /^Option key must return a string, or undefined for the address, at once, got/,
      );
    },
  );

  it("is refused with a 500 on a connection without an address, never shared", async () => {
    const app = await limitedApp({ limiter: memoryLimiter(new StillClock(), policy) });
    const path = join(tmpdir(), `spillway-${randomUUID()}.sock`);
    await app.listen({ path });
    const [response] = (await once(request({ socketPath: path, path: "/" }).end(), "response")) as [IncomingMessage];
    expect(response.statusCode).toBe(500);
    expect(await text(response)).toContain("has no address");
  });
});

describe("C18 (a): forwarded addresses", () => {
  const proxied = (n: number) => `198.51.100.${n}, 203.0.113.7`;

  it.each([
    ["is off", false, proxied, 5],
    ["is 1, which Fastify no longer follows", 1, proxied, 5],
    ["names the proxy, which appends who it saw", "127.0.0.1", proxied, 5],
    ["is true, which any caller can use to pick its bucket", true, proxied, 50],
  ])(
    "where trustProxy %s, as many of 50 go in as callers are told apart",
    async (_title, trustProxy, header, admitted) => {
      const server = Fastify({ trustProxy: trustProxy as boolean | string });
      const limiter = memoryLimiter(new StillClock(), policy);
      const app = await limitedApp({ limiter, onWarning: () => {} }, undefined, server);
      const statuses = [];
      for (let n = 1; n <= 50; n++)
        statuses.push((await app.inject({ url: "/", headers: { "x-forwarded-for": header(n) } })).statusCode);
      expect(statuses.filter((status) => status === 200)).toHaveLength(admitted);
    },
  );
});
