import { setTimeout as sleep } from "node:timers/promises";
import { keysWithoutExpiry } from "@spillway/testkit";
import type { Redis } from "ioredis";
import { type RedisClient, redisStore } from "spillway";
import type { StoreUnderTest } from "spillway/testing";
import { expect } from "vitest";
import { bucketKey } from "../../packages/spillway/src/stores/redis/key-layout.ts";

let stores = 0;

/** What no store on another machine has. */
export const SKIPS = { "take-now": "the buckets are not in this process" } as const;

/**
 * A Redis store under a prefix of its own. After the test no key under it may be without expiry.
 * @param client sends plain commands too; a Cluster client finds the node.
 * @param nodes where keys are looked for.
 */
export function redisUnderTest(
  client: RedisClient & Pick<Redis, "set" | "rpush" | "pexpire">,
  nodes: () => readonly Redis[],
): StoreUnderTest {
  const prefix = `contract-${process.pid}-${++stores}`;
  const store = redisStore(client, { prefix });
  return {
    store,
    async advance(ms) {
      await sleep(ms + 2); // A timer may fire up to 1 ms early by the server's clock.
    },
    async putForeignValue(address) {
      const key = bucketKey(prefix, address);
      if (address.policy.algorithm === "token-bucket") await client.set(key, "5", "PX", 60_000);
      else {
        await client.rpush(key, "5");
        await client.pexpire(key, 60_000);
      }
    },
    async close() {
      const lasting = await Promise.all(nodes().map((node) => keysWithoutExpiry(node, prefix)));
      await store.close();
      expect(lasting.flat()).toEqual([]);
    },
  };
}
