import { describe, expect, it } from "vitest";
import type { OutageFigures } from "./measure.ts";
import { judgeOutage } from "./outage-marks.ts";
import { figures } from "./test-support.ts";

const SHAPE = { limit: 70, periodMs: 1000, burst: 20 };
const JUDGING = { shape: SHAPE, workers: 4, offeredPerSecond: 400, seconds: 10, earlier: [] };

describe("a run with an outage", () => {
  const outage: OutageFigures = {
    fromSecond: 4,
    toSecond: 7,
    offered: 1200,
    admitted: 210,
    degraded: 1200,
    decisionP50Ms: 0,
    decisionP99Ms: 0,
    awayPerWorker: [],
  };
  const held = (admitted: number, change: Partial<OutageFigures> = {}) =>
    judgeOutage(figures({ admitted, outage: { ...outage, ...change } }), JUDGING).map((mark) => mark.held);

  it("may admit the bound, outage or not, and not one more", () => {
    expect(held(720)).toEqual([true, true, true, true]);
    expect(held(721)).toEqual([false, true, true, true]);
  });

  it("must say of most answers in the outage that they were decided without the store", () => {
    expect(held(720, { degraded: 960 })).toEqual([true, true, true, true]);
    expect(held(720, { degraded: 959 })).toEqual([true, false, true, true]);
  });

  it("must admit 80 % of what the limit allows, in the outage and over all", () => {
    expect(held(720, { admitted: 168 })).toEqual([true, true, true, true]);
    expect(held(720, { admitted: 167 })).toEqual([true, true, false, true]);
    expect(held(576)).toEqual([true, true, true, true]);
    expect(held(575)).toEqual([true, true, true, false]);
  });

  it("shows nothing when nobody could see the outage", () => {
    const [mark, ...more] = judgeOutage(figures(), JUDGING);
    expect([mark?.held, mark?.kind, more]).toEqual([false, "ceiling", []]);
  });
});
