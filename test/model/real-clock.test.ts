import { type RedisCluster, type RedisServer, startRedisCluster, startRedisServer } from "@spillway/testkit";
import type fc from "fast-check";
import { Cluster, Redis } from "ioredis";
import { afterAll, beforeAll, describe, it } from "vitest";
import { redisStore } from "../../packages/spillway/src/stores/redis/redis-store.ts";
import type { BucketAddress, Store } from "../../packages/spillway/src/stores/store.ts";
import { keysOfOneGroup } from "../../packages/spillway/src/testing/contract/contract-case.ts";
import { requireModel, STEPS } from "./run-model.ts";
import { lastingSetups, type Setup, slidingSetups } from "./setups.ts";
import type { Driver } from "./world.ts";

const SUITES: readonly (readonly [name: string, setups: fc.Arbitrary<Setup>, leases: boolean])[] = [
  ["exact", lastingSetups(), false],
  ["with leases", lastingSetups(), true],
  ["sliding windows", slidingSetups(), false],
];
let opened = 0;

/** The shipped scripts through the shipped store, at whatever times its calls happen to come. */
function driverOf(client: Redis | Cluster, aheadUs: number): Driver {
  const prefix = `real-${++opened}`;
  return {
    store: ofOneGroup(redisStore(client, { prefix })),
    prefix,
    expires: true,
    nowUs: () => Date.now() * 1000 + aheadUs,
    move: () => {},
  };
}

/** Keys of a run may meet in one call: on a cluster they get names that share a slot. */
function ofOneGroup(store: Store): Store {
  const names = keysOfOneGroup(store, 2);
  const own = <T extends BucketAddress>(address: T): T => ({
    ...address,
    key: names[address.key === "key-0" ? 0 : 1] as string,
  });
  return {
    name: store.name,
    take: ({ buckets, runs }) => store.take({ buckets: buckets.map(own), runs }),
    peek: (addresses) => store.peek(addresses.map(own)),
    adjust: (adjustments) => store.adjust(adjustments.map(own)),
    block: (addresses, durationUs) => store.block(addresses.map(own), durationUs),
    reset: (addresses) => store.reset(addresses.map(own)),
    close: () => store.close(),
  };
}

async function aheadOf(client: Redis): Promise<number> {
  const [seconds, microseconds] = await client.time();
  return Number(seconds) * 1e6 + Number(microseconds) - Date.now() * 1000;
}

function defineSuites(where: string, open: () => Driver, part: number): void {
  it.each(SUITES)("%s", { timeout: 300_000 }, (name, setups, leases) =>
    requireModel({
      name: `redisStore on ${where}, ${name}`,
      setups,
      plans: { leases, moods: ["still"] },
      open,
      steps: Math.ceil(STEPS / part),
    }),
  );
}

describe("redisStore on the server's own clock equals the model in replies", () => {
  let server: RedisServer;
  let client: Redis;
  let aheadUs = 0;
  beforeAll(async () => {
    server = await startRedisServer();
    client = new Redis(server.url);
    aheadUs = await aheadOf(client);
  });
  afterAll(async () => {
    client?.disconnect();
    await server?.stop();
  });
  defineSuites("one server", () => driverOf(client, aheadUs), 2);
});

describe("redisStore on a cluster equals the model in replies", () => {
  let servers: RedisCluster;
  let client: Cluster;
  beforeAll(async () => {
    servers = await startRedisCluster();
    client = new Cluster([...servers.seeds]);
    await client.ping();
  });
  afterAll(async () => {
    client?.disconnect();
    await servers?.stop();
  });
  defineSuites("a cluster", () => driverOf(client, 0), 4);
});
