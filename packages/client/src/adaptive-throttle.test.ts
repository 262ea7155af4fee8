import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AdaptiveThrottle, type ThrottleSettings } from "./adaptive-throttle.ts";

const settings: ThrottleSettings = { factor: 2, windowMs: 30_000, minimumCalls: 20, mostRefused: 0.95 };

function attempt(throttle: AdaptiveThrottle, accepted: boolean | undefined, nowMs = 0): void {
  throttle.start(nowMs);
  throttle.settle(nowMs, accepted);
}

function throttleAfter(accepted: number, refused: number): AdaptiveThrottle {
  const throttle = new AdaptiveThrottle(settings);
  for (let i = 0; i < refused; i++) attempt(throttle, false);
  for (let i = 0; i < accepted; i++) attempt(throttle, true);
  return throttle;
}

describe("the share of attempts that an adaptive throttle refuses", () => {
  it.each([
    [10, 9, 0],
    [10, 10, 0],
    [10, 11, 1 / 22],
    [10, 30, 20 / 41],
    [0, 19, 0],
    [0, 20, 20 / 21],
    [0, 1000, 0.95],
  ])("after %d accepted and %d refused is %d", (accepted, refused, share) => {
    expect(throttleAfter(accepted, refused).share(0)).toBeCloseTo(Math.min(share, 0.95), 10);
  });

  it("falls back to nothing once the window has passed", () => {
    expect(throttleAfter(0, 500).share(30_000)).toBe(0);
  });

  it("falls back to nothing after a long run of accepted attempts, without waiting for the window", () => {
    const throttle = throttleAfter(0, 500);
    for (let i = 0; i < 19; i++) attempt(throttle, true);
    expect(throttle.share(0)).toBeGreaterThan(0.9);
    attempt(throttle, true);
    expect(throttle.share(0)).toBe(0);
  });

  it("does not count attempts of which nobody knows the fate", () => {
    const throttle = throttleAfter(0, 19);
    for (let i = 0; i < 100; i++) attempt(throttle, undefined);
    expect(throttle.share(2000)).toBe(0);
  });

  it("counts attempts under way while they are fresh, once something was refused", () => {
    const throttle = new AdaptiveThrottle(settings);
    for (let i = 0; i < 100; i++) throttle.start(0);
    expect(throttle.share(0)).toBe(0);
    throttle.settle(0, false);
    expect(throttle.share(0)).toBe(0.95);
    expect(throttle.share(1000)).toBe(0);
  });

  it("counts the attempts that it refuses itself", () => {
    const throttle = throttleAfter(10, 30);
    expect(throttle.refuses(0, 0.49)).toBe(false);
    expect(throttle.refuses(0, 0.48)).toBe(true);
    expect(throttle.share(0)).toBeCloseTo(21 / 42, 10);
  });

  it("is between 0 and the most, in any history", () => {
    const steps = fc.array(fc.tuple(fc.constantFrom("accepted", "refused", "asked"), fc.nat(5000)), { maxLength: 300 });
    fc.assert(
      fc.property(steps, fc.integer({ min: 11, max: 1000 }), (all, tenths) => {
        const throttle = new AdaptiveThrottle({ ...settings, factor: tenths / 10 });
        let nowMs = 0;
        for (const [step, gapMs] of all) {
          nowMs += gapMs;
          if (step === "asked") throttle.refuses(nowMs, 0.5);
          else attempt(throttle, step === "accepted", nowMs);
          expect(throttle.share(nowMs)).toBeGreaterThanOrEqual(0);
          expect(throttle.share(nowMs)).toBeLessThanOrEqual(0.95);
        }
      }),
    );
  });
});
