import { manualClock } from "spillway/testing";
import { describe, expect, it } from "vitest";
import { waitFor } from "./wait.ts";

describe("a wait", () => {
  it("is over after its time, never before, also when the platform's timer fires early", async () => {
    const clock = manualClock();
    const early = {
      ...clock,
      monotonicMs: clock.monotonicMs,
      startTimer: (run: () => void, ms: number, keepAlive: boolean) =>
        clock.startTimer(run, Math.min(ms, 400), keepAlive),
    };
    let over = false;
    const wait = waitFor(early, 1000, undefined).then(() => {
      over = true;
    });
    clock.advance(999);
    await new Promise(setImmediate);
    expect(over).toBe(false);
    clock.advance(1);
    await wait;
    expect(clock.pendingTimers).toBe(0);
  });

  it("is ended by an abort with its reason, and takes its listener and its timer along", async () => {
    const clock = manualClock();
    const controller = new AbortController();
    const waits = [waitFor(clock, 1000, controller.signal), waitFor(clock, 9e9, controller.signal)];
    controller.abort("enough");
    const settled = await Promise.allSettled(waits);
    expect(settled).toEqual(waits.map(() => ({ status: "rejected", reason: "enough" })));
    expect(clock.pendingTimers).toBe(0);
    await expect(waitFor(clock, 1, controller.signal)).rejects.toBe("enough");
    expect(clock.pendingTimers).toBe(0);
  });

  it("leaves nothing on a signal that outlives it", async () => {
    const clock = manualClock();
    const { signal } = new AbortController();
    const [adds, removes]: [number[], number[]] = [[], []];
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    Object.assign(signal, {
      addEventListener: (...all: Parameters<typeof add>) => adds.push(1) && add(...all),
      removeEventListener: (...all: Parameters<typeof remove>) => removes.push(1) && remove(...all),
    });
    const pass = (): void => clock.advance(10);
    for (let wait = 0; wait < 5; wait++) {
      const both = [waitFor(clock, 10, signal), waitFor(clock, 10, signal)];
      pass();
      await Promise.all(both);
    }
    expect([adds.length, removes.length]).toEqual([5, 5]);
  });
});
