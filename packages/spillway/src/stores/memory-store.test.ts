import { describe, expect, it } from "vitest";
import { type Policy, type PolicyOptions, resolvePolicy } from "../policy.ts";
import { type ManualClock, manualClock } from "../testing/manual-clock.ts";
import { type MemoryStoreOptions, memoryStore } from "./memory-store.ts";
import type { BucketReading, LeaseReport, Store, TakeReply } from "./store.ts";

const policyOf = (options: Partial<PolicyOptions> = {}): Policy =>
  resolvePolicy({ name: "bucket", limit: 10, period: "1s", ...options } as PolicyOptions, "policy");
const BUCKET = policyOf();
const WINDOW = policyOf({ name: "window", limit: 5, period: "1m", algorithm: "fixed-window" });

function setup(options: MemoryStoreOptions = {}): { store: ReturnType<typeof memoryStore>; clock: ManualClock } {
  const clock = manualClock(1_790_000_000_123.456);
  return { store: memoryStore({ clock, ...options }), clock };
}

/** Asks once for `cost` of one bucket. */
const take = (store: Store, key: string, cost: number, policy: Policy = BUCKET): Promise<TakeReply> =>
  store.take({
    buckets: [{ key, policy, report: undefined }],
    runs: [{ count: 1, charges: [{ bucket: 0, cost }] }],
  });
const isServed = async (...call: Parameters<typeof take>): Promise<boolean> => (await take(...call)).served[0] === 1;
const levelOf = (reading: BucketReading | undefined): number | undefined =>
  reading?.kind === "state" && reading.state.kind === "token-bucket" ? reading.state.level : undefined;

describe("memoryStore", () => {
  it("tells the time as whole microseconds since 1970 and keeps them to the last digit (C01 b)", async () => {
    const { store, clock } = setup();
    expect((await take(store, "key", 1)).nowUs).toBe(1_790_000_000_123_456);
    let elapsedUs = 0;
    for (let us = 1001; us < 100_000; us += 7013) {
      clock.advance(us / 1000);
      elapsedUs += us;
      expect((await take(store, "key", 1)).nowUs).toBe(1_790_000_000_123_456 + elapsedUs);
    }
  });

  it("counts time that passed, not steps of the wall clock (C02)", async () => {
    const { store, clock } = setup();
    await take(store, "key", 10);
    clock.stepWall(86_400_000);
    expect(await isServed(store, "key", 1)).toBe(false);
    clock.stepWall(-3 * 86_400_000);
    clock.advance(100);
    expect([await isServed(store, "key", 1), await isServed(store, "key", 1)]).toEqual([true, false]);
  });

  it("keeps keys, names and ways of counting apart, and shares a bucket between policies of one name", async () => {
    const { store } = setup();
    expect(await isServed(store, "one", 10)).toBe(true);
    expect(await isServed(store, "two", 10)).toBe(true);
    expect(await isServed(store, "one", 10, policyOf({ name: "other" }))).toBe(true);
    expect(await isServed(store, "one", 5, policyOf({ name: "bucket", limit: 5, algorithm: "fixed-window" }))).toBe(
      true,
    );
    for (const algorithm of ["sliding-window-counter", "sliding-window-log"] as const)
      expect(await isServed(store, "one", 5, policyOf({ name: "bucket", limit: 5, algorithm }))).toBe(true);
    expect(await isServed(store, "one", 1, policyOf({ limit: 100 }))).toBe(false);
    expect(await isServed(store, "one", 1)).toBe(false);
  });

  it("keeps the buckets of a thousand names of policies, those that were used last", async () => {
    const { store } = setup();
    const named = (i: number): Policy => policyOf({ name: `name-${i}` });
    const hot = named(0);
    await take(store, "key", 10, hot);
    for (let i = 1; i < 2500; i++) {
      await take(store, "key", 10, named(i));
      expect(await isServed(store, "key", 1, hot)).toBe(false);
    }
    // Another object of the name is the same policy.
    expect(await isServed(store, "key", 1, named(0))).toBe(false);
    expect(await isServed(store, "key", 1, named(2400))).toBe(false);
    expect(await isServed(store, "key", 1, named(1))).toBe(true);
  });

  it("peeks without taking, making or keeping anything", async () => {
    const { store } = setup({ maxKeys: 1 });
    await take(store, "kept", 4);
    const addresses = ["kept", "unknown"].map((key) => ({ key, policy: BUCKET }));
    for (let i = 0; i < 3; i++) {
      const { buckets } = await store.peek(addresses);
      expect(buckets.map(levelOf)).toEqual([600_000, 1_000_000]);
    }
  });

  it("does not count a peek as use when it makes room", async () => {
    const { store } = setup({ maxKeys: 2 });
    for (const key of ["a", "b"]) await take(store, key, 10);
    await store.peek([{ key: "a", policy: BUCKET }]);
    await take(store, "c", 1);
    expect([await isServed(store, "a", 10), await isServed(store, "c", 10)]).toEqual([true, false]);
  });

  it("adjusts, and resets all but what is out on lease", async () => {
    const { store } = setup();
    await take(store, "key", 8);
    const adjusted = await store.adjust([
      { key: "key", policy: BUCKET, tokens: 3 },
      { key: "key", policy: WINDOW, tokens: -2 },
    ]);
    expect(levelOf(adjusted.buckets[0])).toBe(500_000);
    expect(adjusted.buckets[1]).toMatchObject({ state: { used: 2 } });
    const report: LeaseReport = { wish: 2, lifeUs: 1e6, demand: 1, weight: 1, settlements: [] };
    const leased = await store.take({ buckets: [{ key: "key", policy: BUCKET, report }], runs: [] });
    expect(leased.buckets[0]).toMatchObject({ lease: { tokens: 2 }, state: { level: 300_000 } });
    await store.reset([
      { key: "key", policy: BUCKET },
      { key: "key", policy: WINDOW },
    ]);
    const { buckets } = await store.peek([
      { key: "key", policy: BUCKET },
      { key: "key", policy: WINDOW },
    ]);
    expect(buckets).toMatchObject([{ state: { level: 800_000, newer: { tokens: 2 } } }, { state: { used: 0 } }]);
  });

  it("hands out copies from take, peek and adjust; takeNow decides alike at once", async () => {
    const { store } = setup();
    const address = { key: "key", policy: BUCKET };
    const held = [
      (await take(store, "key", 1)).buckets[0],
      (await store.peek([address])).buckets[0],
      (await store.adjust([{ ...address, tokens: -1 }])).buckets[0],
    ];
    const call = {
      buckets: [{ ...address, report: undefined }],
      runs: [{ count: 9, charges: [{ bucket: 0, cost: 1 }] }],
    };
    const reply = store.takeNow(call);
    expect([reply.served, levelOf(reply.buckets[0])]).toEqual([[8], 0]);
    expect(held.map(levelOf)).toEqual([900_000, 900_000, 800_000]);
  });

  it("tells of a log no more than its callers need, though it keeps it whole", async () => {
    const { store, clock } = setup();
    const log = policyOf({ name: "log", limit: 100, period: "1h", algorithm: "sliding-window-log" });
    for (let i = 0; i < 100; i++) {
      await take(store, "key", 1, log);
      clock.advance(1);
    }
    const refused = await take(store, "key", 5, log);
    expect(refused.buckets[0]).toMatchObject({ state: { used: 100, tokens: [1, 3, 1, 94, 1], gathered: [1, 3] } });
    const adjusted = await store.adjust([{ key: "key", policy: log, tokens: 1 }]);
    expect(adjusted.buckets[0]).toMatchObject({ state: { used: 99, tokens: [1, 97, 1], gathered: [1] } });
    const { state } = store.takeNow({ buckets: [{ key: "key", policy: log, report: undefined }], runs: [] })
      .buckets[0] as Extract<BucketReading, { kind: "state" }>;
    expect(state.kind === "sliding-window-log" && state.times.length).toBe(99);
  });

  it("keeps at most maxKeys buckets of a policy, those used last", async () => {
    const { store } = setup({ maxKeys: 2 });
    for (const key of ["a", "b", "a", "c"]) await take(store, key, 5);
    expect([await isServed(store, "a", 1), await isServed(store, "b", 6)]).toEqual([false, true]);
  });

  it("is empty after it is closed", async () => {
    const { store } = setup();
    await take(store, "key", 10);
    await store.close();
    await store.close();
    expect(await isServed(store, "key", 10)).toBe(true);
  });

  it.each<[string, RegExp, unknown]>([
    ["no object", /^Option options must be an object, got null\.$/, null],
    ["a misspelt name", /^Option options\.maxkeys must be one of maxKeys, clock, got "maxkeys"\.$/, { maxkeys: 5 }],
    ["0 keys", /^Option maxKeys must be a whole number from 1 to 10000000, got 0\.$/, { maxKeys: 0 }],
    ["NaN keys", /got NaN\.$/, { maxKeys: Number.NaN }],
    ["keys as text", /got "100"\.$/, { maxKeys: "100" }],
    ["too many keys", /got 10000001\.$/, { maxKeys: 10_000_001 }],
  ])("refuses %s", (_, message, options) => {
    expect(() => memoryStore(options as MemoryStoreOptions)).toThrow(
      expect.objectContaining({ code: "ERR_SPILLWAY_INVALID_OPTION", message: expect.stringMatching(message) }),
    );
  });
});
