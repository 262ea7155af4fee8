import { type ClusterNode, eventually, keysUnder, type RedisCluster, startRedisCluster } from "@spillway/testkit";
import { Cluster, Redis } from "ioredis";
import { Cluster as ValkeyCluster } from "iovalkey";
import { createCluster } from "redis";
import { createRateLimiter, redisStore, type StateChange } from "spillway";
import { afterAll, beforeAll, expect, it } from "vitest";
import { keyTag } from "../../packages/spillway/src/stores/redis/key-layout.ts";
import { keySlot } from "../../packages/spillway/src/stores/redis/key-slot.ts";

const POLICIES = [
  { name: "hour", limit: 100, period: "1h" },
  { name: "day", limit: 1000, period: "1d", algorithm: "fixed-window" },
] as const;
/** A busy machine keeps to it; the 1.6 s for which a driver left alone tries again are longer. */
const DEADLINE_MS = 1200;

let servers: RedisCluster;
const admins: Redis[] = [];
beforeAll(async () => {
  servers = await startRedisCluster();
  for (const { server } of servers.nodes) admins.push(new Redis(server.url));
});
afterAll(async () => {
  for (const admin of admins) admin.disconnect();
  await servers?.stop();
});

/** Opens a slot of the first node to the second, and moves one of the keys in it. */
async function moveOne(slot: number, storeKey: string): Promise<void> {
  const [from, to] = servers.nodes as unknown as [ClusterNode, ClusterNode];
  await admins[1]?.cluster("SETSLOT", slot, "IMPORTING", from.id);
  await admins[0]?.cluster("SETSLOT", slot, "MIGRATING", to.id);
  await admins[0]?.migrate(to.server.host, to.server.port, "", 0, 5000, "KEYS", storeKey);
}

async function moveRest(slot: number, storeKeys: readonly string[]): Promise<void> {
  const to = servers.nodes[1] as ClusterNode;
  await admins[0]?.migrate(to.server.host, to.server.port, "", 0, 5000, "KEYS", ...storeKeys);
  for (const index of [1, 0, 2]) await admins[index]?.cluster("SETSLOT", slot, "NODE", to.id);
}

/** Different keys for each driver: what was moved stays moved. */
function keysOnFirstNode(name: string): [string, string] {
  const last = servers.nodes[0]?.slots?.[1] as number;
  const keys = Array.from({ length: 100 }, (_, index) => `${name}-${index}`);
  return keys.filter((key) => keySlot(keyTag(key)) <= last).slice(0, 2) as [string, string];
}

const seeds = (): { host: string; port: number }[] => [...servers.seeds];

it.each([
  ["ioredis", () => new Cluster(seeds(), { lazyConnect: true })],
  ["iovalkey", () => new ValkeyCluster(seeds(), { lazyConnect: true })],
  ["node-redis", () => createCluster({ rootNodes: seeds().map((socket) => ({ socket })) })],
])(
  "a key whose slot is half moved is decided by the share meanwhile, and its node is not taken for silent (%s)",
  async (name, connect) => {
    const client = connect();
    const store = redisStore(client);
    const changes: StateChange[] = [];
    const limiter = createRateLimiter({
      store,
      policies: POLICIES,
      deadlineMs: DEADLINE_MS,
      lease: false,
      onStateChange: (change) => changes.push(change),
    });
    try {
      const [moving, staying] = keysOnFirstNode(name);
      await eventually(async () => (await limiter.consume(staying)).source === "store", { withinMs: 10_000 });
      changes.length = 0;
      const { storeMisses } = limiter.stats();
      expect(await limiter.consume(moving)).toMatchObject({ allowed: true, remaining: 99 });
      const storeKeys = await keysUnder(admins[0] as Redis, `spillway:v1:{${moving}}`);
      expect(storeKeys).toHaveLength(2);
      const slot = keySlot(keyTag(moving));
      await moveOne(slot, storeKeys[0] as string);

      for (let i = 0; i < 5; i++) {
        expect(await limiter.consume(moving)).toMatchObject({ degraded: true });
        expect(await limiter.consume(staying)).toMatchObject({ source: "store" });
      }
      expect(limiter.stats()).toMatchObject({ storeMisses, storeFaults: 5 });
      expect(changes).toEqual([]);

      await moveRest(slot, storeKeys.slice(1));
      const decision = await limiter.consume(moving);
      expect(decision).toMatchObject({ source: "store", allowed: true });
      expect(decision.remaining).toBeLessThan(99);
    } finally {
      await limiter.close();
      await store.close();
      client.disconnect?.();
    }
  },
);
