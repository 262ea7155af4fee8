import { describe, expect, it } from "vitest";
import { resolvePolicy } from "../policy.ts";
import { leaseStandsMs } from "./lease-stands.ts";

/** A token a millisecond, and a burst of 200. */
const POLICY = resolvePolicy({ name: "p", limit: 1000, period: "1s", burst: 200 }, "policy");
const LIFE_MS = 75;

describe("leases that are alive when the store goes away", () => {
  it.each([
    { title: "all their life where nothing is known", stood: undefined, stands: 75 },
    { title: "all their life where bucket and leases were a burst", stood: { tokens: 200, sentMs: 1000 }, stands: 75 },
    { title: "not at all where they cannot come to one", stood: { tokens: 125, sentMs: 1000 }, stands: 0 },
    { title: "for as long as they can be one", stood: { tokens: 150, sentMs: 1000 }, stands: 25 },
    { title: "longer when that was long ago", stood: { tokens: 125, sentMs: 960 }, stands: 40 },
    { title: "not at all in debt", stood: { tokens: -200, sentMs: 1000 }, stands: 0 },
  ])("stand in the way of shares $title", ({ stood, stands }) => {
    expect(leaseStandsMs(POLICY, LIFE_MS, stood, 1000)).toBe(stands);
  });

  it("have nothing to do with windows", () => {
    const window = resolvePolicy({ name: "w", limit: 9, period: "1m", algorithm: "fixed-window" }, "policy");
    expect(leaseStandsMs(window, LIFE_MS, { tokens: 0, sentMs: 0 }, 1000)).toBe(LIFE_MS);
  });
});
