import { describe, expect, it } from "vitest";
import { WorkEstimate } from "./work-estimate.ts";

describe("what work takes", () => {
  it("is a guess until the first measurement, and then no more", () => {
    const estimate = new WorkEstimate(50);
    expect(estimate.ms).toBe(50);
    estimate.record(8);
    expect(estimate.ms).toBe(8);
    estimate.record(16);
    expect(estimate.ms).toBe(9);
  });

  it("follows work that gets four times slower within some twenty measurements", () => {
    const estimate = new WorkEstimate(50);
    estimate.record(50);
    for (let i = 0; i < 20; i++) estimate.record(200);
    expect(estimate.ms).toBeGreaterThan(185);
  });

  it("learns from work that was given up only that it takes longer", () => {
    const estimate = new WorkEstimate(50);
    estimate.record(80);
    estimate.recordUnended(5);
    expect(estimate.ms).toBe(80);
    estimate.recordUnended(160);
    expect(estimate.ms).toBe(90);
  });

  it.each([0, -5, Number.NEGATIVE_INFINITY])("stays above 0 after work that took %s ms", (ms) => {
    const estimate = new WorkEstimate(50);
    estimate.record(ms);
    expect(estimate.ms).toBeGreaterThan(0);
  });
});
