import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { afterEach, describe, expect, it } from "vitest";
import { eventually } from "./eventually.ts";
import { freePort } from "./free-port.ts";
import { commandCalls, keysUnder, keysWithoutExpiry } from "./key-scan.ts";
import { RedisBinaryMissing } from "./redis-process.ts";
import { type RedisServer, type RedisServerOptions, startRedisServer } from "./redis-server.ts";

const SOON_MS = 5_000;
const servers: RedisServer[] = [];
const clients: Redis[] = [];

afterEach(async () => {
  for (const client of clients.splice(0)) client.disconnect();
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

async function started(options: RedisServerOptions = {}): Promise<RedisServer> {
  const server = await startRedisServer(options);
  servers.push(server);
  return server;
}

function clientOf(url: string): Redis {
  const client = new Redis(url, { retryStrategy: () => null, lazyConnect: true });
  client.on("error", () => {});
  clients.push(client);
  return client;
}

function isAlive(pid: number): boolean {
  try {
    // A process that has ended and that nobody has waited for still has a pid.
    return !/^\d+ \(.*\) Z/.test(execFileSync("cat", [`/proc/${pid}/stat`], { encoding: "utf8", stdio: "pipe" }));
  } catch {
    return false;
  }
}

describe("a private Redis", () => {
  it("serves on the loopback interface, empty and without persistence", async () => {
    const server = await started();
    const client = clientOf(server.url);
    expect(await client.dbsize()).toBe(0);
    expect(await client.config("GET", "bind")).toContain("127.0.0.1");
    expect(await client.config("GET", "save")).toContain("");
    expect(await client.config("GET", "appendonly")).toContain("no");
    expect(await client.info("server")).toContain(`process_id:${server.pid}`);
  });

  it("takes more arguments", async () => {
    const server = await started({ args: ["--maxmemory", "3mb"] });
    expect(await clientOf(server.url).config("GET", "maxmemory")).toContain("3145728");
  });

  it("starts beside others at the same time, each on a port of its own", async () => {
    const several = await Promise.all(Array.from({ length: 5 }, () => started()));
    expect(new Set(several.map(({ port }) => port)).size).toBe(5);
  });

  it("answers nothing while it is paused, and goes on afterwards", async () => {
    const server = await started();
    const client = clientOf(server.url);
    await client.set("a", "1");
    server.pause();
    let answered = false;
    const pending = client.get("a").finally(() => {
      answered = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(answered).toBe(false);
    expect(server.running).toBe(true);
    server.resume();
    expect(await pending).toBe("1");
  });

  it.each(["SIGKILL", "SIGTERM"] as const)(
    "ends on %s though it is paused, and restarts empty on its port",
    async (signal) => {
      const server = await started();
      const { port, pid } = server;
      await clientOf(server.url).set("a", "1");
      server.pause();
      await server.kill(signal);
      expect(server.running).toBe(false);
      expect(isAlive(pid)).toBe(false);
      await server.restart();
      expect(server.port).toBe(port);
      expect(server.pid).not.toBe(pid);
      expect(await clientOf(server.url).dbsize()).toBe(0);
    },
  );

  it("restarts while it runs", async () => {
    const server = await started();
    const { pid } = server;
    await server.restart();
    expect(isAlive(pid)).toBe(false);
    expect(await clientOf(server.url).ping()).toBe("PONG");
  });

  it("can be stopped twice and not restarted afterwards", async () => {
    const server = await started();
    await Promise.all([server.stop(), server.stop()]);
    await server.stop();
    expect(isAlive(server.pid)).toBe(false);
    await expect(server.restart()).rejects.toThrow("stopped for good");
  });
});

describe("a Redis that cannot start", () => {
  it("waits for its port to become free when the port was asked for", async () => {
    const port = await freePort();
    const squatter = await listenOn(port);
    const starting = started({ port });
    setTimeout(() => squatter.close(), 250);
    expect((await starting).port).toBe(port);
  });

  it("says what is wrong with its arguments", async () => {
    await expect(started({ args: ["--no-such-option", "1"] })).rejects.toThrow(/Bad directive/);
  });

  it("says what is wrong with its program", async () => {
    await expect(started({ binary: "/nowhere/redis-server" })).rejects.toThrow("/nowhere/redis-server");
  });

  it("says how to get one when there is none on PATH", async () => {
    const path = process.env.PATH;
    process.env.PATH = "/nowhere";
    try {
      await expect(started()).rejects.toThrow(RedisBinaryMissing);
    } finally {
      process.env.PATH = path;
    }
  });
});

describe("a process that starts a Redis", () => {
  const script = `
    import { startRedisServer } from "@spillway/testkit";
    const server = await startRedisServer();
    console.log(server.pid);
    if (process.argv[1] === "wait") setInterval(() => {}, 1000);
  `;

  it("exits by itself, and takes its server with it", async () => {
    const output = execFileSync(process.execPath, ["--input-type=module", "-e", script], {
      encoding: "utf8",
      timeout: 20_000,
    });
    expect(isAlive(Number(output))).toBe(false);
  });

  it.skipIf(process.platform !== "linux")("takes its server with it even when it is killed", async () => {
    // A killed process removes no temporary folder, so this one's lies in a folder that the test removes.
    const folder = mkdtempSync(join(tmpdir(), "spillway-test-"));
    const child = spawn(process.execPath, ["--input-type=module", "-e", script, "wait"], {
      stdio: ["ignore", "pipe", 2],
      env: { ...process.env, TMPDIR: folder },
    });
    let pid = 0;
    try {
      pid = Number(await new Promise((resolve) => child.stdout?.once("data", resolve)));
      expect(isAlive(pid)).toBe(true);
      child.kill("SIGKILL");
      await eventually(() => !isAlive(pid), { withinMs: SOON_MS });
    } finally {
      child.kill("SIGKILL");
      if (pid > 0 && isAlive(pid)) process.kill(pid, "SIGKILL");
      rmSync(folder, { recursive: true });
    }
  });
});

describe("looking at keys", () => {
  it("finds the keys under a prefix that have no expiry", async () => {
    const client = clientOf((await started()).url);
    await client.mset(Object.fromEntries(Array.from({ length: 1_200 }, (_value, index) => [`p[*]:${index}`, "1"])));
    await client.set("p[*]:lasting-not", "1", "PX", 60_000);
    await client.set("p*other", "1");
    expect(await keysUnder(client, "p[*]:")).toHaveLength(1_201);
    expect(await keysWithoutExpiry(client, "p[*]:")).toHaveLength(1_200);
    expect(await keysWithoutExpiry(client, "p[*]:lasting")).toEqual([]);
    expect(await keysWithoutExpiry(client, "p*o")).toEqual(["p*other"]);
  });

  it("counts the calls of each command", async () => {
    const client = clientOf((await started()).url);
    await client.set("a", "1");
    await client.get("a");
    await client.get("a");
    const calls = await commandCalls(client);
    expect([calls.get("set"), calls.get("get"), calls.get("del")]).toEqual([1, 2, undefined]);
  });
});

function listenOn(port: number): Promise<Server> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen({ port, host: "127.0.0.1" }, () => resolve(server));
  });
}
