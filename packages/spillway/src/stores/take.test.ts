import { describe, expect, it } from "vitest";
import { algorithmOf } from "../algorithms/bucket.ts";
import { escrowed, type TokenBucketState } from "../algorithms/token-bucket.ts";
import { type PolicyOptions, resolvePolicy } from "../policy.ts";
import type { AskRun, LeaseReport } from "./store.ts";
import { applyTake, decayed, holdUs, type OpenBucket, type TakeOutcome } from "./take.ts";

const NOW_US = 1_790_000_000_123_456;
const REPORT: LeaseReport = { wish: 0, lifeUs: 20_000, demand: 0, weight: 0, settlements: [] };

/** A bucket with `left` tokens. */
function bucket(left: number, options: Partial<PolicyOptions> = {}, report?: LeaseReport): OpenBucket {
  const { shape } = resolvePolicy(
    { name: "x", limit: 1000, period: "1s", burst: 20, ...options } as PolicyOptions,
    "x",
  );
  const state = algorithmOf(shape).open(shape, NOW_US);
  algorithmOf(shape).charge(state, shape, algorithmOf(shape).remaining(state, shape) - left);
  return { state, shape, report, quietUs: 0 };
}

const unreadable = (): OpenBucket => ({ ...bucket(20), state: undefined });
const window = (left: number): OpenBucket =>
  bucket(left, { limit: 20, burst: undefined, algorithm: "fixed-window" } as never);
const run = (count: number, ...costs: number[]): AskRun => ({
  count,
  charges: costs.map((cost, index) => ({ bucket: index, cost })),
});
const left = ({ state, shape }: OpenBucket): number => algorithmOf(shape).remaining(state as TokenBucketState, shape);
const take = (buckets: OpenBucket[], ...runs: AskRun[]): TakeOutcome => applyTake(buckets, runs, NOW_US);

describe("asks", () => {
  it("are served in order, each whole: the first ones of a run, then what still fits of the next", () => {
    const one = bucket(10);
    expect(take([one], run(3, 4), run(5, 1), run(1, 0)).served).toEqual([2, 2, 1]);
    expect(left(one)).toBe(0);
  });

  it("take from all their buckets or from none (C25)", () => {
    const user = bucket(1);
    const shared = window(10);
    expect(take([user, shared], run(20, 1, 1)).served).toEqual([1]);
    expect([left(user), left(shared)]).toEqual([0, 9]);
    expect(take([user, shared], { count: 1, charges: [{ bucket: 1, cost: 1 }] }).served).toEqual([1]);
    expect(left(shared)).toBe(8);
  });

  it("on a bucket that cannot be read are refused and take nothing elsewhere; others of the call are served", () => {
    const good = bucket(10);
    const outcome = take([unreadable(), good], run(1, 1, 1), { count: 2, charges: [{ bucket: 1, cost: 3 }] });
    expect(outcome.served).toEqual([0, 2]);
    expect(left(good)).toBe(4);
  });

  it("of cost 0 pass even in debt, and change nothing", () => {
    const indebted = bucket(-5);
    expect(take([indebted], run(3, 0)).served).toEqual([3]);
    expect((indebted.state as TokenBucketState).level).toBe(-5000);
  });
});

describe("a lease report", () => {
  it("is settled before asks are served, so that what goes back can be taken", () => {
    const lent = bucket(20, {}, { ...REPORT, wish: 8, demand: 100, weight: 100 });
    const lease = take([lent]).leases[0];
    expect(lease).toEqual({ id: NOW_US, tokens: 8, contended: false });
    const report = { ...REPORT, settlements: [{ id: NOW_US, settled: 8, returned: 5 }] };
    const settled = { ...lent, report };
    expect(take([settled], run(1, 17)).served).toEqual([1]);
    expect([left(settled), escrowed(settled.state as TokenBucketState)]).toEqual([0, 0]);
  });

  it("gets at most what it wishes for and half of its share of the level, and an answer even if it wishes nothing", () => {
    const leaseOf = (report: Partial<LeaseReport>, level = 20): unknown =>
      take([bucket(level, { burst: 1000 }, { ...REPORT, ...report })]).leases[0];
    expect(leaseOf({ wish: 5 })).toEqual({ id: NOW_US, tokens: 5, contended: false });
    expect(leaseOf({ wish: 500 }, 1000)).toEqual({ id: NOW_US, tokens: 500, contended: false });
    expect(leaseOf({ wish: 501 }, 1000)).toEqual({ id: NOW_US, tokens: 500, contended: false });
    expect(leaseOf({ wish: 501, demand: 10, weight: 5 }, 1000)).toEqual({ id: NOW_US, tokens: 250, contended: false });
    expect(leaseOf({ wish: 0 })).toEqual({ id: 0, tokens: 0, contended: false });
  });

  it("gets nothing from a bucket where an ask was refused, nor from a debt, nor from one that cannot be read", () => {
    const report = { ...REPORT, wish: 5 };
    expect(take([bucket(10, {}, report)], run(1, 11)).leases[0]).toMatchObject({ tokens: 0, id: 0 });
    expect(take([bucket(-5, {}, report)]).leases[0]).toMatchObject({ tokens: 0, id: 0 });
    expect(take([{ ...unreadable(), report }]).leases).toEqual([undefined]);
  });

  it("of a window gets a quarter of what is left at most, and no answer from a log", () => {
    const report = { ...REPORT, wish: 5 };
    expect(take([{ ...window(10), report }]).leases).toEqual([{ id: NOW_US, tokens: 2, contended: false }]);
    expect(take([{ ...window(20), report }]).leases).toEqual([{ id: NOW_US, tokens: 5, contended: false }]);
    expect(take([{ ...window(20), report }], run(1, 21)).leases).toEqual([{ id: 0, tokens: 0, contended: false }]);
    const log = bucket(9, { limit: 20, burst: undefined, algorithm: "sliding-window-log" } as never, report);
    expect(take([log]).leases).toEqual([undefined]);
  });

  it("keeps its call to twice its share of a contended bucket, but for a first ask that fits", () => {
    const report = { ...REPORT, wish: 5, demand: 100, weight: 25 };
    const contended = bucket(8, {}, report);
    expect(take([contended], run(8, 1))).toEqual({
      served: [4],
      leases: [{ id: 0, tokens: 0, contended: true }],
    });
    const large = bucket(8, {}, report);
    expect(take([large], run(1, 7), run(1, 1)).served).toEqual([1, 0]);
    expect(take([bucket(8, {}, report)], run(1, 1), run(1, 4)).served).toEqual([1, 0]);
  });

  it("serves a first ask that fits on each bucket of the call, whoever else travels in it", () => {
    const report = { ...REPORT, demand: 100, weight: 1 };
    const only = (index: number, cost: number): AskRun => ({ count: 2, charges: [{ bucket: index, cost }] });
    const buckets = [bucket(8, {}, report), bucket(8, {}, report), bucket(8)];
    expect(take(buckets, only(0, 0), only(0, 3), only(1, 5), only(2, 4)).served).toEqual([2, 1, 1, 2]);
    expect(buckets.map(left)).toEqual([5, 3, 0]);
  });
});

describe("the arithmetic of demand", () => {
  it("decays to about 1/e in its time, and never to 0", () => {
    expect(decayed(100, 0, 1000)).toBe(100);
    expect(decayed(100, 1000, 1000)).toBeCloseTo(40.96, 10);
    expect(decayed(100, 1e12, 1000)).toBeGreaterThan(0);
  });

  it("holds off for a quarter of the lease's life, and of the time to full at most", () => {
    const shape = bucket(0).shape as Parameters<typeof holdUs>[0];
    expect([holdUs(shape, 4000), holdUs(shape, 1e9)]).toEqual([1000, 5000]);
  });
});
