import { type RedisServer, startRedisServer } from "@spillway/testkit";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, it } from "vitest";
import { redisStore } from "../../packages/spillway/src/stores/redis/redis-store.ts";
import { requireModel, STEPS } from "./run-model.ts";
import { lastingSetups } from "./setups.ts";
import type { Driver } from "./world.ts";

let server: RedisServer;
let client: Redis;
let clockAheadUs = 0;
let opened = 0;
beforeAll(async () => {
  server = await startRedisServer();
  client = new Redis(server.url);
  const [seconds, microseconds] = await client.time();
  clockAheadUs = Number(seconds) * 1e6 + Number(microseconds) - Date.now() * 1000;
});
afterAll(async () => {
  client?.disconnect();
  await server?.stop();
});

/** The shipped scripts through the shipped store, at whatever times its calls happen to come. */
async function open(): Promise<Driver> {
  const prefix = `real-${++opened}`;
  const store = redisStore(client, { prefix, useAsIs: false });
  return {
    store,
    prefix,
    expires: true,
    nowUs: () => Date.now() * 1000 + clockAheadUs,
    move: () => {},
  };
}

describe("redisStore on the server's own clock equals the model in replies", () => {
  it.each([
    ["exact", false],
    ["with leases", true],
  ] as const)("%s", { timeout: 300_000 }, (name, leases) =>
    requireModel({
      name: `redisStore, ${name}`,
      setups: lastingSetups(),
      plans: { leases, moods: ["still"] },
      open,
      steps: Math.ceil(STEPS / 2),
    }),
  );
});
