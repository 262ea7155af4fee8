import fc from "fast-check";
import { expect, it } from "vitest";
import type { PolicyOptions } from "../policy.ts";
import { BackstopProcess } from "../testing/degrading/test-support.ts";
import { distantLimiter, loseStore, passTime } from "../testing/test-support.ts";
import { SpareBuckets } from "./spare-buckets.ts";

const LIMITS: readonly PolicyOptions[] = [
  { name: "bucket", limit: 100, period: "1s", burst: 20 },
  { name: "slow", limit: 3, period: "1m", burst: 5 },
  { name: "hours", limit: 20, period: "1h" },
  { name: "fixed", limit: 8, period: "40s", algorithm: "fixed-window" },
  { name: "counter", limit: 8, period: "100s", algorithm: "sliding-window-counter" },
  { name: "log", limit: 8, period: "150s", algorithm: "sliding-window-log" },
];

interface Ask {
  readonly afterUs: number;
  readonly cost: number;
}

/** @returns when the last of them asked. */
function replay(process: BackstopProcess, asks: readonly Ask[]): number {
  let us = 1_000_000;
  process.ask(us, 0);
  for (const { afterUs, cost } of asks) {
    us += afterUs;
    process.ask(us, cost);
  }
  return us;
}

it("a bucket that is spare has as much as one that is opened anew, and the store need not be told of it", () => {
  let spare = 0;
  const ask = fc.record({ afterUs: fc.nat(20_000_000), cost: fc.integer({ min: 1, max: 4 }) });
  const shares = fc.constantFrom(1, 0.5, 0.3, 0.05);
  fc.assert(
    fc.property(fc.constantFrom(...LIMITS), shares, fc.array(ask), fc.nat(8_000_000), (policy, share, asks, idleMs) => {
      const process = new BackstopProcess(policy, share);
      let us = replay(process, asks);
      const start = { decidedMs: us / 1000 };
      us += idleMs * 1000;
      const [bucket] = process.buckets(us);
      if (bucket === undefined || !new SpareBuckets().isSpare(bucket, share, us)) return;
      spare++;
      const anew = new BackstopProcess(policy, share, "backstop", start);
      expect(anew.drain([us])).toBe(process.drain([us]));
      // The store may have been back for five seconds: what has come in since then has not gone to waste. A window that is over
      // owes nothing.
      const told = new BackstopProcess(policy, share);
      replay(told, asks);
      expect(told.owed(policy.algorithm === undefined ? us - 5_000_000 : us)).toEqual([0]);
    }),
    { numRuns: 3000 },
  );
  expect(spare).toBeGreaterThan(200);
});

it("C10 b: five idle minutes after very many keys while the store is away, nothing is kept of them", async () => {
  const setup = distantLimiter({ policies: { name: "bucket", limit: 60, period: "1m", burst: 5 }, maxKeys: 2000 });
  const { limiter } = setup;
  await loseStore(setup);
  for (let i = 0; i < 5000; i++)
    expect(limiter.consumeNow(`key-${i}`)).toMatchObject({ allowed: true, degraded: true });
  expect(limiter.stats().keys).toBe(2000);
  for (let ms = 0; ms < 90_000; ms += 500) await passTime(setup, 500);
  expect(limiter.stats().keys).toBeLessThanOrEqual(2000);
  for (let ms = 0; ms < 210_000; ms += 500) await passTime(setup, 500);
  // But for those who waited for the store when it went away.
  expect(limiter.stats().keys).toBeLessThanOrEqual(3);
  // A key among them starts as one that was never seen, and one that is in use goes on.
  const admitted = (): boolean[] => Array.from({ length: 7 }, () => limiter.consumeNow("key-4999")?.allowed === true);
  expect(admitted()).toEqual([true, true, true, true, true, false, false]);
  for (let ms = 0; ms < 1000; ms += 500) await passTime(setup, 500);
  expect(admitted().filter(Boolean)).toHaveLength(1);
  await limiter.close();
});

it("what the store must be told of is kept, however long nobody asks for it", async () => {
  const setup = distantLimiter({ policies: { name: "daily", limit: 6, period: "1d" }, maxKeys: 100 });
  const { limiter, store } = setup;
  await loseStore(setup);
  for (let i = 0; i < 6; i++) limiter.consumeNow("key");
  for (let ms = 0; ms < 300_000; ms += 500) await passTime(setup, 500);
  expect(limiter.consumeNow("key")).toMatchObject({ allowed: false, degraded: true });
  store.holds = false;
  for (const held of store.held.splice(0)) held.answer();
  for (let ms = 0; ms < 5000; ms += 50) await passTime(setup, 50);
  expect((await limiter.peek("key")).policies[0]?.remaining).toBe(0);
  await limiter.close();
});
