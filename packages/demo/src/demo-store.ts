import { randomBytes } from "node:crypto";
import { startRedisServer } from "@spillway/testkit";
import { Redis } from "ioredis";

/** The store as the JSON document names it. */
export interface StoreDescription {
  readonly kind: string;
  readonly version: string;
  /** Where it came from. */
  readonly from: string;
}

/** A Redis server for the length of a demo. */
export interface DemoStore extends StoreDescription {
  readonly url: string;
  /** Ends the server if the demo started it. */
  close(): Promise<void>;
}

/** Opens Redis. @throws Error that says what was tried when there is none. */
export async function openDemoStore(): Promise<DemoStore> {
  const url = process.env.SPILLWAY_REDIS_URL;
  if (url !== undefined && url !== "") return describe(url, "SPILLWAY_REDIS_URL", async () => {});
  const server = await startRedisServer();
  try {
    return await describe(server.url, "redis-server on PATH", () => server.stop());
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** A name that no other run uses: keys of one run never meet those of another. */
export function freshName(): string {
  return randomBytes(8).toString("hex");
}

/** A connection that is not made again once it is lost. @throws Error that says why it cannot be made. */
export async function connectOnce(url: string): Promise<Redis> {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null });
  let reason: Error | undefined;
  redis.on("error", (error: Error) => {
    reason = error;
  });
  try {
    await redis.connect();
    return redis;
  } catch (error) {
    redis.disconnect();
    throw reason ?? error;
  }
}

async function describe(url: string, from: string, close: () => Promise<void>): Promise<DemoStore> {
  try {
    const redis = await connectOnce(url);
    const info = await redis.info("server");
    redis.disconnect();
    return { kind: "redis", version: /^redis_version:(.+?)\r?$/m.exec(info)?.[1] ?? "unknown", from, url, close };
  } catch (error) {
    throw new Error(`Redis from ${from} does not answer: ${error instanceof Error ? error.message : String(error)}`);
  }
}
