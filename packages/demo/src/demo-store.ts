import { randomBytes } from "node:crypto";
import { openRedis } from "@spillway/testkit";
import { Redis } from "ioredis";
import { serveClusterStore } from "spillway";

/** The store as the JSON document names it. */
export interface StoreDescription {
  readonly kind: "redis" | "embedded";
  /** Of the server that keeps the buckets. */
  readonly version: string;
  /** Where it came from. */
  readonly from: string;
}

/** A store for the length of a demo. */
export interface DemoStore extends StoreDescription {
  /** `undefined` for the embedded store. */
  readonly url: string | undefined;
  /** Whether the demo started it, and so may cut it off. */
  readonly isOwn: boolean;
  /** Ends it if the demo started it. */
  close(): Promise<void>;
}

/** Which store was asked for; `"any"` takes Redis, and the embedded store where there is none. */
export type StoreChoice = "redis" | "embedded" | "any";

/**
 * Opens the store that was asked for.
 * @param say told what takes long, and what is taken in place of what.
 * @throws Error when there is none, or when the Redis that the user named does not answer.
 */
export async function openDemoStore(choice: StoreChoice, say: (line: string) => void): Promise<DemoStore> {
  if (choice === "embedded") return openEmbeddedStore();
  const redis = await openRedis({ say });
  if (redis === undefined && choice === "redis")
    throw new Error("There is no Redis. --store embedded and --modes per-process run without.");
  if (redis === undefined) {
    say("The modes that share a store use the embedded one, clusterStore, in place of Redis.");
    return openEmbeddedStore();
  }
  const { version, from, url, kind } = redis;
  return { kind: "redis", version, from, url, isOwn: kind !== "url", close: () => redis.stop() };
}

/** The memory of this process, the primary, for its workers. */
function openEmbeddedStore(): DemoStore {
  const server = serveClusterStore();
  return {
    kind: "embedded",
    version: process.version,
    from: "clusterStore in the memory of the primary process",
    url: undefined,
    isOwn: true,
    close: () => server.close(),
  };
}

/** A name that no other run uses: keys of one run never meet those of another. */
export function freshName(): string {
  return randomBytes(8).toString("hex");
}

/** ioredis holds the process up for so long when it closes a connection that is gone already. */
const DISCONNECT_MS = 100;

/** A connection that is not made again once it is lost. @throws Error that says why it cannot be made. */
export async function connectOnce(url: string): Promise<Redis> {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null, disconnectTimeout: DISCONNECT_MS });
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
