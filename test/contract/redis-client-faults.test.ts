import { connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually, keysUnder, startRedisCluster, startRedisSentinel } from "@spillway/testkit";
import { Cluster, Redis } from "ioredis";
import { Redis as Valkey, Cluster as ValkeyCluster } from "iovalkey";
import { createClient, createClientPool, createCluster, createSentinel } from "redis";
import { fromSendCommand, type RedisClient, redisStore } from "spillway";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { keySlot } from "../../packages/spillway/src/stores/redis/key-slot.ts";
import type { Store, TakeReply } from "../../packages/spillway/src/stores/store.ts";
import { newKey, policyOf, remaining, runOf } from "../../packages/spillway/src/testing/contract/contract-case.ts";
import { ownRedis } from "../support/redis-fixture.ts";

const HOUR = policyOf({ name: "hour", limit: 100, period: "1h" });
const UNAVAILABLE = "ERR_SPILLWAY_STORE_UNAVAILABLE";

const takeOne = (store: Store, key: string): Promise<TakeReply> =>
  store.take({ buckets: [{ key, policy: HOUR, report: undefined }], runs: [runOf(1)] });
const codeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => "no fault",
    (error: { code?: unknown }) => error.code,
  );

/** What is to be ended after a test. */
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

function storeOver(client: RedisClient, options: { prefix?: string; useAsIs?: boolean } = {}): Store {
  const store = redisStore(client, options);
  ends.push(() => store.close());
  return store;
}

/** Clients that nobody connects: the store does so with its duplicates. */
const STANDALONE: readonly (readonly [name: string, (port: number, keyPrefix?: string) => RedisClient])[] = [
  ["ioredis", (port, keyPrefix = "") => new Redis({ port, keyPrefix, lazyConnect: true })],
  ["iovalkey", (port, keyPrefix = "") => new Valkey({ port, keyPrefix, lazyConnect: true })],
  ["node-redis", (port, keyPrefix = "") => createClient({ socket: { port }, keyPrefix })],
];
type Seeds = readonly { readonly host: string; readonly port: number }[];
const CLUSTERS: readonly (readonly [name: string, (seeds: Seeds, keyPrefix?: string) => RedisClient])[] = [
  ["ioredis", (seeds, keyPrefix = "") => new Cluster([...seeds], { keyPrefix, lazyConnect: true })],
  ["iovalkey", (seeds, keyPrefix = "") => new ValkeyCluster([...seeds], { keyPrefix, lazyConnect: true })],
  [
    "node-redis",
    (seeds, keyPrefix = "") =>
      createCluster({ rootNodes: seeds.map((socket) => ({ socket: { ...socket } })), keyPrefix }),
  ],
];

describe("one server", () => {
  const redis = ownRedis();

  describe.each(STANDALONE)("%s", (_name, create) => {
    it("is back within 3 s of a restart, and knows no scripts then", async () => {
      const store = storeOver(create(redis.server.port));
      const key = newKey();
      await takeOne(store, key);
      await redis.server.kill();
      expect(await codeOf(takeOne(store, key))).not.toBe("no fault");
      expect(await codeOf(takeOne(store, key))).toBe(UNAVAILABLE);
      await redis.server.restart();
      const startedMs = performance.now();
      await eventually(() => takeOne(store, key), { withinMs: 3000, everyMs: 50 });
      expect(performance.now() - startedMs).toBeLessThan(3000);
      expect(await remaining(store, key, HOUR)).toBe(99);
    });

    it("makes another connection when the server has become a replica, which may be somebody else's by now", async () => {
      const store = storeOver(create(redis.server.port));
      const key = newKey();
      await takeOne(store, key);
      await redis.client.call("REPLICAOF", "127.0.0.1", "1");
      const connections = async (): Promise<number> =>
        Number(/total_connections_received:(\d+)/.exec(await redis.client.info("stats"))?.[1]);
      const before = await connections();
      expect(await codeOf(takeOne(store, key))).toBe(UNAVAILABLE);
      expect(await codeOf(takeOne(store, key))).toBe(UNAVAILABLE);
      expect((await connections()) - before).toBe(1);
      await redis.client.call("REPLICAOF", "NO", "ONE");
      expect((await takeOne(store, key)).served).toEqual([1]);
    });

    it("gives up a connection on which nothing comes back any more, though others would be answered", async () => {
      const relay = await startRelay(redis.server.port);
      ends.push(() => relay.stop());
      const store = storeOver(create(relay.port));
      await takeOne(store, newKey());
      relay.freeze();
      const calls: Promise<unknown>[] = [];
      const call = (): Promise<boolean> => {
        calls.push(codeOf(takeOne(store, newKey())));
        return Promise.race([
          (calls.at(-1) as Promise<unknown>).then((code) => code === "no fault"),
          sleep(100, false),
        ]);
      };
      await eventually(call, { withinMs: 3500, everyMs: 50 });
      expect(calls.length).toBeGreaterThan(5);
      expect((await Promise.all(calls.slice(0, 5))).every((code) => String(code).startsWith("ERR_SPILLWAY_"))).toBe(
        true,
      );
    });

    it("keeps its keys under the client's keyPrefix, whatever it holds", async () => {
      const prefix = `own-${newKey()}`;
      const store = storeOver(create(redis.server.port, "app{:"), { prefix });
      for (const key of ["a", "{", "}x{"]) expect((await takeOne(store, key)).served).toEqual([1]);
      const keys = await keysUnder(redis.client, "app{:");
      expect(keys.filter((key) => key.startsWith(`app{:${prefix}:v1:`))).toHaveLength(3);
      expect(await keysUnder(redis.client, prefix)).toEqual([]);
    });
  });

  describe("a function that sends commands", () => {
    it.each([undefined, null, "OK", 7, {}, [], ["x"], [1, 2], [1, 0, 1.5, 1, 1], [Number.NaN, 0, 1, 1, 1]])(
      "that replies %j is a fault, never an admission",
      async (reply) => {
        const store = storeOver(fromSendCommand(async () => reply));
        expect(await codeOf(takeOne(store, "k"))).toBe("ERR_SPILLWAY_STORE_REPLY");
      },
    );

    it("may reply with big integers or digits", async () => {
      const client = new Redis(redis.server.url);
      ends.push(() => client.disconnect());
      for (const as of [BigInt, String]) {
        const send = async (name: string, ...args: string[]): Promise<unknown> =>
          ((await client.call(name, ...args)) as number[]).map((number) => as(number));
        expect((await takeOne(storeOver(fromSendCommand(send as never)), newKey())).served).toEqual([1]);
      }
    });

    it("that throws, or rejects with what is no error, fails the call", async () => {
      const thrown = storeOver(
        fromSendCommand(() => {
          throw new Error("LOADING Redis is loading the dataset in memory");
        }),
      );
      expect(await codeOf(takeOne(thrown, "k"))).toBe(UNAVAILABLE);
      const text = storeOver(fromSendCommand(() => Promise.reject("NOAUTH Authentication required.")));
      expect(await codeOf(takeOne(text, "k"))).toBe(UNAVAILABLE);
      const nothing = storeOver(fromSendCommand(() => Promise.reject(undefined)));
      expect(await codeOf(takeOne(nothing, "k"))).toBe("ERR_SPILLWAY_STORE_FAILED");
    });
  });
});

describe("a cluster", () => {
  it.each(CLUSTERS)(
    "takes every key over %s, with a keyPrefix too, and refuses one with a brace",
    async (_name, create) => {
      const cluster = await startRedisCluster({ primaries: 3 });
      ends.push(() => cluster.stop());
      const store = storeOver(create(cluster.seeds, "app:"));
      const second = policyOf({ name: "second", limit: 5, period: "1s" });
      for (const key of ["api:u1", "{", "{}", "}x{", "{a", "a}b{c", "\ud800", "x".repeat(5000)]) {
        const buckets = [HOUR, second].map((policy) => ({ key, policy, report: undefined }));
        const runs = [{ count: 1, charges: [0, 1].map((bucket) => ({ bucket, cost: 1 })) }];
        expect((await store.take({ buckets, runs })).served).toEqual([1]);
        expect(store.nodeOf?.(store.groupOf?.(key) ?? 0)).toMatch(/^127\.0\.0\.1:\d+$/);
      }
      expect(() => redisStore(create(cluster.seeds, "app{:"))).toThrow(/keyPrefix/);
    },
  );

  it("whose primary dies goes on: other slots at once, its own when a replica has taken over", async () => {
    const cluster = await startRedisCluster({ replicasPerPrimary: 1 });
    ends.push(() => cluster.stop());
    const [first] = cluster.nodes;
    const stores = CLUSTERS.map(([, create]) => storeOver(create(cluster.seeds)));
    const isFirst = (key: string): boolean => keySlot(key) <= (first?.slots?.[1] ?? 0);
    const keys = Array.from({ length: 100 }, newKey);
    const [lost, kept] = [keys.find(isFirst) as string, keys.find((key) => !isFirst(key)) as string];
    for (const store of stores) for (const key of [lost, kept]) await takeOne(store, key);
    await first?.server.kill();
    for (const store of stores) {
      expect(await codeOf(takeOne(store, lost))).not.toBe("no fault");
      expect(await codeOf(takeOne(store, kept))).toBe("no fault");
      expect(await codeOf(takeOne(store, lost))).toMatch(/UNAVAILABLE|FAILED/);
    }
    await Promise.all(
      stores.map((store) => eventually(() => takeOne(store, lost), { withinMs: 15_000, everyMs: 100 })),
    );
    expect(await remaining(stores[0] as Store, kept, HOUR)).toBe(94);
  });

  it("whose slot is on its way to another node charges each call once", async () => {
    const cluster = await startRedisCluster({ primaries: 2 });
    ends.push(() => cluster.stop());
    const [from, to] = cluster.nodes;
    const key = newKey();
    const slot = keySlot(key);
    const [source, target] = slot <= (from?.slots?.[1] ?? 0) ? [from, to] : [to, from];
    const stores = CLUSTERS.map(([, create]) => storeOver(create(cluster.seeds)));
    for (const store of stores) await takeOne(store, key);
    const [sourceAdmin, targetAdmin] = [source, target].map((node) => new Redis(node?.server.url ?? ""));
    ends.push(() => [sourceAdmin, targetAdmin].map((admin) => admin?.disconnect()));
    await targetAdmin?.call("CLUSTER", "SETSLOT", slot, "IMPORTING", source?.id ?? "");
    await sourceAdmin?.call("CLUSTER", "SETSLOT", slot, "MIGRATING", target?.id ?? "");
    const [stored] = await keysUnder(sourceAdmin as Redis, `spillway:v1:{${key}}`);
    await sourceAdmin?.call("MIGRATE", "127.0.0.1", target?.server.port ?? 0, stored ?? "", 0, 1000);
    for (const store of stores) expect((await takeOne(store, key)).served).toEqual([1]); // "ASK"
    for (const admin of [targetAdmin, sourceAdmin])
      await admin?.call("CLUSTER", "SETSLOT", slot, "NODE", target?.id ?? "");
    for (const store of stores) expect((await takeOne(store, key)).served).toEqual([1]); // "MOVED"
    expect(await remaining(stores[0] as Store, key, HOUR)).toBe(91);
  });
});

describe("sentinels", () => {
  it.each([
    ["ioredis", Redis],
    ["iovalkey", Valkey as unknown as typeof Redis],
  ])("lead %s to the new primary when the old one dies", async (_name, Client) => {
    const servers = await startRedisSentinel();
    ends.push(() => servers.stop());
    const options = { sentinels: [...servers.sentinels], name: servers.primaryName, lazyConnect: true };
    const store = storeOver(new Client(options));
    const key = newKey();
    await takeOne(store, key);
    await servers.firstPrimary.kill();
    expect(await codeOf(takeOne(store, key))).not.toBe("no fault");
    await servers.primaryOtherThan(servers.firstPrimary.port);
    await eventually(() => takeOne(store, key), { withinMs: 3000, everyMs: 50 });
  });

  it("are not asked one after another for ever when the first says nothing", async () => {
    const servers = await startRedisSentinel();
    ends.push(() => servers.stop());
    const dead = await startRelay(1);
    dead.freeze();
    ends.push(() => dead.stop());
    const sentinels = [{ host: "127.0.0.1", port: dead.port }, ...servers.sentinels];
    const store = storeOver(new Redis({ sentinels, name: servers.primaryName, lazyConnect: true }));
    await eventually(() => takeOne(store, newKey()), { withinMs: 3000, everyMs: 50 });
  });
});

describe("a client that is used as it is", () => {
  const warnings = vi.fn();
  beforeEach(() => {
    warnings.mockReset();
    const emit = vi.spyOn(process, "emitWarning").mockImplementation(warnings);
    ends.push(() => emit.mockRestore());
  });
  const clusterOf = (options: object): RedisClient => new Cluster([{ port: 1 }], { lazyConnect: true, ...options });
  const of = (options: object): RedisClient => new Redis({ lazyConnect: true, ...options });

  it.each<[string, RedisClient, string[]]>([
    ["ioredis", of({}), ["enableOfflineQueue", "maxRetriesPerRequest"]],
    ["ioredis with timeouts", of({ commandTimeout: 5, socketTimeout: 5 }), ["commandTimeout", "socketTimeout"]],
    ["ioredis Cluster", clusterOf({}), ["enableOfflineQueue", "retryDelayOnFailover"]],
    ["ioredis Cluster with timeouts", clusterOf({ redisOptions: { commandTimeout: 5 } }), ["commandTimeout"]],
    ["iovalkey", new Valkey({ lazyConnect: true }), ["enableOfflineQueue", "maxRetriesPerRequest"]],
    ["node-redis", createClient({ socket: { socketTimeout: 5 } }), ["disableOfflineQueue", "socketTimeout"]],
    ["node-redis cluster", createCluster({ rootNodes: [] }), ["disableOfflineQueue"]],
  ])("%s is warned about once, with the name of each option that breaks a promise", (_name, client, names) => {
    storeOver(client, { useAsIs: true });
    storeOver(client, { useAsIs: true });
    expect(warnings).toHaveBeenCalledExactlyOnceWith(expect.any(String), {
      ...{ type: "SpillwayWarning", code: "SPILLWAY_WARN_CLIENT_OPTIONS" },
      detail: expect.stringContaining("useAsIs"),
    });
    for (const name of names) expect(warnings.mock.calls[0]?.[0]).toContain(name);
  });

  it.each<[string, RedisClient]>([
    ["ioredis", of({ enableOfflineQueue: false, maxRetriesPerRequest: 0 })],
    ["ioredis Cluster", clusterOf({ enableOfflineQueue: false, retryDelayOnFailover: 0 })],
    ["node-redis", createClient({ disableOfflineQueue: true })],
    ["node-redis cluster", createCluster({ rootNodes: [], defaults: { disableOfflineQueue: true } })],
  ])("%s with safe options is not", (_name, client) => {
    storeOver(client, { useAsIs: true });
    expect(warnings).not.toHaveBeenCalled();
  });

  it("is not warned about when it is not used as it is", () => {
    storeOver(of({}));
    expect(warnings).not.toHaveBeenCalled();
  });

  it("that its user has ended is not brought back", async () => {
    const client = of({ port: 1, retryStrategy: null });
    const store = storeOver(client, { useAsIs: true });
    (client as Redis).disconnect();
    expect(await codeOf(takeOne(store, "k"))).toBe(UNAVAILABLE);
    expect(client).toMatchObject({ status: "end" });
    expect(await codeOf(takeOne(storeOver(createClient(), { useAsIs: true }), "k"))).toBe(UNAVAILABLE);
  });
});

describe("what is no client that the store knows", () => {
  const sentinel = createSentinel({ name: "primary", sentinelRootNodes: [{ host: "127.0.0.1", port: 1 }] });
  it.each([undefined, null, "redis://localhost", {}, () => {}, createClientPool(), sentinel])("%s", (client) => {
    const refusal = {
      code: "ERR_SPILLWAY_INVALID_OPTION",
      message: expect.stringMatching(/node-redis.*fromSendCommand/),
    };
    expect(() => redisStore(client as never)).toThrow(expect.objectContaining(refusal));
  });

  it("is no function that fromSendCommand takes", () => {
    expect(() => fromSendCommand(undefined as never)).toThrow(/sendCommand must be a function/);
    expect(() => fromSendCommand(async () => 1, { cluster: 1 } as never)).toThrow(/cluster must be true or false/);
    expect(() => fromSendCommand(async () => 1, { clusters: true } as never)).toThrow(/options\.clusters/);
  });
});

interface Relay {
  readonly port: number;
  /** Connections that are open now pass nothing any more; later ones do. To a port where nobody listens, none ever does. */
  freeze(): void;
  stop(): void;
}

/** Passes connections on, until it forgets those that are open, as a firewall does. */
async function startRelay(targetPort: number): Promise<Relay> {
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const target = connect(targetPort, "127.0.0.1");
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      open.add(from);
      from.on("data", (bytes) => open.has(from) && to.write(bytes));
      from.on("close", () => open.has(from) && to.destroy());
      from.on("error", () => open.has(from) && to.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as { port: number }).port,
    freeze: () => open.clear(),
    stop: () => void server.close(),
  };
}
