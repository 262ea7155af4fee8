import { setTimeout as sleep } from "node:timers/promises";
import { commandCalls } from "@spillway/testkit";
import { expect, it } from "vitest";
import { redisFixture } from "../support/redis-fixture.ts";
import { startHolders } from "./lease-holders.ts";

const redis = redisFixture();

/** 10 per s; leases drain in 1 s, live for 2 s and are spent for 1.5 s. */
const POLICY = { name: "hundred", limit: 100, period: "10s", burst: 100 } as const;
const STOPPED_FOR_MS = 5000;
const [STOPPED, OTHER] = [0, 1];

it("C24 a: a process stopped with tokens in hand spends none of them when it goes on; the limit holds", {
  timeout: 60_000,
}, async () => {
  const holders = await startHolders(redis, 2, { policies: POLICY, lease: { maxDrainMs: 1000 } });
  const startedMs = performance.now();
  const before = await holders.untilItHolds(STOPPED, 10);
  expect(before.held).toBeGreaterThanOrEqual(10);
  holders.signal(STOPPED, "SIGSTOP");
  const others = [await holders.atOnce(OTHER, 200), await holders.steadily(OTHER, 20, STOPPED_FOR_MS)];
  // The other one says, by up to three beats, that its load has ended; they are not what is counted below.
  await sleep(1000);
  await redis.client.config("RESETSTAT");
  holders.signal(STOPPED, "SIGCONT");
  // In one turn of its event loop, before anything else can bring new tokens.
  const after = await holders.now(STOPPED, before.held);
  expect(after.sources.lease).toBeUndefined();
  expect(after.spent).toBe(before.spent);
  // Timers that were due meanwhile fire all at once: what they send is a settlement, and that the process is at work.
  await sleep(300);
  expect(await scriptCalls()).toBeLessThanOrEqual(4);
  others.push(await holders.steadily(OTHER, 20, 200), await holders.steadily(STOPPED, 20, 200));
  const seconds = (performance.now() - startedMs) / 1000;
  const admitted = [before, ...others].reduce((sum, { allowed }) => sum + allowed, 0);
  expect(admitted).toBeLessThanOrEqual(100 + 10 * seconds);
  // What the stopped process held was of use to the other one, once it was over.
  expect(admitted).toBeGreaterThan(100);
});

async function scriptCalls(): Promise<number> {
  const calls = await commandCalls(redis.client);
  return (calls.get("evalsha") ?? 0) + (calls.get("eval") ?? 0);
}

it("C24 a: a process stopped for less than a lease's life goes on spending", { timeout: 60_000 }, async () => {
  const holders = await startHolders(redis, 1, { policies: POLICY, lease: { maxDrainMs: 1000 } });
  const before = await holders.untilItHolds(STOPPED, 10);
  holders.signal(STOPPED, "SIGSTOP");
  await sleep(100);
  holders.signal(STOPPED, "SIGCONT");
  expect((await holders.now(STOPPED, 5)).sources).toEqual({ lease: 5 });
  expect(before.expired).toBe(0);
});
