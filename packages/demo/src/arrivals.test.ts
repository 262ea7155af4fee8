import { describe, expect, it } from "vitest";
import { poissonArrivals, seededRandom } from "./arrivals.ts";

describe("seededRandom", () => {
  it("repeats for one seed and differs for another", () => {
    const draw = (seed: number): number[] => Array.from({ length: 5 }, seededRandom(seed));
    expect(draw(7)).toEqual(draw(7));
    expect(draw(7)).not.toEqual(draw(8));
  });

  it("fills 0 to 1 evenly", () => {
    const random = seededRandom(1);
    const counts = new Array<number>(10).fill(0);
    for (let draws = 0; draws < 10_000; draws++) counts[Math.floor(random() * 10)]! += 1;
    for (const count of counts) expect(Math.abs(count - 1000)).toBeLessThan(120);
  });
});

describe("poissonArrivals", () => {
  it("gives the same schedule for the same seed", () => {
    expect(poissonArrivals(42, 400, 2)).toEqual(poissonArrivals(42, 400, 2));
    expect(poissonArrivals(42, 400, 2)).not.toEqual(poissonArrivals(43, 400, 2));
  });

  it("is in order, within the run, and of the rate asked for", () => {
    const arrivals = poissonArrivals(42, 400, 100);
    expect(arrivals.every((atMs, index) => atMs >= (arrivals[index - 1] ?? 0) && atMs < 100_000)).toBe(true);
    // 40,000 expected with a standard deviation of 200.
    expect(Math.abs(arrivals.length - 40_000)).toBeLessThan(800);
  });

  it("has exponential gaps: as variable as they are long", () => {
    const arrivals = poissonArrivals(3, 1000, 50);
    const gaps = arrivals.slice(1).map((atMs, index) => atMs - arrivals[index]!);
    const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
    const variance = gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length;
    expect(mean).toBeCloseTo(1, 1);
    expect(Math.sqrt(variance) / mean).toBeCloseTo(1, 1);
  });
});
