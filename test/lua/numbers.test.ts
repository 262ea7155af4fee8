import type { Redis } from "ioredis";
import { beforeAll, describe, expect, it } from "vitest";
import { algorithmOf } from "../../packages/spillway/src/algorithms/bucket.ts";
import { take } from "../../packages/spillway/src/stores/redis/scripts/generated.ts";
import { encodeTake } from "../../packages/spillway/src/stores/redis/take-encoding.ts";
import { packStored, unpackStored } from "../model/stored-value.ts";
import { TimedRedisStore } from "../model/timed-redis.ts";
import { redisFixture } from "../support/redis-fixture.ts";
import { flood } from "./flood.ts";
import { keyOf, policyOf, RawScripts } from "./on-redis.ts";

const redis = redisFixture();
let scripts: RawScripts;
beforeAll(async () => {
  scripts = new RawScripts(redis.client);
  await scripts.load();
});

const TEN_THOUSAND = policyOf({ name: "ten-thousand", limit: 10_000, period: "1s", burst: 1 });
const REFILL_US = 100;
const SECONDS = 2;

it("C01 a: 10,000 per second with burst 1, under a flood of calls, is admitted to the token", {
  timeout: 60_000,
}, async () => {
  const bucket = { key: "k", policy: TEN_THOUSAND, report: undefined };
  const call = { buckets: [bucket], runs: [{ count: 1, charges: [{ bucket: 0, cost: 1 }] }] };
  const command = ["EVALSHA", take.sha1, "1", keyOf(TEN_THOUSAND), ...encodeTake(call)];
  const { port } = redis.server;
  const looking = lookAt(redis.connect(), keyOf(TEN_THOUSAND));
  const replies = await flood({ port, command, slots: 3, durationMs: SECONDS * 1000 + 200 });
  const numbers = await looking.stop();

  const untilUs = (replies[0]?.[0] ?? 0) + SECONDS * 1e6;
  const within = replies.filter(([nowUs = 0]) => nowUs < untilUs);
  const admitted = within.filter((reply) => reply[1] === 1).length;
  const { disagreements, lostTokens } = replay(within);
  process.stdout.write(`C01 a: ${within.length} asks in 2 s, ${admitted} admitted, ${lostTokens} lost to pauses\n`);
  expect(disagreements).toEqual([]);
  // Thousands of calls were waiting all the time; how many the server got through is this machine's affair.
  expect(within.length).toBeGreaterThan(5000);
  // 20,001 in two seconds; less where the server was not given the processor for the last of them.
  const due = 1 + ((within.at(-1)?.[0] ?? 0) - (within[0]?.[0] ?? 0)) / REFILL_US;
  expect(due).toBeGreaterThan(15_000);
  expect(admitted).toBeLessThanOrEqual(due);
  // With burst 1, whatever comes in while the server is not given the processor cannot be saved up.
  expect(admitted + lostTokens).toBeGreaterThanOrEqual(0.995 * due);

  expect(numbers.length).toBeGreaterThan(100);
  for (const number of numbers) expect(number).toSatisfy(Number.isSafeInteger);
  for (const number of numbers) expect(String(number)).not.toContain("e");
});

/** Reads a stored value every 10 ms. */
function lookAt(client: Redis, key: string): { stop(): Promise<number[]> } {
  const numbers: number[] = [];
  let stopped = false;
  const looks = (async () => {
    for (let look = 0; !stopped && look < 2000; look++) {
      const bytes = await client.getBuffer(key);
      if (bytes) numbers.push(...unpackStored(bytes).numbers);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  })();
  const stop = async (): Promise<number[]> => {
    stopped = true;
    await looks;
    return numbers;
  };
  return { stop };
}

/** The integer model, fed the same times: replies that it would not give, and tokens that found the bucket full. */
function replay(replies: readonly number[][]): { disagreements: unknown[]; lostTokens: number } {
  const { shape } = TEN_THOUSAND;
  const algorithm = algorithmOf(shape);
  const state = algorithm.open(shape, replies[0]?.[0] ?? 0);
  if (state.kind !== "token-bucket" || shape.kind !== "token-bucket") throw new Error("A token bucket was expected.");
  const disagreements: unknown[] = [];
  let lostUnits = 0;
  for (const [nowUs = 0, served, level] of replies) {
    const uncapped = state.level + (nowUs - state.timeUs) * shape.unitsPerTick;
    algorithm.advance(state, shape, nowUs);
    lostUnits += uncapped - state.level;
    const fits = algorithm.fits(state, shape, 1);
    if (fits) algorithm.charge(state, shape, 1);
    const agrees = state.level === level && state.timeUs === nowUs && Number(fits) === served;
    if (!agrees && disagreements.length < 3) disagreements.push({ nowUs, level, served, state: { ...state } });
  }
  return { disagreements, lostTokens: Math.floor(lostUnits / shape.unitsPerToken) };
}

describe("C01 b: a time keeps its last digits", () => {
  it.each([1_790_000_000_123_456, 1_790_000_000_000_001, 1_999_999_999_999_999, 8_999_999_999_999_999])(
    "%i",
    async (nowUs) => {
      const openStore = await TimedRedisStore.load(redis.client);
      const store = openStore("digits", nowUs);
      const policies = [
        policyOf({ name: "tokens", limit: 70, period: "1s", burst: 20 }),
        policyOf({ name: "window", limit: 5, period: "1m", algorithm: "fixed-window" }),
        policyOf({ name: "counter", limit: 5, period: "1m", algorithm: "sliding-window-counter" }),
        policyOf({ name: "log", limit: 5, period: "366d", algorithm: "sliding-window-log" }),
      ];
      const buckets = policies.map((policy) => ({ key: "k", policy, report: undefined }));
      const runs = [{ count: 1, charges: [{ bucket: 3, cost: 2 }] }];
      const reply = await store.take({ buckets, runs });
      expect(reply.nowUs).toBe(nowUs);
      const times = reply.buckets.map((reading) => {
        if (reading.kind === "fault") return undefined;
        const { state } = reading;
        if (state.kind === "sliding-window-log") return state.times[0];
        return state.kind === "token-bucket" ? state.timeUs : state.startUs;
      });
      expect(times).toEqual([nowUs, nowUs, nowUs, nowUs]);
      const stored = await redis.client.mgetBuffer(
        "digits:v1:{k}:tokens:token-bucket",
        "digits:v1:{k}:window:fixed-window",
        "digits:v1:{k}:counter:sliding-window-counter",
        "digits:v1:{k}:log:sliding-window-log",
      );
      expect(unpackStored(stored[0] as Buffer).numbers[1]).toBe(nowUs);
      expect(unpackStored(stored[1] as Buffer).numbers[0]).toBe(nowUs);
      expect(unpackStored(stored[2] as Buffer).numbers[0]).toBe(nowUs);
      expect(unpackStored(stored[3] as Buffer).numbers.slice(1)).toEqual([nowUs, 5, nowUs, 2]);
      await redis.client.del("model:lives", "model:deaths");
    },
  );
});

it("an estimate of a sliding window has every digit, though count x time passes 2^53", async () => {
  const openStore = await TimedRedisStore.load(redis.client);
  const nowUs = 1_790_000_000_123_456;
  const limit = 1e12;
  const policy = policyOf({ name: "vast", limit, period: "366d", algorithm: "sliding-window-counter" });
  const wrong: unknown[] = [];
  for (let i = 0; i < 300; i++) {
    const store = openStore(`vast-${i}`, nowUs);
    // Products that end on a whole token, and next to one, as well as any others.
    const previous = i % 3 === 0 ? limit - i : Math.ceil(Math.random() * limit);
    const overlapUs = i % 3 === 0 ? policy.periodUs : Math.ceil(Math.random() * policy.periodUs);
    const startUs = nowUs + overlapUs - policy.periodUs;
    const numbers = [startUs, previous, 0];
    await redis.client.set(`vast-${i}:v1:{k}:vast:sliding-window-counter`, packStored({ form: 4, numbers }), "PX", 9e5);
    const product = BigInt(previous) * BigInt(overlapUs);
    const estimate = Number((product + BigInt(policy.periodUs) - 1n) / BigInt(policy.periodUs));
    const buckets = [{ key: "k", policy, report: undefined }];
    const runs = [limit - estimate + 1, limit - estimate].map((cost) => ({ count: 1, charges: [{ bucket: 0, cost }] }));
    const { served } = await store.take({ buckets, runs });
    if (served[0] !== 0 || served[1] !== 1) wrong.push({ previous, overlapUs, estimate, served });
  }
  expect(wrong).toEqual([]);
  await redis.client.del("model:lives", "model:deaths");
});

it("a log counts on though its running count passes 2^16, and keeps to its limit", async () => {
  const openStore = await TimedRedisStore.load(redis.client);
  const store = openStore("running", 1_790_000_000_123_456);
  const policy = policyOf({ name: "log", limit: 10_000, period: "1s", algorithm: "sliding-window-log" });
  const buckets = [{ key: "k", policy, report: undefined }];
  for (let second = 0; second < 40; second++) {
    const { served, buckets: readings } = await store.take({
      buckets,
      runs: [{ count: 9, charges: [{ bucket: 0, cost: 1999 }] }],
    });
    expect(served).toEqual([5]);
    expect(readings[0]).toMatchObject({ state: { used: second === 0 ? 9995 : 10_000 } });
    store.nowUs += 600_000;
    expect((await store.take({ buckets, runs: [{ count: 9, charges: [{ bucket: 0, cost: 5 }] }] })).served).toEqual([
      1,
    ]);
    store.nowUs += 400_000;
  }
  await redis.client.del("model:lives", "model:deaths");
});
