import { type RedisServer, startRedisServer } from "@spillway/testkit";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, it } from "vitest";
import type { Mood } from "./plans.ts";
import { requireModel } from "./run-model.ts";
import { setups } from "./setups.ts";
import { TimedRedisStore } from "./timed-redis.ts";
import type { Driver } from "./world.ts";

/** 2026-10-05: sixteen digits of microseconds. */
const START_US = 1_791_187_200_123_456;
const MOODS: readonly Mood[] = ["busy", "idle", "backward"];
const TIMEOUT_MS = 300_000;

let server: RedisServer;
let client: Redis;
let openStore: (prefix: string, nowUs: number) => TimedRedisStore;
let opened = 0;
beforeAll(async () => {
  server = await startRedisServer();
  client = new Redis(server.url);
  openStore = await TimedRedisStore.load(client);
});
afterAll(async () => {
  client?.disconnect();
  await server?.stop();
});

function open(): Driver {
  const store = openStore(`run-${++opened}`, START_US);
  return {
    store,
    prefix: store.prefix,
    expires: true,
    nowUs: () => store.nowUs,
    move: (us) => {
      store.nowUs += us;
    },
    records: (keys) => store.records(keys),
    spoil: (address, bytes) => store.spoil(address, bytes),
  };
}

describe("the scripts on a test clock equal the model: replies, stored values and lives", () => {
  it("token buckets", { timeout: TIMEOUT_MS }, () =>
    requireModel({
      name: "redis, token buckets",
      setups: setups("token-bucket"),
      plans: { leases: false, moods: MOODS },
      open,
    }),
  );
  it("token buckets with leases", { timeout: TIMEOUT_MS }, () =>
    requireModel({
      name: "redis, token buckets with leases",
      setups: setups("token-bucket"),
      plans: { leases: true, moods: MOODS },
      open,
    }),
  );
  it("fixed windows", { timeout: TIMEOUT_MS }, () =>
    requireModel({
      name: "redis, fixed windows",
      setups: setups("fixed-window"),
      plans: { leases: false, moods: MOODS },
      open,
    }),
  );
});
