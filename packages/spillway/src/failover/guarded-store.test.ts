import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { CALL, DEADLINE_MS, UNAVAILABLE, GuardWorld as World } from "../testing/failing/test-support.ts";
import { asStoreError, type GuardedCall } from "./guarded-store.ts";

describe("a flight", () => {
  it("is missed a deadline after its oldest caller came, and no sooner", async () => {
    expect((await after(0, DEADLINE_MS - 1)).outcome).toBeUndefined();
    expect((await after(0, DEADLINE_MS)).outcome).toBe("miss");
    expect((await after(30, DEADLINE_MS - 31)).outcome).toBeUndefined();
    expect((await after(30, DEADLINE_MS - 30)).outcome).toBe("miss");
  });

  it("is given a millisecond though its oldest caller has waited for too long", async () => {
    expect((await after(80, 0)).outcome).toBeUndefined();
    expect((await after(80, 1)).outcome).toBe("miss");
  });

  it("whose reply came in the turn in which it is due is not missed", async () => {
    const world = new World();
    const sent = world.send();
    world.clock.advance(DEADLINE_MS);
    world.asked[0]?.answer();
    await turn();
    expect([sent.outcome, world.log]).toEqual(["reply 50", []]);
  });

  it("brings its late reply after the miss, and that counts for nothing", async () => {
    const world = new World();
    const sent = world.send();
    await world.pass(DEADLINE_MS);
    await world.pass(20);
    await world.answer();
    expect([sent.outcome, world.log]).toEqual(["miss, late 70", ["missed"]]);
    expect(world.guard.freeFlights).toBe(2);
  });

  it("that fails after it was missed is noted as a fault and changes nothing else", async () => {
    const world = new World();
    const sent = world.send();
    await world.pass(DEADLINE_MS);
    await world.fail(UNAVAILABLE);
    expect([sent.outcome, world.log]).toEqual(["miss", ["missed", "ERR_SPILLWAY_STORE_UNAVAILABLE"]]);
    expect(world.guard.state.kind).toBe("closed");
  });

  it("of a store that throws where it should reject has failed like any other", async () => {
    const world = new World();
    world.throws = true;
    for (let i = 0; i < 5; i++) {
      const sent = world.send();
      await turn();
      expect(sent.outcome).toBe("The store failed: thrown, not rejected");
    }
    expect([world.guard.freeFlights, world.clock.pendingTimers]).toEqual([3, 0]);
  });

  it("may fail with what cannot be made a string", () => {
    expect(asStoreError(Object.create(null)).message).toBe("The store failed: an object of no class");
  });

  async function after(waitedMs: number, ms: number): Promise<{ outcome: string | undefined }> {
    const world = new World();
    const sent = world.send(waitedMs);
    await world.pass(ms);
    return sent;
  }
});

describe("the flights of a node", () => {
  it("are three at most, and fewer by each miss that no answer followed: until then the store is in doubt", async () => {
    const world = new World();
    expect(world.guard.freeFlights).toBe(3);
    world.send();
    world.send();
    expect(world.guard.freeFlights).toBe(1);
    await world.answer(0);
    expect(world.guard.freeFlights).toBe(2);
    expect(world.guard.isInDoubt).toBe(false);
    await world.pass(DEADLINE_MS);
    expect([world.guard.freeFlights, world.guard.isInDoubt]).toEqual([2, true]);
    world.send();
    world.send();
    expect(world.guard.freeFlights).toBe(0);
    await world.answer();
    expect([world.guard.freeFlights, world.guard.isInDoubt]).toEqual([2, false]);
  });

  it("are missed three times in all, however they overlap", async () => {
    const world = new World();
    for (let ms = 0; ms < 500; ms += 5) {
      while (world.guard.freeFlights > 0) world.send(ms === 0 ? 0 : 40);
      await world.pass(5);
    }
    expect(world.log.filter((event) => event === "missed")).toHaveLength(3);
    expect(world.log.at(-1)).toBe("closed -> open");
    expect(world.guard.freeFlights).toBe(0);
  });

  it("with several calls lands with the last of them", async () => {
    const world = new World();
    const call: GuardedCall = { call: CALL, onReply() {}, onMiss() {}, onLate() {}, onFault() {} };
    world.guard.send([call, call], 0);
    expect(world.guard.freeFlights).toBe(2);
    await world.answer(0);
    expect(world.guard.freeFlights).toBe(2);
    await world.answer(1);
    expect(world.guard.freeFlights).toBe(3);
  });
});

describe("an open guard", () => {
  it("does not hear of failures that come after it opened (C21 a)", async () => {
    const world = new World();
    const others = [world.send(), world.send()];
    await world.open();
    await world.fail(UNAVAILABLE, 0);
    await world.fail(new Error("ECONNRESET"), 1);
    expect(others.map(({ outcome }) => outcome)).toEqual(["READONLY", "The store failed: ECONNRESET"]);
    expect(world.log.filter((event) => event.includes("->"))).toEqual(["closed -> open"]);
    await world.probe();
    await world.answer();
    expect(world.guard.state.kind).toBe("half-open");
  });

  it("probes one at a time, and a probe without a reply has failed after a deadline", async () => {
    const world = new World();
    await world.open();
    for (let i = 0; i < 6; i++) {
      await world.probe();
      await world.pass(DEADLINE_MS);
      expect(world.guard.state.kind).toBe("open");
      expect(world.clock.pendingTimers).toBe(1);
    }
    // A reply to an earlier probe is no news of now.
    await world.answer(-2);
    expect(world.guard.state.kind).toBe("open");
  });

  it("probes at once when a late reply shows that the store answers again, and only one at a time", async () => {
    const world = new World();
    for (let n = 0; n < 3; n++) world.send();
    await world.pass(DEADLINE_MS);
    expect([world.guard.state.kind, world.asked.length]).toEqual(["open", 3]);
    for (const late of [0, 1, 2]) await world.answer(late);
    expect(world.asked.slice(3).map(({ call }) => call.runs)).toEqual([[]]);
    await world.answer();
    expect([world.guard.state.kind, world.clock.pendingTimers]).toEqual(["half-open", 0]);
  });

  it("does not come back by late replies of a store that is slow: a probe must be in time", async () => {
    const world = new World();
    for (let n = 0; n < 3; n++) world.send();
    await world.pass(DEADLINE_MS);
    for (const late of [0, 1, 2]) {
      await world.answer(late);
      await world.pass(DEADLINE_MS);
      expect(world.guard.state.kind).toBe("open");
    }
    expect(world.asked.length).toBe(6);
    expect(world.clock.pendingTimers).toBe(1);
  });

  it("lets one flight through once a probe is answered, and closes when that is answered", async () => {
    const world = new World();
    await world.halfOpen();
    expect([world.guard.isOpen, world.guard.freeFlights]).toEqual([false, 1]);
    const trial = world.send();
    expect([world.guard.isOpen, world.guard.freeFlights]).toEqual([true, 0]);
    await world.pass(3);
    await world.answer();
    expect(trial.outcome).toBe("reply 3");
    expect([world.guard.isOpen, world.guard.freeFlights]).toEqual([false, 3]);
  });

  it("begins no trial, and lets nobody wait for one, before what was sent earlier has landed", async () => {
    const world = new World("", 10_000);
    world.send();
    await world.halfOpen();
    expect([world.guard.isOpen, world.guard.freeFlights]).toEqual([true, 0]);
    await world.answer(0);
    expect([world.guard.state.kind, world.guard.isOpen, world.guard.freeFlights]).toEqual(["half-open", false, 1]);
  });

  it("is opened again by a trial that never settles, and is never stuck (C21 c)", async () => {
    const world = new World();
    await world.halfOpen();
    for (let i = 0; i < 4; i++) {
      const trial = world.send();
      await world.pass(DEADLINE_MS);
      expect([trial.outcome, world.guard.state.kind]).toEqual(["miss", "open"]);
      await world.probe();
      await world.answer();
    }
    world.send();
    await world.answer();
    expect(world.guard.state.kind).toBe("closed");
  });
});

describe("the round trip that a guard reckons with", () => {
  it("follows a slow reply at once and a fast one slowly", async () => {
    const world = new World();
    for (const ms of [4, 20]) {
      world.send();
      await world.pass(ms);
      await world.answer();
      expect(world.guard.roundTripMs).toBe(ms);
    }
    world.send();
    await world.answer();
    expect(world.guard.roundTripMs).toBeCloseTo(19.6, 5);
  });

  it("counts late replies, since a deadline that is too short shows in nothing else", async () => {
    const world = new World();
    world.send();
    await world.pass(DEADLINE_MS);
    await world.pass(150);
    await world.answer();
    expect(world.guard.roundTripMs).toBe(200);
  });

  it("does not count replies that this process was too busy to read", async () => {
    const world = new World();
    world.send();
    world.clock.advance(2000);
    world.asked[0]?.answer();
    await turn();
    expect([world.guard.roundTripMs, world.log]).toEqual([0, []]);
  });

  it("forgets what it was while the store was away", async () => {
    const world = new World();
    const stalled = [world.send(), world.send(), world.send()];
    await world.pass(DEADLINE_MS);
    await world.pass(5000);
    for (const index of [0, 1, 2]) await world.answer(index);
    expect(stalled[0]?.outcome).toBe("miss, late 5050");
    for (let i = 0; world.guard.state.kind !== "half-open" && i < 10; i++) {
      await world.probe();
      await world.answer();
    }
    world.send();
    await world.pass(2);
    await world.answer();
    expect([world.guard.state.kind, world.guard.roundTripMs]).toEqual(["closed", 2]);
  });
});

describe("a node of a cluster", () => {
  it("whose keys have moved is not probed any more", async () => {
    const world = new World("a:1");
    await world.open();
    world.node = "b:2";
    await world.pass(200);
    expect([world.log.at(-1), world.asked.length, world.clock.pendingTimers]).toEqual(["moved", 1, 0]);
  });

  it("does not come back by an answer that another node gave to its probe", async () => {
    const world = new World("a:1");
    await world.open();
    await world.probe();
    world.node = "b:2";
    await world.answer();
    expect([world.log.at(-1), world.guard.state.kind]).toEqual(["moved", "open"]);
  });

  it("is probed while the store knows no node at all", async () => {
    const world = new World("a:1");
    await world.open();
    world.node = "";
    await world.probe();
    world.node = "a:1";
    await world.answer();
    expect(world.guard.state.kind).toBe("half-open");
  });
});

describe("a closed guard", () => {
  it("keeps no timer, sends no probe and lets nothing through", async () => {
    const open = new World();
    await open.open();
    open.guard.close();
    expect([open.clock.pendingTimers, open.guard.freeFlights]).toEqual([0, 0]);

    const probing = new World();
    await probing.open();
    await probing.probe();
    probing.guard.close();
    expect(probing.clock.pendingTimers).toBe(0);
    await probing.answer();
    expect(probing.guard.state.kind).toBe("open");
  });
});
