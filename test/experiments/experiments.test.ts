import { describe, expect, it } from "vitest";
import { bucketRows } from "../../bench/experiments/bucket-bound.ts";
import { variants } from "../../bench/experiments/collapse.ts";
import type { Experiment, Lab, LabMark } from "../../bench/experiments/experiment.ts";
import { leakyLine } from "../../bench/experiments/leaky-line.ts";
import { lastInTime } from "../../bench/experiments/load/admissions.ts";
import { arrivalsOf } from "../../bench/experiments/load/arrivals.ts";
import { LoadTally, percentile } from "../../bench/experiments/load/load-tally.ts";
import { soak } from "../../bench/experiments/load/soak.ts";
import { queue } from "../../bench/experiments/queue.ts";
import { modelRows } from "../../bench/experiments/shedding.ts";
import { slowdown } from "../../bench/experiments/slowdown.ts";
import { sweepInVirtualTime } from "../../bench/experiments/sweep.ts";
import { traps } from "../../bench/experiments/traps.ts";
import { waitSweep } from "../../bench/experiments/wait-sweep.ts";

const quick: Lab = { quick: true, rounds: 1, seed: 1, say: () => {} };

describe("experiments on a virtual clock", () => {
  const experiments: readonly Experiment[] = [queue, slowdown, waitSweep, leakyLine, traps];
  it.each(experiments.map((one) => [one.name, one] as const))("%s meets its marks", async (_name, experiment) => {
    const { marks, tables } = await experiment.run(quick);
    expect(marks.filter(({ met }) => !met).map(({ text }) => text)).toEqual([]);
    expect(marks.length).toBeGreaterThan(2);
    for (const { columns, rows } of tables) for (const row of rows) expect(row).toHaveLength(columns.length);
  });
});

describe("the part without servers of experiments on this machine", () => {
  it.each<[string, () => Promise<readonly LabMark[]>]>([
    ["collapse", async () => (await variants(quick, 4)).marks],
    ["shedding", async () => (await modelRows()).marks],
    ["shedding behind a bucket", async () => (await bucketRows()).marks],
    ["sweep", sweepInVirtualTime],
  ])("%s meets its marks", async (_name, run) => {
    const marks = await run();
    expect(marks.filter(({ met }) => !met).map(({ text }) => text)).toEqual([]);
    expect(marks.length).toBeGreaterThan(2);
  });
});

it("ten thousand callers of every kind leave no slot and no place", async () => {
  const { active, waiting, admitted, shed } = await soak(10_000, 1, () => {});
  expect([active, waiting]).toEqual([0, 0]);
  expect(admitted).toBeGreaterThan(1000);
  expect(shed).toBeGreaterThan(1000);
});

it.each([
  [80, Number.POSITIVE_INFINITY],
  [120, 216],
  [160, 144],
  [240, 112],
])("of %s a second the model says that %s are answered in time", (perSecond, expected) => {
  expect(lastInTime(perSecond)).toBe(expected);
});

describe("arrivals", () => {
  it("are evenly spread over each phase, at times that are set beforehand", () => {
    const phases = [
      { name: "slow", perSecond: 2, seconds: 1.5 },
      { name: "fast", perSecond: 4, seconds: 0.5 },
    ];
    const { dueMs, phaseOf, endMs } = arrivalsOf(phases);
    expect([...dueMs]).toEqual([0, 500, 1000, 1500, 1750]);
    expect([...phaseOf]).toEqual([0, 0, 0, 1, 1]);
    expect(endMs).toBe(2000);
  });

  it("come at random by a seed, at about the rate, and the same each time", () => {
    const phase = { name: "random", perSecond: 100, seconds: 50 };
    const { dueMs } = arrivalsOf([phase], 3);
    expect(Math.abs(dueMs.length - 5000)).toBeLessThan(300);
    expect(dueMs.every((ms, i) => ms < 50_000 && ms >= (dueMs[i - 1] ?? 0))).toBe(true);
    expect([...arrivalsOf([phase], 3).dueMs]).toEqual([...dueMs]);
    expect(arrivalsOf([phase], 4).dueMs[0]).not.toBe(dueMs[0]);
  });
});

describe("what becomes of requests", () => {
  it("is counted by phase, and by when they were due and when they were answered", () => {
    const tally = new LoadTally([
      { name: "first", perSecond: 1, seconds: 1 },
      { name: "second", perSecond: 1, seconds: 1 },
    ]);
    tally.offer(0, 100, 101);
    tally.end(0, "served", 100, 600);
    tally.offer(1, 1000, 1000);
    tally.end(1, "shed", 1000, 1010);
    tally.offer(1, 1100, 1102);
    tally.end(1, "late", 1100, 2300);
    const [first, second] = tally.phases();
    expect(first).toMatchObject({ name: "first", offered: 1, served: 1, shed: 0 });
    expect(second).toMatchObject({ name: "second", offered: 2, served: 0, shed: 1, late: 1 });
    expect([...(first?.servedMs ?? [])]).toEqual([500]);
    expect(tally.bins[0]).toMatchObject({ offered: 1, servedOfThese: 1, servedNow: 0 });
    expect(tally.bins[2]).toMatchObject({ servedOfThese: 0, servedNow: 1 });
    expect([...tally.lateSendsMs()]).toEqual([0, 1, 2]);
  });

  it("has percentiles, and none of nothing", () => {
    expect(percentile([1, 2, 3, 4], 0.5)).toBe(3);
    expect(percentile([1, 2, 3, 4], 1)).toBe(4);
    expect(percentile([], 0.5)).toBeNaN();
  });
});
