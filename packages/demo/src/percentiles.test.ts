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
});
