import { describe, expect, it } from "vitest";
import { DEADLINE_MS, UNAVAILABLE, GuardWorld as World } from "../testing/failing/test-support.ts";

describe("since when the store is away", () => {
  it("is known from when the call was sent that found it so", async () => {
    const world = new World();
    await world.pass(1000);
    expect(world.guard.awaySinceMs).toBeUndefined();
    world.send();
    await world.pass(DEADLINE_MS);
    expect([world.guard.state.kind, world.guard.awaySinceMs]).toEqual(["closed", 1000]);
    world.send();
    await world.pass(DEADLINE_MS);
    world.send();
    await world.pass(DEADLINE_MS);
    expect([world.guard.state.kind, world.guard.awaySinceMs]).toEqual(["open", 1000 + 2 * DEADLINE_MS]);
    await world.probe();
    await world.answer();
    expect([world.guard.state.kind, world.guard.awaySinceMs]).toEqual(["half-open", 1000 + 2 * DEADLINE_MS]);
  });

  it("is forgotten when it answers", async () => {
    const world = new World();
    world.send();
    await world.pass(DEADLINE_MS);
    world.send();
    await world.answer();
    expect(world.guard.awaySinceMs).toBeUndefined();
  });

  it("says how long it may have been back unnoticed: since the last call or probe was sent that failed", async () => {
    const world = new World();
    await world.open();
    expect(world.guard.unnoticedMs).toBe(0);
    await world.probe();
    const sentMs = world.clock.monotonicMs();
    await world.fail(UNAVAILABLE);
    await world.probe();
    // A probe leaves within the five milliseconds of a step.
    const sinceMs = world.clock.monotonicMs() - sentMs;
    expect(world.guard.unnoticedMs).toBeGreaterThanOrEqual(sinceMs);
    expect(world.guard.unnoticedMs).toBeLessThan(sinceMs + 5);
    await world.pass(DEADLINE_MS);
    expect(world.guard.unnoticedMs).toBeGreaterThanOrEqual(DEADLINE_MS);
    expect(world.guard.unnoticedMs).toBeLessThan(DEADLINE_MS + 5);
  });
});
