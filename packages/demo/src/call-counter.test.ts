import { describe, expect, it } from "vitest";
import { storeCallsOf } from "./call-counter.ts";

describe("storeCallsOf", () => {
  it("gives the total and the calls of each second", () => {
    const samples = [
      { atMs: 500, calls: 100 },
      { atMs: 1500, calls: 190 },
      { atMs: 2500, calls: 260 },
    ];
    expect(storeCallsOf(samples, 2)).toEqual({ total: 160, perSecond: [90, 70] });
  });

  it("spreads calls evenly between looks that came late", () => {
    const samples = [
      { atMs: 0, calls: 0 },
      { atMs: 2000, calls: 100 },
    ];
    expect(storeCallsOf(samples, 2)).toEqual({ total: 100, perSecond: [50, 50] });
  });

  it("counts nothing after the last look", () => {
    const samples = [
      { atMs: 0, calls: 5 },
      { atMs: 900, calls: 95 },
    ];
    expect(storeCallsOf(samples, 2)).toEqual({ total: 90, perSecond: [90, 0] });
  });
});
