import { eventually } from "@spillway/testkit";
import { expect, it } from "vitest";
import { redisFixture } from "../support/redis-fixture.ts";
import { startHolders } from "./lease-holders.ts";

const redis = redisFixture();

/** 1 per ms; leases drain in 1 s and live for 2 s. */
const BURST = 2000;
const POLICY = { name: "thousand", limit: 1000, period: "1s", burst: BURST } as const;
const LEASE = { maxDrainMs: 1000 };
const LIFE_MS = 2000;
const [GONE, OTHER] = [0, 1];

it("C24 c: tokens of a killed process are usable again within two lives of its leases", {
  timeout: 60_000,
}, async () => {
  const holders = await startHolders(redis, 2, { policies: POLICY, lease: LEASE });
  const { held } = await holders.untilItHolds(GONE, 100);
  const killedMs = performance.now();
  holders.signal(GONE, "SIGKILL");
  expect(await holders.exited(GONE)).toBe("SIGKILL");
  // Until its leases are over, nobody has them.
  expect(await holders.remaining(OTHER)).toBeLessThanOrEqual(BURST - held);
  const refillMs = held;
  const all = await eventually(async () => (await holders.remaining(OTHER)) === BURST, {
    withinMs: 2 * LIFE_MS + refillMs,
  });
  process.stdout.write(
    `C24 c: ${held} tokens of a killed process were back after ${Math.round(performance.now() - killedMs)} ms\n`,
  );
  expect(all).toBe(true);
  expect((await holders.atOnce(OTHER, BURST)).allowed).toBe(BURST);
  const [key] = await redis.client.keys("*thousand*");
  expect(await redis.client.pttl(key as string)).toBeGreaterThan(0);
});

it("close() of an idle holder gives its tokens back at once", { timeout: 60_000 }, async () => {
  const holders = await startHolders(redis, 2, { policies: POLICY, lease: LEASE });
  const { held } = await holders.untilItHolds(GONE, 100);
  const before = await holders.remaining(OTHER);
  expect(before).toBeLessThanOrEqual(BURST - held);
  const startedMs = performance.now();
  const closed = await holders.close(GONE);
  const after = await holders.remaining(OTHER);
  const tookMs = performance.now() - startedMs;
  expect(closed.held).toBe(0);
  // Long before they would have come back by themselves.
  expect(tookMs).toBeLessThan(LIFE_MS / 2);
  expect(after).toBeGreaterThanOrEqual(Math.min(BURST, before + held));
});

it("an idle holder gives its tokens back by itself before they are too old", { timeout: 60_000 }, async () => {
  const holders = await startHolders(redis, 2, { policies: POLICY, lease: LEASE });
  const { held } = await holders.untilItHolds(GONE, 100);
  expect(held).toBeGreaterThanOrEqual(100);
  const report = await eventually(
    async () => {
      const now = await holders.now(GONE, 0);
      return now.held === 0 && now;
    },
    { withinMs: 3 * LIFE_MS },
  );
  expect(report.expired).toBe(0);
  await eventually(async () => (await holders.remaining(OTHER)) === BURST, { withinMs: 2 * LIFE_MS });
});
