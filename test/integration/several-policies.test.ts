import type { PolicyOptions } from "spillway";
import { describe, expect, it } from "vitest";
import type { Span } from "../chaos/admissions.ts";
import { mostInAnyWindow } from "../chaos/window-maximum.ts";
import { redisFixture } from "../support/redis-fixture.ts";
import { type Holders, startHolders } from "./lease-holders.ts";

const redis = redisFixture();
const PROCESSES = 4;
const FOR_MS = 1500;
/** What clocks of processes of one machine, and of Redis, may differ by. */
const CLOCK_MS = 2;

const FAST: PolicyOptions = { name: "fast", limit: 400, period: "1s", burst: 60 };
const WIDE: PolicyOptions = { name: "wide", limit: 250, period: "1s", burst: 150 };
const NARROW: PolicyOptions = { name: "narrow", limit: 300, period: "1s", burst: 40 };
const FIXED: PolicyOptions = {
  ...{ name: "fixed", limit: 90, period: 400, algorithm: "fixed-window" },
  windowStart: "aligned",
};
const COUNTER: PolicyOptions = { name: "counter", limit: 80, period: 300, algorithm: "sliding-window-counter" };
const LOG: PolicyOptions = { name: "log", limit: 70, period: 250, algorithm: "sliding-window-log" };

/** By half of it on both sides. */
function widened({ fromMs, toMs }: Span): Span {
  return { fromMs: fromMs - CLOCK_MS / 2, toMs: toMs + CLOCK_MS / 2 };
}

/** Most admissions in a window of the policy's own kind, and the most that may be; spans wholly inside a window count for it. */
function worst({ algorithm, limit, period, burst = limit }: PolicyOptions, all: readonly Span[]): [number, number] {
  const periodMs = period === "1s" ? 1000 : (period as number);
  switch (algorithm) {
    case "fixed-window": {
      const counts = new Map<number, number>();
      for (const { fromMs, toMs } of all) {
        const window = Math.floor((fromMs - CLOCK_MS) / periodMs);
        if (window === Math.floor((toMs + CLOCK_MS) / periodMs)) counts.set(window, (counts.get(window) ?? 0) + 1);
      }
      return [Math.max(...counts.values()), limit];
    }
    case "sliding-window-log": {
      const inside = (startMs: number): number =>
        all.filter(({ fromMs, toMs }) => fromMs >= startMs && toMs < startMs + periodMs - CLOCK_MS).length;
      return [Math.max(...all.map(({ fromMs }) => inside(fromMs))), limit];
    }
    case "sliding-window-counter":
      return [mostInAnyWindow(all.map(widened), limit / periodMs), limit];
    default:
      return [mostInAnyWindow(all.map(widened), limit / periodMs), burst];
  }
}

describe("several policies, four processes, random load: each policy's own bound holds in every window", {
  timeout: 120_000,
}, () => {
  /** A case after the other, on the same processes: to start them takes longer than the cases. */
  const CASES: readonly [string, boolean, readonly PolicyOptions[]][] = [
    ["two buckets, leased", true, [FAST, WIDE]],
    ["two buckets, exact", false, [FAST, WIDE]],
    ["three buckets, leased", true, [FAST, WIDE, NARROW]],
    ["three buckets, exact", false, [FAST, WIDE, NARROW]],
    ["a bucket and a fixed window, leased", true, [FAST, FIXED]],
    ["a fixed window and a counter, leased", true, [FIXED, COUNTER]],
    ["a bucket and a log, exact", false, [WIDE, LOG]],
    ["three windows, leases on", true, [FIXED, COUNTER, LOG]],
    ["three windows, exact", false, [FIXED, COUNTER, LOG]],
  ];

  it("for every set of policies, with leases and without", async () => {
    const holders = await startHolders(redis, PROCESSES, { policies: [FAST] });
    for (const one of CASES) await play(holders, ...one);
  });

  async function play(
    holders: Holders,
    name: string,
    leases: boolean,
    policies: readonly PolicyOptions[],
  ): Promise<void> {
    const options = { policies, lease: leases ? {} : (false as const) };
    const seed = Date.now() % 2 ** 31;
    const reports = await Promise.all(
      Array.from({ length: PROCESSES }, (_, i) =>
        holders.randomly(i, { options, key: name, seed: seed + i, first: 100, atOnce: 6, pauseMs: 12, forMs: FOR_MS }),
      ),
    );
    const admissions = reports.flatMap((report) => report.admissions);
    const refused = reports.reduce((sum, { sources, allowed }) => {
      return sum + Object.values(sources).reduce((all, count) => all + count, 0) - allowed;
    }, 0);
    expect(refused, `${name}: asked for more than there is`).toBeGreaterThan(0);
    expect(admissions.length, name).toBeGreaterThan(50);
    const isLeased = leases && policies.every(({ algorithm }) => algorithm !== "sliding-window-log");
    const fromLeases = reports.reduce((sum, { sources }) => sum + (sources.lease ?? 0), 0);
    if (isLeased) expect(fromLeases, `${name}: some of it leased`).toBeGreaterThan(0);
    else expect(fromLeases, name).toBe(0);
    for (const policy of policies) {
      const [most, bound] = worst(policy, admissions);
      expect(most, `${name}: ${policy.name}, seed ${seed}`).toBeLessThanOrEqual(bound + 1e-6);
    }
  }
});
