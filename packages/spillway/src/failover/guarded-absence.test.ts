import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { DEADLINE_MS, UNAVAILABLE, GuardWorld as World } from "../testing/failing/test-support.ts";
import { longestUnnoticedMs } from "./circuit-breaker.ts";

describe("how long the store can have been away", () => {
  it("is the time since a call was sent that was answered in time, by the clock that has gone further", async () => {
    const world = new World();
    expect(world.guard.silentMs).toBe(Number.POSITIVE_INFINITY);
    world.send();
    await world.pass(7);
    await world.answer();
    expect(world.guard.silentMs).toBe(7);
    await world.pass(30);
    expect(world.guard.silentMs).toBe(37);
    world.clock.stepWall(500);
    expect(world.guard.silentMs).toBe(537);
    world.clock.stepWall(-2000);
    expect(world.guard.silentMs).toBe(37);
  });

  it("is not shown by a late answer, nor by that to a probe, which serves nobody", async () => {
    const world = new World();
    world.send();
    await world.answer();
    for (let i = 0; i < 3; i++) {
      world.send();
      await world.pass(DEADLINE_MS);
    }
    await world.answer(1);
    expect(world.guard.silentMs).toBe(150);
    // The late answer has sent a probe.
    await world.answer();
    expect([world.guard.state.kind, world.guard.silentMs]).toEqual(["half-open", 150]);
    world.send();
    await world.answer();
    expect([world.guard.state.kind, world.guard.silentMs]).toEqual(["closed", 0]);
  });

  it("has not begun anew when a trial fails at once, and has when it comes after a while", async () => {
    for (const [waitMs, isAnew] of [
      [90, false],
      [110, true],
    ] as const) {
      const world = new World();
      await world.halfOpen();
      await world.pass(waitMs);
      world.send();
      await world.fail(UNAVAILABLE);
      expect(world.guard.awaySinceMs).toBe(isAnew ? world.clock.monotonicMs() : 0);
    }
  });
});

describe("a guard whose process was kept from running", () => {
  it("is overdue from when others take it for granted that it has looked, until it has", async () => {
    const world = new World();
    await world.open();
    await world.probe();
    expect(world.guard.isOverdue).toBe(false);
    const longestMs = longestUnnoticedMs(0, DEADLINE_MS);
    const sinceMs = world.guard.unnoticedMs;
    // Timers do not run meanwhile: what they would do is still to come.
    world.clock.advance(longestMs - sinceMs);
    expect(world.guard.isOverdue).toBe(false);
    world.clock.advance(1);
    expect(world.guard.isOverdue).toBe(true);
    await turn();
    await turn();
    expect(world.guard.isOverdue).toBe(false);
    await world.answer();
    expect(world.guard.isOverdue).toBe(false);
  });

  it("probes a node that refuses at once no more often than one that is silent", async () => {
    const sent: number[] = [];
    for (const isSilent of [true, false]) {
      const world = new World();
      await world.open();
      for (let ms = 0; ms < 5000; ms += 5) {
        const { length } = world.asked;
        await world.pass(5);
        if (world.asked.length > length && !isSilent) await world.fail(UNAVAILABLE);
      }
      sent.push(world.asked.length - 1);
    }
    for (const probes of sent) {
      expect(probes).toBeGreaterThan(15);
      expect(probes).toBeLessThan(28);
    }
  });

  it("is overdue when a call has been on trial for longer than it can be", async () => {
    const world = new World();
    await world.open();
    await world.probe();
    await world.answer();
    world.clock.advance(1000);
    expect([world.guard.state.kind, world.guard.isOverdue]).toEqual(["half-open", false]);
    world.send();
    expect(world.guard.isOverdue).toBe(false);
    world.clock.advance(2 * DEADLINE_MS + 1);
    expect([world.guard.state.kind, world.guard.isOverdue]).toEqual(["half-open", true]);
    await turn();
    expect([world.guard.state.kind, world.guard.isOverdue]).toEqual(["open", false]);
  });

  it("is overdue after its machine was suspended, in which one of the clocks stood still", async () => {
    const world = new World();
    await world.open();
    world.clock.stepWall(60_000);
    expect([world.guard.isOverdue, world.guard.unnoticedMs >= 60_000]).toEqual([true, true]);
    await world.probe();
    await world.fail(UNAVAILABLE);
    expect([world.guard.isOverdue, world.guard.unnoticedMs < 1000]).toEqual([false, true]);
    world.clock.stepWall(-3_600_000);
    expect([world.guard.isOverdue, world.guard.unnoticedMs < 1000]).toEqual([false, true]);
  });

  it("is never overdue while it runs", async () => {
    const world = new World();
    await world.open();
    for (let ms = 0; ms < 8000; ms += 5) {
      await world.pass(5);
      expect(world.guard.isOverdue).toBe(false);
    }
  });
});
