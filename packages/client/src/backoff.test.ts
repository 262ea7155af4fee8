import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type BackoffSettings, backoffCeilingMs, backoffMs, type Jitter } from "./backoff.ts";

const usual: BackoffSettings = { baseMs: 100, limitMs: 5000, jitter: "full" };
const settingsWith = (jitter: Jitter): BackoffSettings => ({ ...usual, jitter });

describe("the wait before a retry that nobody has set", () => {
  it.each([
    [0, 100],
    [1, 200],
    [5, 3200],
    [6, 5000],
    [99, 5000],
  ])("has before retry %d a ceiling of %d ms", (retry, ceilingMs) => {
    expect(backoffCeilingMs(usual, retry)).toBe(ceilingMs);
  });

  it.each([
    ["full", 0, 0],
    ["full", 0.5, 400],
    ["equal", 0, 400],
    ["equal", 0.5, 600],
    ["none", 0.3, 800],
  ] as const)("with %s jitter and chance %d is %d ms before the fourth attempt", (jitter, chance, ms) => {
    expect(backoffMs(settingsWith(jitter), 3, 0, chance)).toBe(ms);
  });

  it("grows from the wait before it when decorrelated, and never falls below the base", () => {
    expect(backoffMs(settingsWith("decorrelated"), 0, 0, 0.9)).toBe(100);
    expect(backoffMs(settingsWith("decorrelated"), 1, 400, 0.5)).toBe(650);
    expect(backoffMs(settingsWith("decorrelated"), 2, 4000, 0.99)).toBe(5000);
  });

  it("is finite, never negative and never above the limit, whatever the settings", () => {
    const settings = fc
      .tuple(fc.double({ min: 1, max: 1e9, noNaN: true }), fc.double({ min: 1, max: 1e9, noNaN: true }))
      .chain(([one, other]) =>
        fc.record({
          baseMs: fc.constant(Math.min(one, other)),
          limitMs: fc.constant(Math.max(one, other)),
          jitter: fc.constantFrom<Jitter>("full", "equal", "decorrelated", "none"),
        }),
      );
    const chances = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(
        settings,
        fc.nat(5000),
        fc.double({ min: 0, max: 1e9, noNaN: true }),
        chances,
        (given, retry, previousMs, chance) => {
          const ms = backoffMs(given, retry, previousMs, chance);
          expect(ms).toBeGreaterThanOrEqual(0);
          expect(ms).toBeLessThanOrEqual(given.limitMs);
          if (given.jitter === "full") expect(ms).toBeLessThanOrEqual(given.baseMs * 2 ** Math.min(retry, 1000));
        },
      ),
    );
  });
});
