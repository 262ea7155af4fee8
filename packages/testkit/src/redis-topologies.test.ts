import { Cluster, Redis } from "ioredis";
import { describe, expect, it } from "vitest";
import { startRedisCluster } from "./redis-cluster.ts";
import { startRedisSentinel } from "./redis-sentinel.ts";

describe("a private cluster", () => {
  it("serves every slot from three primaries", async () => {
    const cluster = await startRedisCluster();
    const client = new Cluster([...cluster.seeds]);
    try {
      for (let index = 0; index < 50; index++) await client.set(`key-${index}`, index);
      expect(await client.get("key-49")).toBe("49");
      expect(cluster.nodes.map(({ slots }) => slots)).toEqual([
        [0, 5461],
        [5462, 10_922],
        [10_923, 16_383],
      ]);
    } finally {
      client.disconnect();
      await cluster.stop();
    }
    expect(cluster.nodes.map(({ server }) => server.running)).toEqual([false, false, false]);
  });

  it("has a replica behind each primary if asked", async () => {
    const cluster = await startRedisCluster({ replicasPerPrimary: 1 });
    const replica = cluster.nodes[4];
    const client = new Redis(replica?.server.url ?? "");
    try {
      expect(cluster.nodes).toHaveLength(6);
      const [role, , port, state] = (await client.call("ROLE")) as unknown[];
      expect([role, port, state]).toEqual(["slave", replica?.primary?.server.port, "connected"]);
    } finally {
      client.disconnect();
      await cluster.stop();
    }
  });
});

describe("a primary under sentinels", () => {
  it("is handed over on demand and when it dies, and clients find the new one", async () => {
    const redis = await startRedisSentinel();
    const client = new Redis({ sentinels: [...redis.sentinels], name: redis.primaryName });
    client.on("error", () => {});
    try {
      const { firstPrimary, firstReplica } = redis;
      expect((await redis.primary()).port).toBe(firstPrimary.port);
      await client.set("a", "1");
      expect((await redis.failover()).port).toBe(firstReplica.port);
      await firstReplica.kill();
      expect((await redis.primaryOtherThan(firstReplica.port)).port).toBe(firstPrimary.port);
      expect(await client.get("a")).toBe("1");
    } finally {
      client.disconnect();
      await redis.stop();
    }
    expect([redis.firstPrimary.running, redis.firstReplica.running]).toEqual([false, false]);
  });
});
