import { hasImage, redisImage, startRedisContainer, whyNoContainers } from "@spillway/testkit";
import { RedisContainer } from "@testcontainers/redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const START_WITHIN_MS = 150_000;

/** Whoever names an image wants this lane, so that then a missing engine is a failure and not a reason to skip. */
async function whySkipped(): Promise<string | undefined> {
  if (process.env.SPILLWAY_REDIS_IMAGE) return undefined;
  const noRuntime = await whyNoContainers();
  if (noRuntime !== undefined) return noRuntime;
  if (await hasImage(redisImage())) return undefined;
  return `SPILLWAY_REDIS_IMAGE is not set and ${redisImage()} is not on this machine; a test fetches none`;
}

const skipped = await whySkipped();
if (skipped !== undefined) process.stderr.write(`Redis in a container is not tested: ${skipped}\n`);

describe.skipIf(skipped !== undefined)("Redis in a container", () => {
  let container: Awaited<ReturnType<RedisContainer["start"]>>;
  let client: Redis;

  beforeAll(async () => {
    container = await new RedisContainer(redisImage()).start();
    client = new Redis(container.getConnectionUrl());
  }, START_WITHIN_MS);

  afterAll(async () => {
    client?.disconnect();
    await container?.stop();
  });

  it("runs a script on the server's own clock", async () => {
    const script = "local now = redis.call('TIME') redis.call('SET', KEYS[1], now[1], 'PX', ARGV[1]) return now[1]";
    const seconds = await client.eval(script, 1, "spillway-test:{a}:now", 5_000);
    expect(Math.abs(Number(seconds) - Date.now() / 1000)).toBeLessThan(60);
    expect(await client.get("spillway-test:{a}:now")).toBe(seconds);
    expect(await client.pttl("spillway-test:{a}:now")).toBeGreaterThan(0);
  });

  it("can be had from the test kit as well, and is gone after its stop", { timeout: START_WITHIN_MS }, async () => {
    const own = await startRedisContainer();
    const probe = new Redis(own.url, { retryStrategy: () => null });
    expect(await probe.ping()).toBe("PONG");
    probe.disconnect();
    await own.stop();
    const late = new Redis(own.url, { lazyConnect: true, retryStrategy: () => null });
    late.on("error", () => {});
    await expect(late.connect()).rejects.toThrow();
  });
});
