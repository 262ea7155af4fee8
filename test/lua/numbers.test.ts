import type { Redis } from "ioredis";
import { beforeAll, describe, expect, it } from "vitest";
import { algorithmOf, type BucketShape, type BucketState } from "../../packages/spillway/src/algorithms/bucket.ts";
import type { Policy } from "../../packages/spillway/src/policy.ts";
import { decodeTake } from "../../packages/spillway/src/stores/redis/reply-decoding.ts";
import { take } from "../../packages/spillway/src/stores/redis/scripts/generated.ts";
import { encodeTake } from "../../packages/spillway/src/stores/redis/take-encoding.ts";
import type { TakeReply } from "../../packages/spillway/src/stores/store.ts";
import { stateOf } from "../../packages/spillway/src/testing/contract/contract-case.ts";
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

/** 10,000 a second, in the smallest portions that each way of counting has. */
const TEN_THOUSAND = [
  policyOf({ name: "tokens", limit: 10_000, period: "1s", burst: 1 }),
  policyOf({ name: "window", limit: 10, period: 1, algorithm: "fixed-window" }),
  policyOf({ name: "aligned", limit: 10, period: 1, algorithm: "fixed-window", windowStart: "aligned" }),
  policyOf({ name: "counter", limit: 10, period: 1, algorithm: "sliding-window-counter" }),
  policyOf({ name: "log", limit: 10, period: 1, algorithm: "sliding-window-log" }),
];
const REFILL_US = 100;

describe("C01 a: 10,000 per second, under a flood of calls, is admitted to the token", () => {
  it.each(TEN_THOUSAND)("$name", { timeout: 60_000 }, async (policy) => {
    const seconds = policy.name === "tokens" ? 2 : 0.5;
    const call = {
      buckets: [{ key: "k", policy, report: undefined }],
      runs: [{ count: 1, charges: [{ bucket: 0, cost: 1 }] }],
    };
    const name = keyOf(policy);
    const command = ["EVALSHA", take.sha1, "1", name, ...encodeTake(call)];
    const looking = lookAt(redis.connect(), name);
    const raw = await flood({ port: redis.server.port, command, durationMs: seconds * 1000 + 200 });
    const numbers = await looking.stop();

    const replies = raw.map((reply) => decodeTake(reply, call, [name]));
    const untilUs = (replies[0]?.nowUs ?? 0) + seconds * 1e6;
    const within = replies.filter(({ nowUs }) => nowUs < untilUs);
    const taken = within.filter(({ served }) => served[0] === 1).map(({ nowUs }) => nowUs);
    const { disagreements, lostTokens } = replay(policy, within);
    process.stdout.write(
      `C01 a: ${policy.name}: ${within.length} asks in ${seconds} s, ${taken.length} admitted, ${lostTokens} lost to pauses\n`,
    );
    expect(disagreements).toEqual([]);
    // Thousands of calls were waiting all the time; how many the server got through is this machine's affair.
    expect(within.length).toBeGreaterThan(2500 * seconds);
    // 20,001 in two seconds; fewer where the server was not given the processor for the last of them.
    const due = 1 + ((within.at(-1)?.nowUs ?? 0) - (within[0]?.nowUs ?? 0)) / REFILL_US;
    expect(due).toBeGreaterThan(7500 * seconds);
    // A window that began with its first request may be cut short by the end of the run.
    expect(taken.length).toBeLessThanOrEqual(due + (policy.name === "tokens" ? 0 : 10));
    // With burst 1, whatever comes in while the server is not given the processor cannot be saved up.
    if (policy.name === "tokens") expect(taken.length + lostTokens).toBeGreaterThanOrEqual(0.995 * due);
    else expect(taken.length).toBeLessThan(within.length);
    if (policy.name === "log")
      for (const [i, us] of taken.entries()) expect((taken[i + 10] ?? Infinity) - us).toBeGreaterThanOrEqual(1000);

    expect(numbers.length).toBeGreaterThan(10);
    const isOdd = (number: number): boolean => !Number.isSafeInteger(number) || String(number).includes("e");
    expect([...numbers, ...raw.flat()].filter(isOdd)).toEqual([]);
  });
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

/** The integer model, fed the same times: replies that it would not give, and tokens that found a bucket full. */
function replay({ shape }: Policy, replies: readonly TakeReply[]): { disagreements: unknown[]; lostTokens: number } {
  const algorithm = algorithmOf(shape);
  const state = algorithm.open(shape, replies[0]?.nowUs ?? 0);
  const disagreements: unknown[] = [];
  let lostUnits = 0;
  for (const { nowUs, served, buckets } of replies) {
    const uncapped = state.kind === "token-bucket" ? unitsAt(state, shape, nowUs) : 0;
    algorithm.advance(state, shape, nowUs);
    if (state.kind === "token-bucket") lostUnits += uncapped - state.level;
    const fits = algorithm.fits(state, shape, 1);
    if (fits) algorithm.charge(state, shape, 1);
    const told = stateOf(buckets[0]);
    const agrees = Number(fits) === served[0] && countsOf(told).join() === countsOf(state).join();
    if (!agrees && disagreements.length < 3) disagreements.push({ nowUs, served, told, state: { ...state } });
  }
  const unitsPerToken = shape.kind === "token-bucket" ? shape.unitsPerToken : 1;
  return { disagreements, lostTokens: Math.floor(lostUnits / unitsPerToken) };
}

function unitsAt(state: { level: number; timeUs: number }, shape: BucketShape, nowUs: number): number {
  return state.level + (nowUs - state.timeUs) * (shape.kind === "token-bucket" ? shape.unitsPerTick : 0);
}

/** What a state counts, and since when. Of a log a reply tells only the entries that somebody waits for. */
function countsOf(state: BucketState): readonly number[] {
  switch (state.kind) {
    case "token-bucket":
      return [state.level, state.timeUs];
    case "fixed-window":
      return [state.startUs, state.used];
    case "sliding-window-counter":
      return [state.startUs, state.previous, state.current];
    case "sliding-window-log":
      return [state.used];
  }
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
