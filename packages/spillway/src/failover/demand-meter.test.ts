import { describe, expect, it } from "vitest";
import { DemandMeter } from "./demand-meter.ts";

/** A meter that is read each quarter of a second, while so much is asked for. */
function readAt(perSecond: number, seconds: number, meter = new DemandMeter(0, 0), from = { count: 0, ms: 0 }) {
  for (let ms = from.ms + 250; ms <= from.ms + 1000 * seconds; ms += 250)
    meter.read(from.count + ((ms - from.ms) / 1000) * perSecond, ms);
  return { meter, at: { count: from.count + seconds * perSecond, ms: from.ms + 1000 * seconds } };
}

describe("the demand", () => {
  it("is an average over the last few seconds, and over a shorter time where a change must be noticed", () => {
    const { meter, at } = readAt(400, 2);
    expect([meter.perSecond, meter.latePerSecond]).toEqual([expect.closeTo(400, 6), expect.closeTo(400, 6)]);
    readAt(800, 2, meter, at);
    const later = (seconds: number): number => (1 - Math.exp(-2 / seconds)) / (1 - Math.exp(-4 / seconds));
    expect(meter.perSecond).toBeCloseTo(400 + 400 * later(5), 6);
    expect(meter.latePerSecond).toBeCloseTo(400 + 400 * later(0.5), 6);
  });

  it("is that of the time since work began again, soon after it did", () => {
    const { meter, at } = readAt(400, 2);
    meter.read(at.count, at.ms + 200);
    meter.forgetAll();
    meter.read(at.count + 1, at.ms + 3000);
    expect(meter.perSecond).toBe(0);
    meter.read(at.count + 101, at.ms + 3100);
    expect([meter.perSecond, meter.latePerSecond]).toEqual([expect.closeTo(1000, 6), expect.closeTo(1000, 6)]);
  });

  it("is the same however often it is read", () => {
    const meter = new DemandMeter(0, 0);
    meter.read(800, 2000);
    expect(meter.perSecond).toBeCloseTo(readAt(400, 2).meter.perSecond, 9);
  });

  it("forgets what was long ago when told that it has moved", () => {
    const { meter } = readAt(400, 1);
    meter.forgetPast();
    expect(meter.perSecond).toBe(meter.latePerSecond);
    meter.read(100_000, 2000);
    expect(meter.perSecond).toBeGreaterThan(50_000);
    meter.forgetAll();
    expect([meter.perSecond, meter.latePerSecond, meter.quietInMs]).toEqual([0, 0, 0]);
  });

  it("counts no decisions of a counter that came or went", () => {
    const meter = new DemandMeter(100, 0);
    meter.shift(1_000_000);
    meter.read(1_000_100, 1000);
    expect(meter.perSecond).toBe(0);
    meter.shift(-1_000_000);
    meter.read(100, 2000);
    expect([meter.perSecond, meter.quietInMs]).toEqual([0, 3000]);
  });

  it("moves by chance where there are few requests, and not where there are many more or many fewer", () => {
    const likely = (of: number, than: number): boolean => readAt(of, 10).meter.isLikely(than);
    expect([likely(1, 4), likely(4, 1), likely(10, 20), likely(1000, 1080)]).toEqual([true, true, true, true]);
    expect([likely(100, 1), likely(1, 100), likely(1000, 600), likely(600, 1000)]).toEqual([
      false,
      false,
      false,
      false,
    ]);
  });

  it("is not read twice at one time", () => {
    const { meter, at } = readAt(400, 2);
    const before = meter.perSecond;
    meter.read(at.count + 1000, at.ms);
    expect(meter.perSecond).toBe(before);
  });
});

describe("the work is over", () => {
  const quietAfter = (perSecond: number): number => {
    const { meter, at } = readAt(perSecond, 60);
    let ms = at.ms;
    while (meter.quietInMs > 0 && ms < at.ms + 20_000) {
      ms += 10;
      meter.read(at.count, ms);
    }
    return ms - at.ms;
  };

  it("after a silence of twenty requests, from a tenth of a second to five", () => {
    expect(quietAfter(1000)).toBe(100);
    expect(quietAfter(10)).toBeCloseTo(2000, -2);
    expect(quietAfter(1)).toBe(5000);
  });

  it("later where it soon begins again, and sooner once more where it does not", () => {
    const { meter, at } = readAt(100_000, 10);
    const after = (quietMs: number): number => {
      meter.read(at.count, at.ms + 100);
      meter.forgetAll();
      for (const ms of [quietMs, quietMs + 100]) {
        at.count += 100_000;
        at.ms += ms;
        meter.read(at.count, at.ms);
      }
      return meter.quietInMs;
    };
    expect([500, 500, 500, 500].map(after)).toEqual([200, 400, 800, 800]);
    expect([900, 900, 900, 900].map(after)).toEqual([400, 200, 100, 100]);
  });

  it("not while there is any", () => {
    const { meter } = readAt(4, 30);
    expect(meter.quietInMs).toBeGreaterThan(4000);
  });
});
