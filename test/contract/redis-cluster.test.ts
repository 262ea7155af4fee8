import { type RedisCluster, startRedisCluster } from "@spillway/testkit";
import { Cluster } from "ioredis";
import { storeContract } from "spillway/testing";
import { afterAll, beforeAll, describe, it } from "vitest";
import { redisUnderTest, SKIPS } from "./redis-under-test.ts";

let servers: RedisCluster;
let client: Cluster;
beforeAll(async () => {
  servers = await startRedisCluster();
  client = new Cluster([...servers.seeds]);
});
afterAll(async () => {
  client?.disconnect();
  await servers?.stop();
});

storeContract(
  { describe, it },
  {
    name: "redisStore over ioredis Cluster",
    open: () => redisUnderTest(client, () => client.nodes("master")),
    skips: SKIPS,
  },
);
