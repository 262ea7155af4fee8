import { describe, expect, it } from "vitest";
import { axisTicks, escapeText, labelRoom } from "./svg.ts";

describe("axisTicks", () => {
  it.each([
    [436, 5, [0, 100, 200, 300, 400, 500]],
    [90, 5, [0, 20, 40, 60, 80, 100]],
    [10, 5, [0, 2, 4, 6, 8, 10]],
    [1, 5, [0, 0.2, 0.4, 0.6, 0.8, 1]],
    [0, 5, [0, 1]],
  ])("covers 0 to %d in about %i round steps", (most, count, ticks) => {
    expect(axisTicks(most, count)).toEqual(ticks);
  });
});

describe("escapeText", () => {
  it("lets no markup through", () => {
    expect(escapeText(`<b a="1">'&'</b>`)).not.toMatch(/[<>"']/);
  });
});

describe("labelRoom", () => {
  it("grows with the label", () => {
    expect(labelRoom("limit 5,000/s") - labelRoom("limit 70/s")).toBeCloseTo(22.5);
  });
});
