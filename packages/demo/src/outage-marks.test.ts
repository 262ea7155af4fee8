import { describe, expect, it } from "vitest";
import type { OutageFigures } from "./measure.ts";
import { outageExcess } from "./outage-excess.ts";
import { judgeOutage } from "./outage-marks.ts";
import { figures } from "./test-support.ts";

const SHAPE = { limit: 70, periodMs: 1000, burst: 20 };
const JUDGING = { shape: SHAPE, workers: 4, offeredPerSecond: 400, seconds: 10, earlier: [] };
const away = (fromMs: number, toMs: number) => ({ fromMs, toMs });

describe("the excess that an outage allows", () => {
  it("is a share of the burst for each worker, and what the store saves up, when all leave and return together", () => {
    const together = [away(4000, 7000), away(4000, 7000), away(4000, 7000), away(4000, 7000)];
    expect(outageExcess(together, SHAPE)).toEqual({ shares: 20, savedUp: 20, apart: 0 });
  });

  it("lets each worker begin with one token, however small its share", () => {
    const many = Array.from({ length: 40 }, () => away(4000, 7000));
    expect(outageExcess(many, SHAPE).shares).toBe(40);
  });

  it("saves up no more than the time allows", () => {
    expect(outageExcess([away(4000, 4100), away(4000, 4100)], SHAPE).savedUp).toBeCloseTo(7);
  });

  it("adds the shares of workers that were away longer than all of them were", () => {
    const apart = [away(4000, 7000), away(4100, 7000), away(4000, 8000), away(4000, 7000)];
    // Together from 4100 to 7000: three leave 100 ms earlier, one comes back a second later.
    expect(outageExcess(apart, SHAPE).apart).toBeCloseTo((70 / 4) * (0.1 + 0.1 + 1.1), 6);
  });

  it("is all apart when one worker never left", () => {
    const { savedUp, apart } = outageExcess([away(4000, 7000), null], SHAPE);
    expect(savedUp).toBe(0);
    expect(apart).toBeCloseTo(105);
  });
});

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
    excess: { shares: 20, savedUp: 20, apart: 7.5 },
  };
  const held = (admitted: number, change: Partial<OutageFigures> = {}) =>
    judgeOutage(figures({ admitted, outage: { ...outage, ...change } }), JUDGING).map((mark) => mark.held);

  it("may admit the bound and what the outage allows, and not one more", () => {
    expect(held(767)).toEqual([true, true, true, true]);
    expect(held(768)).toEqual([false, true, true, true]);
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
