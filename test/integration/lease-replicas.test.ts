import { expect, it } from "vitest";
import { redisFixture } from "../support/redis-fixture.ts";
import { type HolderReport, startHolders } from "./lease-holders.ts";

const redis = redisFixture();

const total = (reports: readonly HolderReport[]): number => reports.reduce((sum, { allowed }) => sum + allowed, 0);

it("C25 a: two processes with leases ask 100 times each at once for 100 tokens: exactly 100 are admitted", {
  timeout: 60_000,
}, async () => {
  const policies = { name: "hundred", limit: 100, period: "30d" } as const;
  const holders = await startHolders(redis, 2, { policies, lease: {} });
  for (let round = 0; round < 20; round++) {
    const asked = [0, 1].map((index) => holders.atOnce(index, 100, `key-${round}`));
    expect(total(await Promise.all(asked)), `round ${round}`).toBe(100);
  }
});

it("C23 c: one busy process and two that took a lease and fell idle stay within 60 per minute, and the busy one gets its part", {
  timeout: 60_000,
}, async () => {
  const policies = { name: "sixty", limit: 60, period: "1m" } as const;
  const holders = await startHolders(redis, 3, { policies, lease: { maxDrainMs: 1000 } });
  const startedMs = performance.now();
  const reports = [await holders.untilItHolds(1, 3), await holders.untilItHolds(2, 3)];
  for (const { held } of reports) expect(held).toBeGreaterThanOrEqual(3);
  reports.push(await holders.steadily(0, 20, 4000));
  const seconds = (performance.now() - startedMs) / 1000;
  expect(total(reports)).toBeLessThanOrEqual(60 + seconds);
  expect(reports[2]?.allowed).toBeGreaterThanOrEqual(40);
  expect(reports[2]?.sources.lease).toBeGreaterThan(0);
  // The idle ones gave back what they held while the busy one was still asking.
  for (const index of [1, 2]) expect((await holders.now(index, 0)).held).toBe(0);
});

it.each(["fixed-window", "sliding-window-counter"] as const)(
  "C23 d: four processes share a %s of 60 with leases: exactly 60 are admitted",
  {
    timeout: 60_000,
  },
  async (algorithm) => {
    const policies = { name: "window", limit: 60, period: "1m", algorithm } as const;
    const holders = await startHolders(redis, 4, { policies, lease: {} });
    const reports = await Promise.all([0, 1, 2, 3].map((index) => holders.steadily(index, 10, 1000)));
    expect(total(reports)).toBe(60);
    for (const index of [0, 1, 2, 3]) expect((await holders.now(index, 0)).held).toBe(0);
  },
);

it("three processes use up window after window of 300 in a quarter of a second, mostly by leases, and never more", {
  timeout: 60_000,
}, async () => {
  const policies = {
    name: "window",
    limit: 300,
    period: 250,
    algorithm: "fixed-window",
    windowStart: "aligned",
  } as const;
  const holders = await startHolders(redis, 3, { policies, lease: {} });
  const startedMs = Date.now();
  const reports = await Promise.all([0, 1, 2].map((index) => holders.steadily(index, 1, 2500)));
  const windows = Math.floor(Date.now() / 250) - Math.floor(startedMs / 250) + 1;
  expect(total(reports)).toBeLessThanOrEqual(300 * windows);
  expect(total(reports)).toBeGreaterThan(3 * 300);
  const leased = reports.reduce((sum, { sources }) => sum + (sources.lease ?? 0), 0);
  expect(leased).toBeGreaterThan(total(reports) / 2);
});
