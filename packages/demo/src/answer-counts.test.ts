import { describe, expect, it } from "vitest";
import { AnswerCounter } from "./answer-counts.ts";

describe("AnswerCounter", () => {
  it("counts each mode's answers by the second, and gives a second away once it is over", () => {
    const counter = new AnswerCounter();
    counter.note("lease", true, false, 5000);
    counter.note("lease", false, true, 5999);
    counter.note("exact", true, false, 5500);
    counter.note("lease", true, true, 6000);
    const fifth = {
      second: 5,
      modes: {
        lease: { admitted: 1, refused: 1, degraded: 1 },
        exact: { admitted: 1, refused: 0, degraded: 0 },
      },
    };
    expect(counter.takeFinished(5999)).toEqual([]);
    expect(counter.takeFinished(6100)).toEqual([fifth]);
    expect(counter.takeFinished(6999)).toEqual([]);
    expect(counter.takeFinished(9000)).toEqual([
      { second: 6, modes: { lease: { admitted: 1, refused: 0, degraded: 1 } } },
    ]);
  });
});
