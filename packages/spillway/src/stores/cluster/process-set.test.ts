import { expect, it } from "vitest";
import { manualClock } from "../../testing/manual-clock.ts";
import { ProcessSet } from "./process-set.ts";

it("processes count while they are heard of, each once", () => {
  const clock = manualClock();
  const set = new ProcessSet(clock);
  expect(["a", "b", "a", "c"].map((id) => set.count(id, 100))).toEqual([1, 2, 2, 3]);
  clock.advance(60);
  expect(set.count("b", 100)).toBe(3);
  clock.advance(60);
  expect(set.count("d", 100)).toBe(2);
  clock.advance(100);
  expect(set.count("d", 100)).toBe(1);
});
