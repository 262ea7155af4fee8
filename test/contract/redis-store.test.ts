import { type RedisServer, startRedisServer } from "@spillway/testkit";
import { Redis } from "ioredis";
import { storeContract } from "spillway/testing";
import { afterAll, beforeAll, describe, it } from "vitest";
import { redisUnderTest, SKIPS } from "./redis-under-test.ts";

let server: RedisServer;
let client: Redis;
beforeAll(async () => {
  server = await startRedisServer();
  client = new Redis(server.url);
});
afterAll(async () => {
  client?.disconnect();
  await server?.stop();
});

storeContract(
  { describe, it },
  { name: "redisStore over ioredis", open: () => redisUnderTest(client, () => [client]), skips: SKIPS },
);
