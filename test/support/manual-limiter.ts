import { createRateLimiter, memoryStore, type PolicyOptions, type RateLimiter } from "spillway";
import { type ManualClock, manualClock } from "spillway/testing";
import { onTestFinished } from "vitest";

/** A real limiter in memory, on a clock that the test moves; closed after the test. */
export function manualLimiter(...policies: PolicyOptions[]): {
  readonly limiter: RateLimiter;
  readonly clock: ManualClock;
} {
  const clock = manualClock();
  const limiter = createRateLimiter({ store: memoryStore({ clock }), clock, policies });
  onTestFinished(() => limiter.close());
  return { limiter, clock };
}
