import { type RedisCluster, startRedisCluster } from "@spillway/testkit";
import { Cluster } from "ioredis";
import { type StoreUnderTest, storeContract } from "spillway/testing";
import { afterAll, beforeAll, describe, it } from "vitest";
import { policyOf } from "../../packages/spillway/src/testing/contract/contract-case.ts";
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
    open: () => connected(redisUnderTest(client, () => client.nodes("master"))),
    skips: SKIPS,
  },
);

/** With a connection to each node: what a node that is not connected yet does with several calls is another test's matter. */
async function connected(subject: StoreUnderTest): Promise<StoreUnderTest> {
  const policy = policyOf({ name: "hello", limit: 1, period: "1m" });
  for (let i = 0; i < 30; i++) await subject.store.peek([{ key: `node ${i}`, policy }]);
  return subject;
}
