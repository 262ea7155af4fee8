import { storeContract } from "spillway/testing";
import { describe, it } from "vitest";
import { ownRedis } from "../support/redis-fixture.ts";
import { redisUnderTest, SKIPS } from "./redis-under-test.ts";

const redis = ownRedis();

storeContract(
  { describe, it },
  { name: "redisStore over ioredis", open: () => redisUnderTest(redis.client, () => [redis.client]), skips: SKIPS },
);
