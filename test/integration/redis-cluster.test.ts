import { eventually, keysUnder, keysWithoutExpiry, type RedisCluster, startRedisCluster } from "@spillway/testkit";
import { Cluster } from "ioredis";
import { createRateLimiter, type Decision, type RateLimiter, redisStore } from "spillway";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { keyTag } from "../../packages/spillway/src/stores/redis/key-layout.ts";
import { keySlot } from "../../packages/spillway/src/stores/redis/key-slot.ts";
import { openSockets, PATIENT_MS } from "../support/redis-fixture.ts";

const POLICIES = [
  { name: "burst", limit: 5, period: "1h" },
  { name: "daily", limit: 50, period: "1d", algorithm: "fixed-window" },
] as const;

let servers: RedisCluster;
let looker: Cluster;
let sockets = 0;
let closing: (() => Promise<void> | void)[] = [];

beforeAll(async () => {
  servers = await startRedisCluster();
  looker = new Cluster([...servers.seeds]);
  for (const node of await masters()) await node.ping();
  sockets = openSockets();
});
afterEach(async () => {
  for (const close of closing.reverse()) await close();
  closing = [];
  for (const node of await masters()) {
    expect(await keysWithoutExpiry(node, "")).toEqual([]);
    await node.flushall();
  }
  await eventually(() => openSockets() <= sockets, { withinMs: 5000 });
});
afterAll(async () => {
  looker?.disconnect();
  await servers?.stop();
});

async function masters() {
  await eventually(() => looker.nodes("master").length === 3, { withinMs: 10_000 });
  return looker.nodes("master");
}

function limiterWith(options: { keyPrefix?: string; prefix?: string }): RateLimiter {
  const client = new Cluster([...servers.seeds], {
    lazyConnect: true,
    ...(options.keyPrefix === undefined ? {} : { keyPrefix: options.keyPrefix }),
  });
  client.on("error", () => {});
  const store = redisStore(client, options.prefix === undefined ? {} : { prefix: options.prefix });
  const limiter = createRateLimiter({
    store,
    policies: POLICIES,
    deadlineMs: PATIENT_MS,
    lease: false,
    onStateChange: () => {},
  });
  closing.push(async () => {
    await limiter.close();
    await store.close();
    client.disconnect();
  });
  return limiter;
}

async function allKeys(): Promise<string[]> {
  return (await Promise.all((await masters()).map((node) => keysUnder(node, "")))).flat();
}

const AWKWARD = [
  "api:u1",
  "{",
  "}",
  "{}",
  "}x{",
  "{a",
  "a}b{c",
  "{u1}",
  "{}{u1}",
  "%",
  "%007b",
  "*",
  "\n",
  "\u0000",
  "日本",
  "\ud800",
  "\ud83d\ude00",
  "a".repeat(5000),
];

describe("C14: whatever a caller's key is, its policies travel in one call", () => {
  it.each([
    ["", {}],
    ["an ioredis keyPrefix", { keyPrefix: "app:" }],
    ["a prefix of the store", { prefix: "app:limits" }],
  ])("%s", async (_, options) => {
    const limiter = limiterWith(options);
    for (const key of AWKWARD) {
      const decisions: Decision[] = [];
      for (let i = 0; i < 6; i++) decisions.push(await limiter.consume(key));
      expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, true, true, false]);
      expect(decisions.every(({ degraded }) => !degraded)).toBe(true);
      expect((await limiter.peek(key)).policies.map(({ remaining }) => remaining)).toEqual([0, 45]);
      await limiter.reset(key);
      expect((await limiter.peek(key)).policies.map(({ remaining }) => remaining)).toEqual([5, 50]);
    }
    expect(limiter.stats()).toMatchObject({ storeFaults: 0, storeMisses: 0 });
  });

  it("different keys have different buckets", async () => {
    const limiter = limiterWith({});
    for (const key of AWKWARD) await limiter.consume(key);
    const keys = (await allKeys()).filter((key) => key.startsWith("spillway:"));
    expect(keys).toHaveLength(2 * AWKWARD.length);
  });
});

it("the slot that the store works out is the server's", async () => {
  for (const text of [...AWKWARD, ...Array.from({ length: 200 }, (_, index) => `user-${index}`)]) {
    const tag = keyTag(text);
    expect(keySlot(tag)).toBe(await looker.cluster("KEYSLOT", `spillway:v1:{${tag}}:p:token-bucket`));
  }
});

it("keys of one slot travel in one call, and those of other slots beside them", async () => {
  const limiter = limiterWith({});
  await limiter.consume("hello"); // Which node has which slot is known from then on.
  const bySlot = new Map<number, string[]>();
  for (let i = 0; i < 20_000; i++) {
    const slot = keySlot(keyTag(`user-${i}`));
    bySlot.set(slot, [...(bySlot.get(slot) ?? []), `user-${i}`]);
  }
  const groups = [...bySlot.values()].filter((keys) => keys.length >= 3).slice(0, 20);
  expect(groups).toHaveLength(20);
  const callsBefore = limiter.stats().storeCalls;
  const keys = groups.flatMap((group) => group.slice(0, 3));
  const decisions = await Promise.all(keys.map((key) => limiter.consume(key)));
  expect(decisions.every(({ allowed, source }) => allowed && source === "store")).toBe(true);
  expect(limiter.stats().storeCalls - callsBefore).toBe(20);
});

it("a thousand keys on three nodes are decided by the store, each to the token", async () => {
  const limiter = limiterWith({});
  const keys = Array.from({ length: 1000 }, (_, index) => `user-${index}`);
  const decisions = await Promise.all(keys.flatMap((key) => [1, 2, 3, 4, 5, 6, 7].map(() => limiter.consume(key))));
  expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(5000);
  expect(decisions.filter(({ degraded }) => degraded)).toHaveLength(0);
  expect(limiter.stats()).toMatchObject({ storeFaults: 0, storeMisses: 0 });
});

describe("a request about keys of several slots", () => {
  const ask = (a: string, b: string, cost = 1) => [
    { policy: "burst", key: a, cost },
    { policy: "daily", key: b },
  ];

  it("goes in when every slot admits, and takes nothing when one refuses", async () => {
    const limiter = limiterWith({});
    await limiter.consume("hello"); // Which node has which slot is known from then on.
    expect(await limiter.consume(ask("u1", "t2", 5))).toMatchObject({ allowed: true, keys: ["u1", "t2"], key: "u1" });
    expect(await limiter.consume(ask("u1", "t2"))).toMatchObject({ allowed: false, key: "u1", policy: "burst" });
    const left = async (): Promise<number[]> =>
      (await Promise.all(["u1", "t2"].map((key) => limiter.peek(key)))).flatMap(({ policies }) =>
        policies.map(({ remaining }) => remaining),
      );
    // The refused one's part of t2 is on its way back.
    await eventually(async () => (await left()).join() === "0,50,5,49", { withinMs: 3000 });
  });

  it("never lets more in than a bucket holds, whoever gives back meanwhile", async () => {
    const limiters = [limiterWith({}), limiterWith({})];
    for (const limiter of limiters) await limiter.consume("hello");
    const asks = Array.from({ length: 60 }, (_, i) => limiters[i % 2]?.consume(ask(`u${i % 7}`, "t2")));
    const decisions = (await Promise.all(asks)) as Decision[];
    for (let u = 0; u < 7; u++)
      expect(decisions.filter(({ allowed, keys }) => allowed && keys?.[0] === `u${u}`).length).toBeLessThanOrEqual(5);
    expect(decisions.filter(({ allowed }) => allowed).length).toBeLessThanOrEqual(50);
    expect(decisions.every(({ degraded }) => !degraded)).toBe(true);
  });
});
