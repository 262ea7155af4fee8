import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { eventually } from "./eventually.ts";
import { type FaultProxy, startFaultProxy } from "./fault-proxy.ts";
import { type RedisServer, startRedisServer } from "./redis-server.ts";
import { withDeadline } from "./with-deadline.ts";

const SILENT_FOR_MS = 150;
const SOON_MS = 5_000;

let server: RedisServer;
let proxy: FaultProxy;
let direct: Redis;
const clients: Redis[] = [];

beforeEach(async () => {
  server = await startRedisServer();
  proxy = await startFaultProxy({ targetPort: server.port });
  direct = new Redis(server.url);
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.disconnect();
  direct.disconnect();
  await proxy.stop();
  await server.stop();
});

/** A client that neither reconnects nor sends a command twice, connected through the proxy. */
async function connected(): Promise<Redis> {
  const client = new Redis(proxy.url, {
    lazyConnect: true,
    retryStrategy: () => null,
    autoResendUnfulfilledCommands: false,
    enableReadyCheck: false,
  });
  client.on("error", () => {});
  clients.push(client);
  await client.connect();
  return client;
}

/** Whether a promise is still undecided after a while. */
async function stays(promise: Promise<unknown>, ms = SILENT_FOR_MS): Promise<boolean> {
  const silent = Symbol("silent");
  const timer = new Promise((resolve) => setTimeout(resolve, ms, silent));
  return (await Promise.race([promise.catch(() => undefined), timer])) === silent;
}

describe("a fault proxy that is left alone", () => {
  it("passes commands and replies on, large ones and pipelined ones too, and counts the commands", async () => {
    const client = await connected();
    proxy.commands.clear();
    const large = "x".repeat(3_000_000);
    await client.set("large", large);
    expect(await client.get("large")).toBe(large);
    const results = await Promise.all(Array.from({ length: 500 }, () => client.incr("count")));
    expect(results).toEqual(Array.from({ length: 500 }, (_value, index) => index + 1));
    expect(Object.fromEntries(proxy.commands)).toEqual({ SET: 1, GET: 1, INCR: 500 });
  });

  it("closes the client's connection when the server ends", async () => {
    const client = await connected();
    const ended = new Promise((resolve) => client.once("end", resolve));
    await server.kill();
    await withDeadline(ended, SOON_MS, "the client to be cut off");
    await eventually(() => proxy.connections === 0, { withinMs: SOON_MS });
  });
});

describe("a delay", () => {
  it("makes each direction late by its length, and keeps the order", async () => {
    const client = await connected();
    proxy.delay(60);
    const startedAt = performance.now();
    const results = await Promise.all([client.incr("a"), client.incr("a"), client.incr("a")]);
    const tookMs = performance.now() - startedAt;
    expect(results).toEqual([1, 2, 3]);
    expect(tookMs).toBeGreaterThanOrEqual(118);
    expect(tookMs).toBeLessThan(1_000);
    proxy.delay(0);
    expect(await client.incr("a")).toBe(4);
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY])("of %d is refused", (ms) => {
    expect(() => proxy.delay(ms)).toThrow(RangeError);
  });
});

describe("a stall", () => {
  it("silences old and new connections without closing them, and loses nothing", async () => {
    const client = await connected();
    proxy.stall();
    const held = client.incr("a");
    const latecomer = connected();
    expect(await stays(Promise.race([held, latecomer]))).toBe(true);
    expect(await direct.get("a")).toBeNull();
    expect(proxy.connections).toBe(2);
    proxy.resume();
    expect(await withDeadline(held, SOON_MS, "the held command")).toBe(1);
    expect(await (await latecomer).ping()).toBe("PONG");
  });

  it("holds back a reply that was on its way", async () => {
    const client = await connected();
    proxy.delay(50);
    const held = client.incr("a");
    await eventually(async () => (await direct.get("a")) === "1", { withinMs: SOON_MS });
    proxy.stall();
    expect(await stays(held)).toBe(true);
    proxy.resume();
    expect(await withDeadline(held, SOON_MS, "the held reply")).toBe(1);
  });
});

describe("swallowed replies", () => {
  it("leave the command executed and the client waiting, until the connection is closed on resume", async () => {
    const client = await connected();
    proxy.swallowReplies();
    const unanswered = client.incr("a");
    expect(await stays(unanswered)).toBe(true);
    expect(await direct.get("a")).toBe("1");
    proxy.resume();
    await expect(withDeadline(unanswered, SOON_MS, "the command to fail")).rejects.toThrow("Connection is closed");
    expect(await (await connected()).incr("a")).toBe(2);
  });
});

describe("half-openness", () => {
  it("accepts connections and executes nothing, until they are closed on resume", async () => {
    const client = await connected();
    proxy.halfOpen();
    const lost = client.incr("a");
    expect(await stays(lost)).toBe(true);
    expect(await direct.get("a")).toBeNull();
    proxy.resume();
    await expect(withDeadline(lost, SOON_MS, "the command to fail")).rejects.toThrow("Connection is closed");
    expect(await direct.get("a")).toBeNull();
  });
});

describe("stranded connections", () => {
  it("stay silent whatever comes, while new ones work", async () => {
    const client = await connected();
    proxy.strand();
    const lost = client.incr("a");
    expect(await stays(lost)).toBe(true);
    expect(await (await connected()).incr("b")).toBe(1);
    proxy.stall();
    proxy.resume();
    expect(await stays(lost)).toBe(true);
    expect(await direct.get("a")).toBeNull();
    expect(proxy.connections).toBe(2);
    client.disconnect();
    await expect(withDeadline(lost, SOON_MS, "the command to fail")).rejects.toThrow("Connection is closed");
    await eventually(() => proxy.connections === 1, { withinMs: SOON_MS });
  });
});

describe("a cut", () => {
  it("closes every connection and refuses new ones until it is mended", async () => {
    const client = await connected();
    const ended = new Promise((resolve) => client.once("end", resolve));
    await proxy.cut();
    await withDeadline(ended, SOON_MS, "the client to be cut off");
    await expect(connected()).rejects.toThrow();
    await proxy.mend();
    expect(await (await connected()).ping()).toBe("PONG");
  });

  it("before execution answers the earlier commands and does not forward the n-th", async () => {
    const client = await connected();
    proxy.commands.clear();
    proxy.cutBeforeExecution(2, "incr");
    const results = await Promise.allSettled([
      client.incr("a"),
      client.set("b", "1"),
      client.incr("a"),
      client.incr("a"),
    ]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "rejected"]);
    expect(await direct.get("a")).toBe("1");
    expect(Object.fromEntries(proxy.commands)).toEqual({ INCR: 1, SET: 1 });
    expect(await (await connected()).incr("a")).toBe(2);
  });

  it("after execution answers the earlier commands and swallows the reply to the n-th", async () => {
    const client = await connected();
    proxy.commands.clear();
    proxy.cutAfterExecution(2);
    const results = await Promise.allSettled([client.incr("a"), client.incr("a"), client.incr("a")]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
    expect(await direct.get("a")).toBe("2");
    expect(Object.fromEntries(proxy.commands)).toEqual({ INCR: 2 });
    expect(await (await connected()).incr("a")).toBe(3);
  });

  it("happens once, on the first command of that name of any connection", async () => {
    const [first, second] = [await connected(), await connected()];
    proxy.cutBeforeExecution(1, "GET");
    await first.set("a", "1");
    await expect(second.get("a")).rejects.toThrow("Connection is closed");
    expect(await first.get("a")).toBe("1");
  });

  it.each([0, -1, 1.5, Number.NaN])("at command %d is refused", (n) => {
    expect(() => proxy.cutBeforeExecution(n)).toThrow(RangeError);
  });
});

describe("a stopped fault proxy", () => {
  it("has closed its connections and refuses new ones, however often it is stopped", async () => {
    await connected();
    await Promise.all([proxy.stop(), proxy.stop()]);
    await proxy.stop();
    await eventually(() => proxy.connections === 0, { withinMs: SOON_MS });
    await expect(connected()).rejects.toThrow();
  });
});
