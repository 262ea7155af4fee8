import { randomBytes } from "node:crypto";
import { openRedis } from "@spillway/testkit";
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

/**
 * Opens whatever Redis this machine has.
 * @param say told what takes long, and why there is none.
 * @throws Error when there is none, or when the one that the user named does not answer.
 */
export async function openDemoStore(say: (line: string) => void): Promise<DemoStore> {
  const redis = await openRedis({ say });
  if (redis === undefined) throw new Error("The demo needs Redis; only --modes per-process runs without.");
  return { kind: "redis", version: redis.version, from: redis.from, url: redis.url, close: () => redis.stop() };
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

/** @throws Error when no Redis answers at `url`. */
export async function describeStore(url: string, from: string): Promise<StoreDescription> {
  const redis = await connectOnce(url);
  try {
    const version = /^redis_version:(\S+)/m.exec(await redis.info("server"))?.[1] ?? "unknown";
    return { kind: "redis", version, from };
  } finally {
    redis.disconnect();
  }
}
