import { type RedisSentinel, startRedisSentinel } from "@spillway/testkit";
import { Redis } from "ioredis";
import { storeContract } from "spillway/testing";
import { afterAll, beforeAll, describe, it } from "vitest";
import { redisUnderTest, SKIPS } from "./redis-under-test.ts";

let servers: RedisSentinel;
let client: Redis;
beforeAll(async () => {
  servers = await startRedisSentinel();
  client = new Redis({ sentinels: [...servers.sentinels], name: servers.primaryName });
});
afterAll(async () => {
  client?.disconnect();
  await servers?.stop();
});

storeContract(
  { describe, it },
  { name: "redisStore over ioredis with Sentinel", open: () => redisUnderTest(client, () => [client]), skips: SKIPS },
);
