import { beforeAll, describe, expect, it } from "vitest";
import { GARBAGE } from "../model/steps.ts";
import { packStored } from "../model/stored-value.ts";
import { redisFixture } from "../support/redis-fixture.ts";
import { COUNTER, keyOf, LOG, MORE, RawScripts, TOKEN, TOKENS, WINDOW, wishOf } from "./on-redis.ts";

const redis = redisFixture();
let scripts: RawScripts;
beforeAll(async () => {
  scripts = new RawScripts(redis.client);
  await scripts.load();
});

const OTHER_TYPES: readonly (readonly [type: string, put: (key: string) => Promise<unknown>])[] = [
  ["list", (key) => redis.client.rpush(key, "5")],
  ["hash", (key) => redis.client.hset(key, "count", "5")],
  ["set", (key) => redis.client.sadd(key, "5")],
  ["sorted set", (key) => redis.client.zadd(key, 5, "5")],
  ["stream", (key) => redis.client.xadd(key, "*", "count", "5")],
];

/** What a key holds, with its type. */
async function contentOf(key: string): Promise<string> {
  return `${await redis.client.type(key)} ${(await redis.client.dumpBuffer(key)).toString("hex")}`;
}

describe.each(OTHER_TYPES)("a bucket's key that holds a %s", (_type, put) => {
  it.each([TOKENS, WINDOW, COUNTER, LOG])(
    "is that bucket's fault, of kind 1, and stays as it is ($name)",
    async (policy) => {
      const other = policy === TOKENS ? WINDOW : TOKENS;
      const key = keyOf(policy);
      await put(key);
      await redis.client.pexpire(key, 60_000);
      const before = await contentOf(key);
      expect((await scripts.take([policy])).slice(1)).toEqual([-1, 1, 0]);
      expect((await scripts.take([policy], 1, 1, "k", wishOf(3, 1000))).slice(1)).toEqual([-1, 1, 0]);
      expect((await scripts.take([policy, other], 1, 3)).slice(1, 4)).toEqual([-1, 1, 0]);
      expect((await scripts.take([MORE, policy], 1, 3)).slice(1)).toEqual([0, 10 * TOKEN, -1, 1, 0]);
      expect(await scripts.served([policy, other], 1, 3)).toBe(0);
      expect((await scripts.peek([other, policy])).slice(-2)).toEqual([-1, 1]);
      expect((await scripts.adjust([policy], 5)).slice(1)).toEqual([-1, 1]);
      expect(await contentOf(key)).toBe(before);
      expect(await scripts.served([other], 10)).toBe(1);
    },
  );

  it.each([TOKENS, WINDOW, COUNTER, LOG])("is healed by a reset ($name)", async (policy) => {
    await put(keyOf(policy));
    expect((await scripts.reset([policy]))[1]).toBe(0);
    expect(await scripts.served([policy], 1, 11)).toBe(10);
    expect(await redis.client.pttl(keyOf(policy))).toBeGreaterThan(0);
  });
});

const texts = GARBAGE.filter((bytes) => bytes !== "list");
const strange = [
  ...texts,
  packStored({ form: 1, numbers: [1e300, 1, 1, 1] }),
  packStored({ form: 1, numbers: [-1e308, -1e305, 1, 1] }),
  packStored({ form: 1, numbers: [1, 1, 1e300, 1] }),
  packStored({ form: 2, numbers: [1, 1, 1000, 1, -5, 1, 1, 0, 0, 0, 0] }),
  packStored({ form: 2, numbers: [1, 1, 1000, 1, 1e300, 1, 1, 0, 0, 0, 0] }),
  packStored({ form: 2, numbers: [1, 1, 1000, 1, 0, 0, 0, 0, 0, 0, -1] }),
  packStored({ form: 3, numbers: [1, 1e300] }),
  packStored({ form: 3, numbers: [1e300, 1] }),
  packStored({ form: 4, numbers: [1, 1e300, 1] }),
  packStored({ form: 4, numbers: [-1, 1, 1] }),
  packStored({ form: 5, numbers: [1000, 1e300, 10] }),
  packStored({ form: 5, numbers: [-1, 1, 10] }),
  packStored({ form: 5, numbers: [1000, 1, 10, 5.5, 1] }),
];

describe.each([TOKENS, WINDOW, COUNTER, LOG])("a string in a bucket's key that no script wrote ($name)", (policy) => {
  it.each(strange.map((bytes) => [bytes.toString("hex") || "(empty)", bytes] as const))("%s", async (_hex, bytes) => {
    const key = keyOf(policy);
    await redis.client.set(key, bytes, "PX", 60_000);
    for (const reply of [
      await scripts.take([policy], 1, 2),
      await scripts.take([policy], 1, 2, "k", wishOf(3, 1000)),
      await scripts.take([policy, MORE]),
      await scripts.take([policy, policy === TOKENS ? WINDOW : TOKENS]),
    ]) {
      expect(reply.slice(1, 3)).toEqual([-1, 2]);
      expect(reply.at(-1)).toBe(0);
    }
    expect((await scripts.peek([policy])).slice(1)).toEqual([-1, 2]);
    expect((await scripts.adjust([policy], -5)).slice(1)).toEqual([-1, 2]);
    expect(await redis.client.getBuffer(key)).toEqual(bytes);
    await scripts.reset([policy]);
    expect(await scripts.served([policy], 1, 11)).toBe(10);
  });

  it("random bytes of each length that scripts write", async () => {
    for (let i = 0; i < 300; i++) {
      const length = [17, 33, 89, 25, 29, 37, 61][i % 7] as number;
      const bytes = Buffer.from(Array.from({ length }, () => Math.floor(Math.random() * 256)));
      bytes[0] = [3, 1, 2, 4, 5, 5, 5][i % 7] as number;
      await redis.client.set(keyOf(policy), bytes, "PX", 60_000);
      const reply = await scripts.take([policy]);
      for (const slot of reply) expect(slot, `${bytes.toString("hex")} gives ${reply}`).toSatisfy(Number.isSafeInteger);
      if (reply[1] === -1) expect(await redis.client.getBuffer(keyOf(policy))).toEqual(bytes);
    }
  });
});
