import { keysWithoutExpiry } from "@spillway/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import type { Policy } from "../../packages/spillway/src/policy.ts";
import { allotShares } from "../../packages/spillway/src/stores/redis/scripts/generated.ts";
import { encodeBeat } from "../../packages/spillway/src/stores/redis/take-encoding.ts";
import type { Beat } from "../../packages/spillway/src/stores/store.ts";
import { redisFixture } from "../support/redis-fixture.ts";
import { ALIGNED, COUNTER, EACH, keyOf, LOG, policyOf, RawScripts, TOKENS, WINDOW, wishOf } from "./on-redis.ts";

const redis = redisFixture();
let scripts: RawScripts;
beforeAll(async () => {
  scripts = new RawScripts(redis.client);
  await scripts.load();
});

/** The rest of a key's life, which was given a moment ago. */
async function expectLife(policy: Policy, lifeMs: number): Promise<void> {
  const pttl = await redis.client.pttl(keyOf(policy));
  expect(pttl).toBeLessThanOrEqual(lifeMs);
  expect(pttl).toBeGreaterThan(lifeMs - 1000);
}

const WRITES: readonly (readonly [string, (policies: readonly Policy[]) => Promise<unknown>])[] = [
  ["a take that is served", (policies) => scripts.take(policies, 1)],
  ["a take that is refused", (policies) => scripts.take(policies, 11)],
  ["a take without asks", (policies) => scripts.take(policies, 1, 0)],
  ["a take of cost 0", (policies) => scripts.take(policies, 0)],
  ["a lease", (policies) => scripts.take(policies, 1, 1, "k", wishOf(3, 1_000_000))],
  ["a refund", (policies) => scripts.adjust(policies, 5)],
  ["a penalty", (policies) => scripts.adjust(policies, -15)],
  ["a reset", (policies) => scripts.reset(policies)],
];

describe("every key that is written has an expiry", () => {
  it.each(WRITES)("%s, alone and with others, on new keys and on old ones", async (_, write) => {
    for (let round = 0; round < 2; round++) {
      for (const policies of [...EACH.map((policy) => [policy]), EACH]) await write(policies);
      expect(await redis.client.dbsize()).toBe(EACH.length);
      expect(await keysWithoutExpiry(redis.client, "")).toEqual([]);
    }
  });

  it.each(WRITES)("%s gives one back to a key that lost it", async (_, write) => {
    await write(EACH);
    for (const policy of EACH) await redis.client.persist(keyOf(policy));
    expect(await keysWithoutExpiry(redis.client, "")).toHaveLength(EACH.length);
    await write(EACH);
    expect(await keysWithoutExpiry(redis.client, "")).toEqual([]);
  });
});

describe("a token bucket lives", () => {
  it("as long as it takes to fill, whether its asks are served or not", async () => {
    await scripts.take([TOKENS], 4);
    await expectLife(TOKENS, 60_001);
    await redis.client.pexpire(keyOf(TOKENS), 1000);
    await scripts.take([TOKENS], 10);
    await expectLife(TOKENS, 60_001);
  });

  it("twice as long in debt", async () => {
    await scripts.adjust([TOKENS], -11);
    await expectLife(TOKENS, 120_001);
  });

  it("longer by the life of what is out on lease", async () => {
    await scripts.take([TOKENS], 1, 1, "k", wishOf(3, 7_000_000));
    await expectLife(TOKENS, 67_001);
  });

  it("as long as the slowest of the policies that it has lived under needs", async () => {
    const slow = policyOf({ name: TOKENS.name, limit: 10, period: "1h" });
    await scripts.take([slow], 1);
    await scripts.take([TOKENS], 1);
    await expectLife(TOKENS, 3_600_001);
    await scripts.take([TOKENS], 1, 1, "k", wishOf(1, 1_000_000));
    await expectLife(TOKENS, 3_601_001);
  });

  it("a hundred years at most", async () => {
    const vast = policyOf({ name: "vast", limit: 1, period: "366d", burst: 1e12 });
    await scripts.take([vast], 1);
    await expectLife(vast, 3_153_600_000_000);
    await scripts.adjust([vast], -1e12);
    await expectLife(vast, 3_153_600_000_000);
  });

  it("a time that is no whole millisecond is rounded up", async () => {
    const brief = policyOf({ name: "brief", limit: 7, period: "1s", burst: 1 });
    await scripts.take([brief], 1);
    const pttl = await redis.client.pttl(keyOf(brief));
    expect(pttl).toBeLessThanOrEqual(144);
    expect(pttl).toBeGreaterThan(100);
  });
});

describe("a fixed window lives", () => {
  it("until it ends, counted from its first request", async () => {
    const policy = policyOf({ name: "window", limit: 10, period: 400, algorithm: "fixed-window" });
    await scripts.take([policy], 1);
    const first = await redis.client.pexpiretime(keyOf(policy));
    await new Promise((resolve) => setTimeout(resolve, 20));
    await scripts.take([policy], 20);
    expect(Math.abs((await redis.client.pexpiretime(keyOf(policy))) - first)).toBeLessThanOrEqual(2);
  });

  it("until the next multiple of its period when it is aligned", async () => {
    const [, , , startUs = 0] = await scripts.take([ALIGNED], 1);
    const endMs = (startUs + ALIGNED.periodUs) / 1000;
    const expiryMs = await redis.client.pexpiretime(keyOf(ALIGNED));
    expect(expiryMs).toBeGreaterThanOrEqual(endMs);
    expect(expiryMs).toBeLessThanOrEqual(endMs + 2);
  });

  it("and is made full by a reset without being made longer", async () => {
    await scripts.take([WINDOW], 9);
    await scripts.reset([WINDOW]);
    await expectLife(WINDOW, 60_001);
    expect(await scripts.served([WINDOW], 10)).toBe(1);
  });
});

describe("a sliding window counter lives", () => {
  it("until its current window counts no more, counted from its first request", async () => {
    await scripts.take([COUNTER], 1);
    await expectLife(COUNTER, 120_001);
    const first = await redis.client.pexpiretime(keyOf(COUNTER));
    await new Promise((resolve) => setTimeout(resolve, 20));
    await scripts.take([COUNTER], 20);
    expect(Math.abs((await redis.client.pexpiretime(keyOf(COUNTER))) - first)).toBeLessThanOrEqual(2);
  });
});

describe("a sliding window log lives", () => {
  it("until its newest token is a period old", async () => {
    await scripts.take([LOG], 1);
    await expectLife(LOG, 60_001);
    const first = await redis.client.pexpiretime(keyOf(LOG));
    await new Promise((resolve) => setTimeout(resolve, 20));
    await scripts.take([LOG], 20);
    expect(Math.abs((await redis.client.pexpiretime(keyOf(LOG))) - first)).toBeLessThanOrEqual(2);
    await scripts.take([LOG], 1);
    expect(await redis.client.pexpiretime(keyOf(LOG))).toBeGreaterThanOrEqual(first + 19);
  });

  it("as long as the longest of the policies that it lives under needs", async () => {
    const long = policyOf({ name: LOG.name, limit: 10, period: "1h", algorithm: "sliding-window-log" });
    await scripts.take([long], 1);
    await scripts.take([LOG], 1);
    await expectLife(LOG, 3_600_001);
  });

  it("for a period when it holds nothing", async () => {
    await scripts.take([LOG], 0);
    await expectLife(LOG, 60_001);
    await scripts.reset([LOG]);
    await expectLife(LOG, 60_001);
  });
});

it("an expired bucket is as if nobody had used it", async () => {
  const policy = policyOf({ name: "brief", limit: 100, period: "1s", burst: 2 });
  expect(await scripts.served([policy], 1, 3)).toBe(2);
  await new Promise((resolve) => setTimeout(resolve, 40));
  expect(await redis.client.exists(keyOf(policy))).toBe(0);
  expect(await scripts.served([policy], 1, 3)).toBe(2);
});

describe("the ledger of shares", () => {
  const LIFE_MS = 300;
  const numbers = new Map<string, number>();
  const beat = async (id: string, given: Partial<Beat> = {}): Promise<number[]> => {
    const number = (numbers.get(id) ?? 0) + 1;
    numbers.set(id, number);
    const said = { id, number, lifeMs: LIFE_MS, share: 0, even: 0, demand: 1, replicas: 1, leaves: false, ...given };
    const reply = await redis.client.evalsha(allotShares.sha1, 1, "ledger", ...encodeBeat(said));
    expect(reply).toSatisfy((slots: unknown[]) => slots.length === 6 && slots.every(Number.isSafeInteger));
    return reply as number[];
  };
  const count = async (id: string, given: Partial<Beat> = {}): Promise<number> => (await beat(id, given))[1] ?? 0;
  const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

  it("counts each process once, forgets those that it does not hear of, and expires with the last", async () => {
    expect([await count("a"), await count("b"), await count("a")]).toEqual([1, 2, 2]);
    expect(await keysWithoutExpiry(redis.client, "")).toEqual([]);
    await pause(LIFE_MS / 2);
    expect(await count("c")).toBe(3);
    await pause(LIFE_MS / 2 + 20);
    expect(await count("c")).toBe(1);
    await pause(LIFE_MS + 20);
    expect(await redis.client.exists("ledger")).toBe(0);
  });

  it("lives as long as any process in it, and has an expiry when all have left", async () => {
    await beat("a", { lifeMs: 100_000 });
    await beat("b");
    expect(await redis.client.pttl("ledger")).toBeGreaterThan(90_000);
    await beat("a", { leaves: true });
    await beat("b", { leaves: true });
    expect(await keysWithoutExpiry(redis.client, "")).toEqual([]);
    expect(await count("c")).toBe(1);
  });

  it("heals itself of what no script of this version wrote", async () => {
    await redis.client.hset("ledger", "*", "text", "foreign", "text", "a", "text");
    expect(await beat("a")).toMatchObject({ 1: 1, 2: 1_000_000_000 });
    expect((await redis.client.hkeys("ledger")).sort()).toEqual(["*", "a"]);
  });

  it("of another type is an error that reaches nobody but the beat", async () => {
    await redis.client.set("ledger", "text", "PX", 1000);
    await expect(beat("a")).rejects.toThrow("WRONGTYPE");
  });
});
