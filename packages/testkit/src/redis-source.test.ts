import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { findRedisServer } from "./redis-binary.ts";
import { redisImage, whyNoContainers } from "./redis-container.ts";
import { startRedisServer } from "./redis-server.ts";
import { findRedis, openRedis } from "./redis-source.ts";

const noContainers = await whyNoContainers();

beforeEach(() => void vi.stubEnv("SPILLWAY_REDIS_URL", undefined));
afterEach(() => void vi.unstubAllEnvs());

async function ping(url: string): Promise<string> {
  const client = new Redis(url, { retryStrategy: () => null, lazyConnect: true });
  client.on("error", () => {});
  try {
    await client.connect();
    return await client.ping();
  } finally {
    client.disconnect();
  }
}

describe("the Redis of this machine", () => {
  it("is the user's own server first of all, which is left running", async () => {
    const own = await startRedisServer({ args: ["--requirepass", "secret"] });
    try {
      const url = `redis://:secret@127.0.0.1:${own.port}`;
      vi.stubEnv("SPILLWAY_REDIS_URL", url);
      const redis = await openRedis();
      expect(redis).toMatchObject({
        kind: "url",
        url,
        from: "SPILLWAY_REDIS_URL",
        version: findRedisServer()?.version,
      });
      await redis?.stop();
      expect(await ping(url)).toBe("PONG");
    } finally {
      await own.stop();
    }
  });

  it("is not replaced by another when the user's own does not answer; the message hides the password", async () => {
    vi.stubEnv("SPILLWAY_REDIS_URL", "redis://:secret@127.0.0.1:1");
    const message = await openRedis().then(String, (error: Error) => error.message);
    expect(message).toMatch(/^No Redis answers at the address in SPILLWAY_REDIS_URL: .*ECONNREFUSED/);
    expect(message).not.toContain("secret");
  });

  it("is else the redis-server on PATH, started privately and stopped again", async () => {
    expect(await findRedis()).toMatchObject({ kind: "binary", from: "redis-server on PATH" });
    const redis = await openRedis();
    expect(redis).toMatchObject({ kind: "binary", from: "redis-server on PATH" });
    expect(redis?.version).toMatch(/^\d+\.\d+\.\d+/);
    expect(await ping(redis?.url ?? "")).toBe("PONG");
    await Promise.all([redis?.stop(), redis?.stop()]);
    await expect(ping(redis?.url ?? "")).rejects.toThrow();
  });

  it.runIf(noContainers === undefined)("is else one in a container", async () => {
    vi.stubEnv("PATH", "/nowhere");
    expect(await findRedis()).toEqual({ kind: "container", image: redisImage(), from: `container of ${redisImage()}` });
  });

  it.runIf(noContainers !== undefined)("is else none, and the user is told why", async () => {
    vi.stubEnv("PATH", "/nowhere");
    const said: string[] = [];
    expect(await findRedis()).toBeUndefined();
    expect(await openRedis({ say: (line) => void said.push(line) })).toBeUndefined();
    expect(said.join("\n")).toContain("SPILLWAY_REDIS_URL is not set, there is no redis-server on PATH, and ");
  });
});
