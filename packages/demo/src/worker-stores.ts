import { Redis } from "ioredis";
import { clusterStore, redisStore, type Store } from "spillway";

/** How a worker reaches the stores of the modes; it crosses process borders as JSON. */
export type StoreAccess =
  | {
      readonly kind: "redis";
      /** The address of Redis in each mode that shares a store. */
      readonly urls: Readonly<Record<string, string>>;
      /** What keys in Redis begin with; the mode follows. */
      readonly prefix: string;
    }
  | { readonly kind: "embedded" }
  | { readonly kind: "none" };

/** A busy primary may take a while to greet a worker. */
const HANDSHAKE_MS = 900;

/** The stores of one worker, one for each mode that shares one. */
export class WorkerStores {
  readonly #access: StoreAccess;
  readonly #connections = new Map<string, Redis>();
  readonly #stores = new Map<string, Store>();

  private constructor(access: StoreAccess) {
    this.#access = access;
  }

  /** @throws Error when a Redis does not answer. */
  static async open(access: StoreAccess): Promise<WorkerStores> {
    const stores = new WorkerStores(access);
    if (access.kind === "redis")
      for (const [mode, url] of Object.entries(access.urls)) stores.#connections.set(mode, await connectRedis(url));
    return stores;
  }

  /** @throws Error for a mode that has none. */
  storeOf(mode: string): Store {
    const store = this.#stores.get(mode) ?? this.#make(mode);
    this.#stores.set(mode, store);
    return store;
  }

  async close(): Promise<void> {
    for (const store of this.#stores.values()) await store.close();
    for (const redis of this.#connections.values()) redis.disconnect();
  }

  #make(mode: string): Store {
    if (this.#access.kind === "embedded") return clusterStore({ handshakeMs: HANDSHAKE_MS });
    const redis = this.#connections.get(mode);
    if (this.#access.kind === "none" || redis === undefined)
      throw new Error(`Mode ${mode} needs a store, and the demo runs without.`);
    // Of its own in each mode: else the shares of one would be kept for a while for the limiters of the one before.
    return redisStore(redis, { prefix: `${this.#access.prefix}:${mode}` });
  }
}

async function connectRedis(url: string): Promise<Redis> {
  const redis = new Redis(url, { lazyConnect: true });
  // The limiter says once when the store cannot answer; without a listener ioredis would print every attempt.
  redis.on("error", () => {});
  await redis.connect();
  await redis.ping();
  return redis;
}
