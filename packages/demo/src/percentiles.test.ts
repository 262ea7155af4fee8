import { describe, expect, it } from "vitest";
import { DurationHistogram } from "./percentiles.ts";

describe("DurationHistogram", () => {
  it("gives percentiles to three digits, in ms", () => {
    const histogram = new DurationHistogram();
    for (let hundredths = 1; hundredths <= 1000; hundredths++) histogram.recordMs(hundredths / 100);
    const { p50Ms, p99Ms, maxMs } = histogram.percentiles();
    expect(p50Ms).toBeCloseTo(5, 1);
    expect(p99Ms).toBeCloseTo(9.9, 1);
    expect(maxMs).toBeCloseTo(10, 1);
  });

  it("is all 0 when nothing was recorded", () => {
    expect(new DurationHistogram().percentiles()).toEqual({ p50Ms: 0, p99Ms: 0, maxMs: 0 });
  });

  it("adds up what other processes recorded", () => {
    const [one, other, sum] = [new DurationHistogram(), new DurationHistogram(), new DurationHistogram()];
    one.recordMs(1);
    other.recordMs(3);
    sum.add(one.encode());
    sum.add(other.encode());
    sum.add(new DurationHistogram().encode());
    expect(sum.count).toBe(2);
    expect(sum.percentiles().p50Ms).toBeCloseTo(1, 2);
    expect(sum.percentiles().maxMs).toBeCloseTo(3, 2);
  });
});
