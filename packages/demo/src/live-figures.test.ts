import { describe, expect, it } from "vitest";
import { LIVE_SECONDS, LiveFigures } from "./live-figures.ts";

const counts = (admitted: number, refused: number, degraded = 0) => ({ admitted, refused, degraded });

describe("LiveFigures", () => {
  it("adds up what workers tell of a second, mode by mode", () => {
    const figures = new LiveFigures(3);
    figures.note(0, [{ second: 100, modes: { lease: counts(5, 10), exact: counts(1, 0) } }]);
    figures.note(2, [{ second: 100, modes: { lease: counts(7, 3, 2) } }]);
    const minute = figures.minuteUntil(100, "lease");
    expect(minute).toHaveLength(LIVE_SECONDS);
    expect(minute.at(-1)).toEqual({ second: 100, admitted: [5, 0, 7], offered: 25, degraded: 2 });
    expect(figures.minuteUntil(100, "exact").at(-1)?.admitted).toEqual([1, 0, 0]);
  });

  it("has the seconds in order, with nothing where nothing was asked", () => {
    const figures = new LiveFigures(1);
    figures.note(0, [
      { second: 102, modes: { lease: counts(2, 0) } },
      { second: 100, modes: { lease: counts(1, 0) } },
    ]);
    expect(figures.minuteUntil(103, "lease").slice(-4)).toEqual([
      { second: 100, admitted: [1], offered: 1, degraded: 0 },
      { second: 101, admitted: [0], offered: 0, degraded: 0 },
      { second: 102, admitted: [2], offered: 2, degraded: 0 },
      { second: 103, admitted: [0], offered: 0, degraded: 0 },
    ]);
  });

  it("forgets what is long past", () => {
    const figures = new LiveFigures(1);
    figures.note(0, [{ second: 100, modes: { lease: counts(1, 0) } }]);
    expect(figures.minuteUntil(100, "lease").at(-1)?.offered).toBe(1);
    figures.note(0, [{ second: 100 + 2 * LIVE_SECONDS, modes: { lease: counts(1, 0) } }]);
    expect(figures.minuteUntil(100, "lease").at(-1)?.offered).toBe(0);
  });
});
