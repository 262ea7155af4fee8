import { createRateLimiter, memoryStore, type RateLimiter } from "spillway";
import { describe, expect, it } from "vitest";
import { DecisionRecorder, sumRecords } from "./decision-recorder.ts";

function limiter(): RateLimiter {
  return createRateLimiter({ store: memoryStore(), policies: [{ name: "demo", limit: 1, period: "1h" }] });
}

describe("DecisionRecorder", () => {
  it("decides as the limiter does, and records each decision once", async () => {
    const recorder = new DecisionRecorder();
    const recorded = recorder.wrap(limiter());
    expect((recorded.consumeNow("a") ?? (await recorded.consume("a"))).allowed).toBe(true);
    expect((recorded.consumeNow("a") ?? (await recorded.consume("a"))).allowed).toBe(false);
    expect(recorder.take()).toMatchObject({ decisions: 2, degraded: 0 });
    await recorded.close();
  });

  it("does not count what could not be decided at once, and counts degraded decisions", async () => {
    const recorder = new DecisionRecorder();
    const undecided: RateLimiter = {
      ...limiter(),
      consumeNow: () => undefined,
      consume: async () => ({ allowed: true, degraded: true }) as never,
    };
    const recorded = recorder.wrap(undecided);
    expect(recorded.consumeNow("a")).toBeUndefined();
    await recorded.consume("a");
    expect(recorder.take()).toMatchObject({ decisions: 1, degraded: 1 });
  });

  it("starts anew after each look, and adds up over servers", async () => {
    const recorder = new DecisionRecorder();
    const recorded = recorder.wrap(limiter());
    await recorded.consume("a");
    const first = recorder.take();
    await recorded.consume("b");
    await recorded.consume("c");
    const sum = sumRecords([first, recorder.take(), recorder.take()]);
    expect(sum).toMatchObject({ decisions: 3, degraded: 0 });
    expect(sum.time.maxMs).toBeGreaterThan(0);
    await recorded.close();
  });
});
