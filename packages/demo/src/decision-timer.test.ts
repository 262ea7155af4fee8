import { createRateLimiter, memoryStore, type RateLimiter } from "spillway";
import { describe, expect, it } from "vitest";
import { DecisionTimer } from "./decision-timer.ts";

function limiter(): RateLimiter {
  return createRateLimiter({ store: memoryStore(), policies: [{ name: "demo", limit: 1, period: "1h" }] });
}

describe("DecisionTimer", () => {
  it("decides as the limiter does, and knows how long each decision took", async () => {
    const timer = new DecisionTimer();
    const timed = timer.wrap(limiter());
    const [now, later] = [timed.consumeNow("a")!, await timed.consume("a")];
    expect([now.allowed, later.allowed]).toEqual([true, false]);
    for (const decision of [now, later]) expect(timer.durationMsOf(decision)).toBeGreaterThan(0);
    expect(timed.stats()).toMatchObject({ allowed: 1, refused: 1 });
    await timed.close();
  });

  it("passes on that a decision cannot be given at once", () => {
    const undecided = { consumeNow: () => undefined } as unknown as RateLimiter;
    expect(new DecisionTimer().wrap(undecided).consumeNow("a")).toBeUndefined();
  });

  it("knows nothing of decisions of others", async () => {
    const other = limiter();
    expect(new DecisionTimer().durationMsOf(await other.consume("a"))).toBe(0);
    await other.close();
  });
});
