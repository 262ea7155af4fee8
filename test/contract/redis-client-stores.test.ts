import { setTimeout as sleep } from "node:timers/promises";
import { keysWithoutExpiry } from "@spillway/testkit";
import { redisStore } from "spillway";
import { type StoreUnderTest, storeContract } from "spillway/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bucketKey } from "../../packages/spillway/src/stores/redis/key-layout.ts";
import { type ClientKind, DUPLICATED, SEND_COMMAND, type UserClient } from "./redis-clients/kinds.ts";
import { type Rig, startRig, type Topology } from "./redis-clients/rig.ts";
import { SKIPS } from "./redis-under-test.ts";

// The stores over ioredis have files of their own.
const KINDS = [...DUPLICATED.filter(({ name }) => name.includes("node-redis")), ...SEND_COMMAND];

describe.each<Topology>(["standalone", "cluster"])("%s", (topology) => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await startRig(topology);
  });
  afterAll(() => rig?.stop());

  for (const kind of KINDS.filter((candidate) => candidate.topology === topology)) contractOf(kind, () => rig);
});

function contractOf(kind: ClientKind, rig: () => Rig): void {
  describe(`over ${kind.name}`, () => {
    let user: UserClient;
    let stores = 0;
    beforeAll(async () => {
      user = kind.create(rig().target, true);
      await user.connect();
    });
    afterAll(() => user?.end());

    function open(): StoreUnderTest {
      const prefix = `contract-${kind.name.replaceAll(" ", "-")}-${process.pid}-${++stores}`;
      const store = redisStore(user.client, { prefix });
      return {
        store,
        advance: (ms) => sleep(ms + 2), // A timer may fire up to 1 ms early by the server's clock.
        async putForeignValue(address) {
          const key = bucketKey(prefix, address);
          await Promise.any(rig().admins.map((admin) => admin.set(key, "5", "PX", 60_000)));
        },
        async close() {
          const lasting = await Promise.all(rig().admins.map((admin) => keysWithoutExpiry(admin, prefix)));
          await store.close();
          expect(lasting.flat()).toEqual([]);
        },
      };
    }

    storeContract({ describe, it }, { name: `redisStore over ${kind.name}`, open, skips: SKIPS });
  });
}
