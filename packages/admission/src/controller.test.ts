import { describe, expect, it } from "vitest";
import type { Order } from "./index.ts";
import { fates, underTest } from "./test-support.ts";

describe("the line", () => {
  it("takes as much work as is worked off in lineMs, by what work is measured to take", () => {
    const { crowd, teach, stats } = underTest({ slots: 8, lineMs: 200, order: "fifo" });
    teach(100);
    expect(stats().lineCapacity).toBe(16);
    const visitors = crowd(30);
    expect(fates(visitors).filter((fate) => fate === "in")).toHaveLength(8);
    expect(fates(visitors).filter((fate) => fate === "line_full")).toHaveLength(6);
    expect(stats()).toMatchObject({ waiting: 16, peakWaiting: 16 });
  });

  it("takes fewer when work gets slower", () => {
    const { teach, stats } = underTest({ slots: 8, lineMs: 200, order: "fifo" });
    teach(100);
    for (let i = 0; i < 60; i++) teach(400);
    expect(stats().lineCapacity).toBe(4);
  });

  it("has one place at least, however slow work is, unless there is to be none", () => {
    const { controller, teach, stats } = underTest({ slots: 1, lineMs: 200 });
    teach(60_000);
    expect(stats().lineCapacity).toBe(1);
    controller.tune({ lineMs: 0 });
    expect(stats().lineCapacity).toBe(0);
  });

  it("never holds more requests than lineItems", () => {
    const { crowd, stats } = underTest({ slots: 1, lineMs: Infinity, lineItems: 5, order: "fifo" });
    expect(fates(crowd(10)).filter((fate) => fate === "line_full")).toHaveLength(4);
    expect(stats().waiting).toBe(5);
    const none = underTest({ slots: 1, lineItems: 0, order: "lifo" });
    expect(fates(none.crowd(2))).toEqual(["in", "line_full"]);
  });

  it("counts a request that takes several slots as several places", () => {
    const { crowd, enter, teach } = underTest({ slots: 4, lineMs: 100, order: "fifo" });
    teach(100);
    crowd(4);
    expect(fates([enter({ cost: 3 }), enter({ cost: 2 }), enter({ cost: 1 })])).toEqual([
      "waiting",
      "line_full",
      "waiting",
    ]);
  });

  it("serves an idle service without a line or a wait limit", () => {
    const { clock, enter } = underTest({ slots: 2, lineMs: 0, waitMs: 0 });
    for (let i = 0; i < 5; i++) {
      const visitor = enter();
      clock.settle();
      expect(visitor.fate).toBe("in");
      visitor.release();
    }
  });
});

describe("the wait limit", () => {
  it("turns away who has waited so long, on one timer for all", () => {
    const { clock, crowd, enter, stats } = underTest({ slots: 1, lineMs: Infinity, waitMs: 300, order: "fifo" });
    crowd(1);
    const early = enter();
    clock.advance(100);
    const late = enter();
    expect(clock.pendingTimers).toBe(1);
    clock.advance(199);
    expect(fates([early, late])).toEqual(["waiting", "waiting"]);
    clock.advance(1);
    expect(fates([early, late])).toEqual(["waited_too_long", "waiting"]);
    expect(clock.pendingTimers).toBe(1);
    clock.advance(100);
    expect(fates([early, late])).toEqual(["waited_too_long", "waited_too_long"]);
    expect([clock.pendingTimers, stats().waiting]).toEqual([0, 0]);
  });

  it("needs no timer while nobody waits", () => {
    const { clock, crowd, enter } = underTest({ slots: 1 });
    const [running] = crowd(1);
    expect(clock.pendingTimers).toBe(0);
    const waiter = enter();
    running?.release();
    clock.settle();
    expect([waiter.fate, clock.pendingTimers]).toEqual(["in", 0]);
  });

  it("is moved forward for one whose deadline comes first", () => {
    const { clock, crowd, enter, teach } = underTest({ slots: 1, lineMs: Infinity, waitMs: 1000, order: "fifo" });
    teach(10);
    crowd(1);
    const patient = enter();
    const hasty = enter({ deadlineMs: 110 });
    clock.advance(100);
    expect(fates([patient, hasty])).toEqual(["waiting", "deadline"]);
    clock.advance(900);
    expect(patient.fate).toBe("waited_too_long");
  });

  it("holds for who is next when a slot frees before the timer has run (C19 c)", () => {
    const { clock, crowd, enter } = underTest({ slots: 1, lineMs: Infinity, waitMs: 300, order: "fifo" });
    const [running] = crowd(1);
    const stale = [enter(), enter(), enter()];
    clock.block(301);
    const fresh = enter();
    running?.release();
    clock.settle();
    expect(fates([...stale, fresh])).toEqual([...Array(3).fill("waited_too_long"), "in"]);
  });

  it("turns away in one go who aged past it while the loop was blocked (C19 c)", () => {
    const { clock, crowd } = underTest({ slots: 1, lineMs: Infinity, waitMs: 300, order: "fifo" });
    const visitors = crowd(51);
    clock.block(400);
    clock.advance(300);
    expect(fates(visitors)).toEqual(["in", ...Array(50).fill("waited_too_long")]);
  });

  it("may be none", () => {
    const { clock, crowd } = underTest({ slots: 1, lineMs: Infinity, waitMs: Infinity });
    const [, waiter] = crowd(2);
    clock.advance(1e9);
    expect([waiter?.fate, clock.pendingTimers]).toEqual(["waiting", 0]);
  });

  it("ends the wait of who seems to have come in the future: the clock went back", () => {
    const { clock, crowd, enter } = underTest({ slots: 1, waitMs: 300 });
    crowd(1);
    clock.block(10_000);
    const waiter = enter();
    clock.block(-10_000);
    clock.advance(300);
    expect(waiter.fate).toBe("waited_too_long");
  });
});

describe("the order", () => {
  /** One slot, three waiters that came 1 ms apart; who goes in as the slot frees three times. */
  function served(order: Order, standingMs: number): number[] {
    const { clock, crowd, enter, teach } = underTest({ slots: 1, lineMs: Infinity, waitMs: Infinity, order });
    teach(10);
    let [running] = crowd(1);
    const waiters = [0, 1, 2].map(() => {
      clock.advance(1);
      return enter();
    });
    clock.advance(standingMs);
    const left = new Set(waiters);
    return waiters.map(() => {
      running?.release();
      clock.settle();
      running = [...left].find(({ fate }) => fate === "in");
      left.delete(running as (typeof waiters)[number]);
      return waiters.indexOf(running as (typeof waiters)[number]);
    });
  }

  it.each<[Order, number, number[]]>([
    ["fifo", 5000, [0, 1, 2]],
    ["lifo", 0, [2, 1, 0]],
    ["adaptive", 0, [0, 1, 2]],
    ["adaptive", 98, [0, 1, 2]],
    ["adaptive", 99, [2, 1, 0]],
  ])("%s, after the line has stood for %s ms and a little more, serves %j", (order, standingMs, expected) => {
    expect(served(order, standingMs)).toEqual(expected);
  });

  it.each([
    ["keeps to who came first, while the line holds all who come", false, 150, ["in", "waiting"]],
    ["keeps to who came first in a short burst that it does not hold", true, 90, ["in", "waiting"]],
    ["serves who came last, when the line has stood and did not hold somebody", true, 150, ["waiting", "in"]],
  ])("%s, in adaptive order", (_title, isRefused, standingMs, expected) => {
    const { clock, crowd, enter, teach } = underTest({ slots: 1, lineMs: 1000, lineItems: 2, waitMs: 1000 });
    teach(20);
    const [running] = crowd(1);
    const waiters = [enter(), enter()];
    if (isRefused) expect(enter().fate).toBe("line_full");
    clock.advance(standingMs);
    running?.release();
    clock.settle();
    expect(fates(waiters)).toEqual(expected);
  });

  it("takes who had to leave the line for one whom it did not hold", () => {
    const { clock, crowd, enter, teach, stats } = underTest({ slots: 1, lineMs: 1000, waitMs: 150 });
    teach(10);
    crowd(1);
    enter();
    clock.advance(100);
    enter();
    clock.advance(49);
    expect(stats().newestFirst).toBe(false);
    clock.advance(1);
    expect(stats()).toMatchObject({ newestFirst: true, waiting: 1, shed: { waited_too_long: 1 } });
  });

  it("forgets, once the line has been empty, that it did not hold somebody", () => {
    const { clock, crowd, enter, teach, stats } = underTest({ slots: 1, lineMs: 1000, lineItems: 1, waitMs: 1000 });
    teach(20);
    for (const isFull of [true, false]) {
      const [running] = crowd(1);
      const waiter = enter();
      if (isFull) enter();
      clock.advance(150);
      expect(stats().newestFirst).toBe(isFull);
      running?.release();
      clock.settle();
      waiter.release();
      clock.advance(1000);
    }
  });

  it("goes on with who came last where a line that slots have emptied is filled again sooner than the next slot would free", () => {
    for (const emptyMs of [1, 1000]) {
      const { clock, crowd, enter, teach, stats } = underTest({ slots: 1, lineMs: 1000, lineItems: 1, waitMs: 1000 });
      teach(20);
      const [running] = crowd(1);
      enter();
      enter();
      clock.advance(150);
      running?.release();
      clock.settle();
      expect(stats().newestFirst).toBe(false);
      clock.advance(emptyMs);
      enter();
      expect(stats().newestFirst).toBe(emptyMs === 1);
    }
  });

  it("goes back to who came first once the line has been empty", () => {
    const { clock, crowd, enter, teach, stats } = underTest({ slots: 1, lineMs: Infinity, waitMs: Infinity });
    teach(10);
    const [running] = crowd(1);
    const waiter = enter();
    clock.advance(150);
    expect(stats().newestFirst).toBe(true);
    running?.release();
    clock.settle();
    expect([waiter.fate, stats().newestFirst]).toEqual(["in", false]);
    const [first, second] = [enter(), enter()];
    waiter.release();
    clock.settle();
    expect(fates([first, second])).toEqual(["in", "waiting"]);
  });

  it("gives up who came first for who comes last when it serves those, and the line is full", () => {
    const { crowd, enter, stats } = underTest({ slots: 1, lineMs: 200, guessMs: 100, order: "lifo" });
    crowd(1);
    const waiters = [enter(), enter(), enter()];
    expect(fates(waiters)).toEqual(["line_full", "waiting", "waiting"]);
    expect(stats().waiting).toBe(2);
  });

  it("keeps the line short while adaptive serves who came last: a round of work, or 20 ms of it", () => {
    const { clock, controller, crowd, teach, stats } = underTest({ slots: 8, lineMs: 200, order: "adaptive" });
    teach(100);
    crowd(25);
    expect(stats()).toMatchObject({ lineCapacity: 16, newestFirst: false });
    clock.advance(200);
    expect(stats()).toMatchObject({ lineCapacity: 8, newestFirst: true });
    crowd(1);
    expect(stats().waiting).toBe(8);
    controller.tune({ lineMs: 50 });
    expect(stats().lineCapacity).toBe(4);
    const quick = underTest({ slots: 1, lineMs: Infinity, guessMs: 2, order: "adaptive", waitMs: Infinity });
    quick.crowd(2);
    quick.clock.advance(101);
    expect(quick.stats()).toMatchObject({ lineCapacity: 10, newestFirst: true });
  });
});

describe("what is told to those who are turned away", () => {
  it("is a place of its own for each, half the backlog away for the first", () => {
    const { crowd, enter, teach } = underTest({ slots: 8, lineMs: 200, order: "fifo" });
    teach(100);
    crowd(24);
    const waits = [enter(), enter(), enter()].map(({ answer }) => answer?.admitted === false && answer.retryAfterMs);
    expect(waits).toEqual([100, 113, 125]);
  });

  it("is no use beyond the cap, or the caller's own deadline, and no place is kept for it", () => {
    const { crowd, enter, teach } = underTest({ slots: 1, lineMs: 0, retryCapMs: 250 });
    teach(100);
    crowd(1);
    const told = [undefined, undefined, { deadlineMs: 150 }, undefined, undefined].map((ask) => {
      const { answer } = enter(ask);
      return answer?.admitted === false && [answer.retryAfterMs, answer.shouldRetry];
    });
    expect(told).toEqual([
      [0, true],
      [100, true],
      [200, false],
      [200, true],
      [250, false],
    ]);
  });

  it("may be the same for all, or when the line is worked off", () => {
    const { controller, crowd, enter, teach } = underTest({ slots: 8, lineMs: 200, order: "fifo", retryAfter: 5000 });
    teach(100);
    crowd(24);
    expect(enter().answer).toMatchObject({ retryAfterMs: 5000 });
    controller.tune({ retryAfter: "drain" });
    expect(enter().answer).toMatchObject({ retryAfterMs: 200, shouldRetry: true });
    expect(enter().answer).toMatchObject({ retryAfterMs: 200 });
    controller.tune({ retryCapMs: 100 });
    expect(enter().answer).toMatchObject({ retryAfterMs: 100, shouldRetry: false });
  });
});

describe("modes", () => {
  it("off lets everybody in at once and turns nobody away", () => {
    const { crowd, enter, stats } = underTest({ slots: 1, lineMs: 0, mode: "off" });
    const visitor = enter({ deadlineMs: 0 });
    expect(visitor.fate).toBe("in");
    crowd(9);
    expect(stats()).toMatchObject({ active: 10, admitted: 10, wouldShed: { line_full: 0 } });
    visitor.release();
    expect(stats().active).toBe(9);
  });

  it("observe lets everybody in and counts who would have been turned away, by reason", () => {
    const { enter, teach, stats } = underTest({ slots: 2, lineMs: 200, waitMs: 80, mode: "observe" });
    teach(100);
    const many = (count: number, deadlineMs?: number) =>
      Array.from({ length: count }, () => enter(deadlineMs === undefined ? undefined : { deadlineMs }));
    const visitors = [...many(3), ...many(1, -1), ...many(1, 120), ...many(1), ...many(1)];
    expect(new Set(fates(visitors))).toEqual(new Set(["in"]));
    expect(stats()).toMatchObject({
      admitted: 8,
      shed: { line_full: 0, deadline: 0 },
      wouldShed: { deadline: 1, waited_too_long: 2, line_full: 1 },
    });
  });

  it("can be switched off under load: who waits goes in", () => {
    const { clock, controller, crowd, stats } = underTest({ slots: 1, lineMs: 1000 });
    const visitors = crowd(5);
    controller.tune({ mode: "off" });
    expect(fates(visitors)).toEqual(Array(5).fill("in"));
    expect([stats().waiting, stats().active, clock.pendingTimers]).toEqual([0, 5, 0]);
    controller.tune({ mode: "enforce" });
    const [next] = crowd(1);
    for (const one of visitors.slice(0, 4)) one.release();
    clock.settle();
    expect(next?.fate).toBe("waiting");
    visitors[4]?.release();
    clock.settle();
    expect(next?.fate).toBe("in");
  });
});

describe("tuning", () => {
  it("lets more in as soon as there are more slots", () => {
    const { clock, controller, crowd } = underTest({ slots: 1, lineMs: 1000, order: "fifo" });
    const visitors = crowd(4);
    controller.tune({ slots: 3 });
    clock.settle();
    expect(fates(visitors)).toEqual(["in", "in", "in", "waiting"]);
  });

  it("lets none in until there are as few at work as there are slots", () => {
    const { clock, controller, crowd, stats } = underTest({ slots: 3, lineMs: 1000, order: "fifo" });
    const visitors = crowd(4);
    controller.tune({ slots: 1 });
    for (const one of visitors.slice(0, 2)) one.release();
    clock.settle();
    expect([stats().active, visitors[3]?.fate]).toEqual([1, "waiting"]);
    visitors[2]?.release();
    clock.settle();
    expect(visitors[3]?.fate).toBe("in");
  });

  it("changes the wait limit for those who come after", () => {
    const { clock, controller, crowd, enter } = underTest({ slots: 1, lineMs: Infinity, waitMs: 300, order: "fifo" });
    crowd(1);
    const before = enter();
    controller.tune({ waitMs: 100 });
    const after = enter();
    clock.advance(100);
    expect(fates([before, after])).toEqual(["waiting", "waited_too_long"]);
    clock.advance(200);
    expect(before.fate).toBe("waited_too_long");
  });

  it.each([
    ["the wait limit that one came with", undefined, 50, 5000, "waited_too_long"],
    ["the deadline of one who could wait longer", { deadlineMs: 60 }, 5000, 10, "deadline"],
  ])("names %s as what turned it away", (_title, ask, waitMs, tunedMs, expected) => {
    const { clock, controller, crowd, enter } = underTest({ slots: 1, lineMs: 5000, waitMs, guessMs: 1 });
    crowd(1);
    const waiter = enter(ask);
    controller.tune({ waitMs: tunedMs });
    clock.advance(60);
    expect(waiter.fate).toBe(expected);
  });
});
