import { expect, it } from "vitest";
import { sequenceOf, storyOf, timesForgotten } from "./fault-sequence.ts";

it("a seed repeats its sequence, another one has another", () => {
  expect(sequenceOf(1, 15_000)).toEqual(sequenceOf(1, 15_000));
  expect(storyOf(sequenceOf(1, 15_000))).not.toBe(storyOf(sequenceOf(2, 15_000)));
});

it("a sequence has some faults, and is no longer than it may be", () => {
  for (let seed = 0; seed < 200; seed++) {
    const steps = sequenceOf(seed, 15_000);
    expect(steps.length).toBeGreaterThan(3);
    expect(steps.reduce((sum, { lastsMs, pauseMs }) => sum + lastsMs + pauseMs, 0)).toBeLessThanOrEqual(15_000);
    expect(timesForgotten(steps)).toBe(steps.filter(({ act }) => act === "Redis killed").length);
  }
});
