import { commandCalls } from "@spillway/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { peek, take } from "../../packages/spillway/src/stores/redis/scripts/generated.ts";
import { encodeAddresses, encodeTake } from "../../packages/spillway/src/stores/redis/take-encoding.ts";
import { redisFixture } from "../support/redis-fixture.ts";
import { COUNTER, EACH, keyOf, LOG, MORE, policyOf, RawScripts, SCRIPTS, TOKENS, WINDOW, wishOf } from "./on-redis.ts";

const redis = redisFixture();
let scripts: RawScripts;
beforeAll(async () => {
  scripts = new RawScripts(redis.client);
  await scripts.load();
});

describe("the committed scripts", () => {
  it.each(SCRIPTS.map((script) => [script.name, script] as const))(
    "%s has the SHA-1 that Redis gives it",
    async (_, script) => {
      expect(await redis.client.script("LOAD", script.text)).toBe(script.sha1);
    },
  );
});

describe("replies", () => {
  it("are flat arrays of integers, whatever is asked", async () => {
    const report = wishOf(3, 1_000_000);
    const replies = [
      await scripts.take([TOKENS]),
      await scripts.take([TOKENS], 3, 5),
      await scripts.take(EACH, 2, 3),
      await scripts.take([TOKENS], 0, 0),
      await scripts.take([TOKENS], 1, 1, "k", report),
      await scripts.take([TOKENS, MORE], 1, 1, "k", report),
      await scripts.take([TOKENS, MORE], 1, 0, "k", report),
      await scripts.peek(EACH),
      await scripts.adjust(EACH, -4),
      await scripts.adjust(EACH, 4),
      await scripts.reset(EACH),
    ];
    for (const reply of replies) {
      expect(Array.isArray(reply)).toBe(true);
      for (const slot of reply) expect(slot).toSatisfy(Number.isSafeInteger);
    }
  });

  it("have the slots that the headers promise", async () => {
    expect(await scripts.take([TOKENS])).toHaveLength(3);
    expect(await scripts.take(EACH, 1, 0)).toHaveLength(1 + 2 + 3 * 2 + 4 + 3);
    expect(await scripts.peek(EACH)).toHaveLength(1 + 2 + 3 * 2 + 4 + 3);
    expect(await scripts.take([TOKENS], 1, 2, "k", wishOf(2, 1_000_000))).toHaveLength(1 + 2 + 1);
    expect(await scripts.take([TOKENS])).toHaveLength(1 + 4 + 1);
    expect(await scripts.peek([TOKENS])).toHaveLength(1 + 4);
    expect(await scripts.take([WINDOW], 1, 2, "k", wishOf(2, 1_000_000))).toHaveLength(1 + 3 + 1);
    expect(await scripts.take([COUNTER])).toHaveLength(1 + 4 + 1);
  });

  it("tell of a log the entries that somebody waits for, three to seven however long it is", async () => {
    const long = policyOf({ name: "long", limit: 300, period: "1h", algorithm: "sliding-window-log" });
    expect(await scripts.peek([long])).toHaveLength(1 + 3);
    expect(await scripts.take([long])).toHaveLength(1 + 3 + 2 + 1);
    for (let i = 0; i < 150; i++) await scripts.take([long]);
    expect((await scripts.take([long])).slice(1, 4)).toEqual([0, 152, 3]);
    const refused = await scripts.take([long], 200, 3);
    expect(refused.slice(1, 4)).toEqual([0, 152, 5]);
    expect([5, 7, 9, 11, 13].map((slot) => refused[slot])).toEqual([1, -50, 1, -99, 1]);
    expect(refused.at(-1)).toBe(0);
  });

  it("carry the server's time of the call in microseconds", async () => {
    const timeUs = async (): Promise<number> => {
      const [seconds, microseconds] = await redis.client.time();
      return Number(seconds) * 1e6 + Number(microseconds);
    };
    const before = await timeUs();
    const [now = 0] = await scripts.take([TOKENS]);
    expect(now).toBeGreaterThanOrEqual(before);
    expect(now).toBeLessThanOrEqual(await timeUs());
  });
});

describe("peek", () => {
  it("runs where Redis allows no writing, on buckets that are there and on those that are not", async () => {
    await scripts.take(EACH, 3);
    const addresses = EACH.map((policy) => ({ key: "k", policy }));
    for (const key of ["k", "nobody"]) {
      const keys = EACH.map((policy) => keyOf(policy, key));
      const args = [peek.sha1, keys.length, ...keys, ...encodeAddresses(addresses)];
      const reply = await redis.client.call("EVALSHA_RO", args);
      expect(reply).toHaveLength(key === "k" ? 18 : 16);
    }
  });

  it("leaves values and expiries as they are, and makes no key", async () => {
    await scripts.take(EACH, 3);
    const keys = EACH.map((policy) => keyOf(policy));
    const seen = async (): Promise<unknown> =>
      Promise.all(keys.map(async (key) => [await redis.client.getBuffer(key), await redis.client.pexpiretime(key)]));
    const before = await seen();
    await scripts.peek(EACH);
    expect(await seen()).toEqual(before);
    await scripts.peek(EACH, "nobody");
    expect(await redis.client.dbsize()).toBe(EACH.length);
  });
});

it("a log's value stays short, however long it is used", async () => {
  const brief = policyOf({ name: "brief", limit: 50, period: 20, algorithm: "sliding-window-log" });
  const args = encodeTake({
    buckets: [{ key: "k", policy: brief, report: undefined }],
    runs: [{ count: 1, charges: [{ bucket: 0, cost: 1 }] }],
  });
  let longest = 0;
  let served = 0;
  for (let batch = 0; batch < 60; batch++) {
    const pipeline = redis.client.pipeline();
    for (let i = 0; i < 50; i++) pipeline.evalsha(take.sha1, 1, keyOf(brief), ...args);
    const replies = (await pipeline.strlen(keyOf(brief)).exec()) ?? [];
    longest = Math.max(longest, Number(replies.at(-1)?.[1]));
    for (const [, reply] of replies) if (Array.isArray(reply) && reply.at(-1) === 1) served++;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  expect(served).toBeGreaterThan(300);
  // Live entries, as many that are over, and those that are not worth a move.
  expect(longest).toBeLessThanOrEqual(37 + 8 * (2 * 50 + 64));
});

describe("a call", () => {
  it("reads all buckets in one step and writes each once", async () => {
    const whole = EACH.filter((policy) => policy !== LOG);
    await redis.client.config("RESETSTAT");
    await scripts.take(whole, 1);
    const calls = await commandCalls(redis.client);
    expect([calls.get("mget"), calls.get("set"), calls.get("time")]).toEqual([1, whole.length, 1]);
  });

  it("moves a few bytes of a log, whatever its length: its head, the entries that count, the new one", async () => {
    const long = policyOf({ name: "long", limit: 10_000, period: "1h", algorithm: "sliding-window-log" });
    for (let i = 0; i < 3; i++) await scripts.take([long]);
    const ofLength: Record<string, number>[] = [];
    for (const more of [0, 600]) {
      for (let i = 0; i < more; i++) await scripts.take([long]);
      await redis.client.config("RESETSTAT");
      await scripts.take([long]);
      const calls = await commandCalls(redis.client);
      calls.delete("evalsha");
      calls.delete("config|resetstat");
      ofLength.push(Object.fromEntries(calls));
    }
    expect(ofLength).toEqual(Array(2).fill({ time: 1, getrange: 3, setrange: 2, pexpire: 1 }));
  });

  it("about a log and others asks for one bucket after another, and takes a value of another type as that one's fault", async () => {
    await redis.client.rpush(keyOf(TOKENS), "5");
    await redis.client.pexpire(keyOf(TOKENS), 60_000);
    const reply = await scripts.take([TOKENS, WINDOW, LOG]);
    expect(reply.slice(1, 9)).toEqual([-1, 1, 0, 0, expect.any(Number), 0, 0, 0]);
    expect((await scripts.peek([WINDOW, LOG])).slice(1, 3)).toEqual([0, 0]);
  });

  it("costs one read, one write and the time when it is about one token bucket", async () => {
    await scripts.take([TOKENS]);
    await redis.client.config("RESETSTAT");
    await scripts.take([TOKENS]);
    const calls = await commandCalls(redis.client);
    calls.delete("evalsha");
    calls.delete("config|resetstat");
    expect(Object.fromEntries(calls)).toEqual({ get: 1, set: 1, time: 1 });
  });

  it("takes 256 keys of 16 policies", async () => {
    const keys = Array.from({ length: 256 }, (_, index) => `key-${index}`);
    const policies = Array.from({ length: 16 }, (_, index) => ({ ...TOKENS, name: `policy-${index}` }));
    const addresses = keys.flatMap((key) => policies.map((policy) => ({ key, policy })));
    const reply = await redis.client.evalsha(
      peek.sha1,
      addresses.length,
      ...addresses.map(({ key, policy }) => keyOf(policy, key)),
      ...encodeAddresses(addresses),
    );
    expect(reply).toHaveLength(1 + 2 * 4096);
  });
});
