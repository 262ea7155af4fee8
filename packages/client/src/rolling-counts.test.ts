import fc from "fast-check";
import { expect, it } from "vitest";
import { RollingCounts } from "./rolling-counts.ts";

it("counts what is in the window, and forgets what has left it", () => {
  const counts = new RollingCounts(1000);
  counts.add(0, true);
  counts.add(450, false);
  expect([counts.all(899), counts.apart(899)]).toEqual([2, 1]);
  expect([counts.all(1000), counts.apart(1000)]).toEqual([1, 0]);
  expect([counts.all(9999), counts.apart(9999)]).toEqual([0, 0]);
});

it("survives a clock that starts anywhere and goes back", () => {
  const counts = new RollingCounts(1000);
  counts.add(5_000_000.5, true);
  counts.add(4_000_000, true);
  expect(counts.all(5_000_001)).toBe(2);
});

it("counts all of the last nine tenths of the window, and nothing older than the window", () => {
  const gaps = fc.array(fc.nat(400), { minLength: 1, maxLength: 60 });
  fc.assert(
    fc.property(gaps, (all) => {
      const counts = new RollingCounts(1000);
      const times: number[] = [];
      let nowMs = 0;
      for (const gapMs of all) {
        nowMs += gapMs;
        times.push(nowMs);
        counts.add(nowMs, times.length % 2 === 0);
        const within = (ms: number): number => times.filter((atMs) => nowMs - atMs < ms).length;
        expect(counts.all(nowMs)).toBeGreaterThanOrEqual(within(900));
        expect(counts.all(nowMs)).toBeLessThanOrEqual(within(1000));
        expect(counts.apart(nowMs)).toBeLessThanOrEqual(counts.all(nowMs));
      }
    }),
  );
});
