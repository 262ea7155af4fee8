import { describe, expect, it } from "vitest";
import { fates, underTest } from "./test-support.ts";

describe("rule 1: the line is visible to arrivals, even where work computes", () => {
  it("starts nothing before the arrivals of the same turn are read, and turns away those that find no place", () => {
    const { clock, enter } = underTest({ slots: 1, lineMs: 200, guessMs: 100, order: "fifo" });
    const worked: number[] = [];
    const visitors = Array.from({ length: 10 }, (_, index) =>
      enter(undefined, ({ admitted }) => admitted && worked.push(index)),
    );
    expect(worked).toEqual([]);
    expect(fates(visitors)).toEqual([...Array(3).fill("waiting"), ...Array(7).fill("line_full")]);
    clock.turn();
    expect(worked).toEqual([0]);
  });

  it("lets the loop catch up between two jobs that compute, however many slots there are", () => {
    const { clock, enter } = underTest({ slots: 4, lineMs: 0, order: "fifo" });
    const order: string[] = [];
    const compute = (name: string) =>
      enter(undefined, (answer) => {
        order.push(answer.admitted ? name : `no ${name}`);
        if (!answer.admitted) return;
        clock.block(10);
        answer.release();
      });
    for (const name of ["a", "b", "c", "d"]) compute(name);
    // One connection is accepted in each turn, and read in the next one: what waits in the kernel comes in one by one.
    clock.turn();
    for (const name of ["e", "f", "g", "h"]) {
      clock.turn();
      compute(name);
    }
    clock.settle();
    expect(order).toEqual(["a", "no f", "no g", "no h", "b", "c", "d", "e"]);
  });

  it("does not let arrivals that never end keep work from starting", () => {
    const { clock, enter } = underTest({ slots: 4, lineMs: 0, order: "fifo" });
    let jobs = 0;
    const compute = () =>
      enter(undefined, (answer) => {
        if (answer.admitted) jobs++;
        clock.block(answer.admitted ? 10 : 1);
      });
    for (let i = 0; i < 4; i++) compute();
    for (let turn = 0; turn < 40; turn++) {
      clock.turn();
      compute();
    }
    expect(jobs).toBe(4);
  });

  it("starts many in one turn when they take no time before they wait", () => {
    const { clock, enter } = underTest({ slots: 4 });
    const visitors = Array.from({ length: 4 }, () => enter());
    clock.turn();
    expect(fates(visitors)).toEqual(["in", "in", "in", "in"]);
  });

  it("reads arrivals before a slot that frees is handed over", () => {
    const { clock, enter, crowd } = underTest({ slots: 1, lineMs: 200, guessMs: 100, order: "lifo" });
    const [running] = crowd(1);
    const early = enter();
    running?.release();
    const late = enter();
    expect(fates([early, late])).toEqual(["waiting", "waiting"]);
    clock.settle();
    expect(fates([early, late])).toEqual(["waiting", "in"]);
  });
});

describe("rule 2: who could not be served in time is not served", () => {
  it("drops one at its turn when work takes longer than it has left", () => {
    const { clock, controller, enter, teach } = underTest({ slots: 1, lineMs: 1000, order: "fifo", waitMs: Infinity });
    teach(100);
    const running = enter();
    clock.settle();
    const hopeless = enter({ deadlineMs: 150 });
    const hopeful = enter({ deadlineMs: 250 });
    // The timer has not come to it: the loop was blocked.
    clock.block(60);
    running.release();
    clock.settle();
    expect(fates([hopeless, hopeful])).toEqual(["deadline", "in"]);
    expect(controller.stats().shed.deadline).toBe(1);
  });

  it("tells one who waits as soon as it is hopeless, not when the slot frees", () => {
    const { clock, enter, teach } = underTest({ slots: 1, lineMs: 1000, order: "fifo", waitMs: 5000 });
    teach(100);
    enter();
    clock.settle();
    const waiter = enter({ deadlineMs: 400 });
    clock.advance(299);
    expect(waiter.fate).toBe("waiting");
    clock.advance(1);
    expect(waiter.fate).toBe("deadline");
  });

  it("tells one who waits at once when work turns out to take longer, and another one frees no slot for it", () => {
    const { clock, controller, crowd, enter, teach } = underTest({
      slots: 2,
      lineMs: 5000,
      order: "fifo",
      waitMs: 5000,
    });
    teach(10);
    const [running] = crowd(2);
    const [hopeless, hopeful] = [enter({ deadlineMs: 1000 }), enter({ deadlineMs: 2000 })];
    controller.tune({ slots: 1 });
    clock.advance(910);
    running?.release();
    expect(controller.stats()).toMatchObject({ active: 1, workMs: 10 + 900 / 8 });
    clock.advance(1);
    expect(fates([hopeless, hopeful])).toEqual(["deadline", "waiting"]);
  });

  it("lets one in that seemed hopeless, where work turns out to take less before the timer has run", () => {
    const { clock, crowd, enter, teach } = underTest({ slots: 1, lineMs: 5000, order: "fifo", waitMs: 5000 });
    teach(500);
    const [running] = crowd(1);
    const waiter = enter({ deadlineMs: 600 });
    clock.block(120);
    running?.release();
    clock.settle();
    expect(waiter.fate).toBe("in");
  });

  it("does not let one wait that is hopeless when it comes", () => {
    const { clock, enter, teach } = underTest({ slots: 1 });
    teach(100);
    enter();
    clock.settle();
    expect(enter({ deadlineMs: 99 }).fate).toBe("deadline");
    expect(enter({ deadlineMs: 101 }).fate).toBe("waiting");
  });

  it("gives an idle slot away whatever the estimate says, so that a wrong one is put right", () => {
    const { clock, enter, crowd, teach, stats } = underTest({ slots: 1 });
    teach(60_000);
    for (let i = 0; i < 40; i++) {
      const [visitor] = crowd(1, { deadlineMs: 1000 });
      expect(visitor?.fate).toBe("in");
      clock.advance(10);
      visitor?.release();
    }
    expect(stats().workMs).toBeLessThan(1000);
    expect(enter({ deadlineMs: 1000 }).fate).toBe("waiting");
  });
});

describe("rule 3: slots and places are given back once, whatever happens", () => {
  it("takes a permit back once", () => {
    const { crowd, stats } = underTest({ slots: 2 });
    const [visitor, other] = crowd(2);
    for (let i = 0; i < 3; i++) visitor?.release();
    if (visitor?.answer?.admitted) visitor.answer[Symbol.dispose]();
    expect(stats()).toMatchObject({ active: 1 });
    other?.release();
    expect(stats()).toMatchObject({ active: 0 });
  });

  it("passes a slot on at once when the one it is meant for leaves", () => {
    const { clock, enter, crowd, stats } = underTest({ slots: 1, order: "fifo" });
    const [running] = crowd(1);
    const [first, second] = [enter(), enter()];
    running?.release();
    first.place?.leave();
    first.place?.leave();
    clock.settle();
    expect(fates([first, second])).toEqual(["waiting", "in"]);
    expect(stats()).toMatchObject({ active: 1, waiting: 0, shed: { cancelled: 1 } });
  });

  it("gives the slot back of one who leaves before it has started", () => {
    const { clock, enter, stats } = underTest({ slots: 1 });
    const [first, second] = [enter(), enter()];
    first.place?.leave();
    expect(stats().active).toBe(0);
    clock.settle();
    expect(fates([first, second])).toEqual(["waiting", "in"]);
  });

  it("gives the slot back of an answer that throws, and answers the others", () => {
    const { clock, enter, stats } = underTest({ slots: 2 });
    const uncaught: unknown[] = [];
    const fail = (): never => {
      throw new Error("boom");
    };
    const original = globalThis.queueMicrotask;
    globalThis.queueMicrotask = (run) => {
      try {
        run();
      } catch (error) {
        uncaught.push(error);
      }
    };
    try {
      enter(undefined, fail);
      const other = enter();
      clock.settle();
      expect(other.fate).toBe("in");
    } finally {
      globalThis.queueMicrotask = original;
    }
    expect(uncaught).toEqual([new Error("boom")]);
    expect(stats().active).toBe(1);
  });
});

describe("rule 4: a refusal costs next to nothing", () => {
  it("is a plain value, made and answered in the same turn, without a timer or a turn", () => {
    const { clock, controller, enter, crowd } = underTest({ slots: 1, lineMs: 0 });
    crowd(1);
    const refused = enter();
    expect(refused.answer).toEqual({ admitted: false, reason: "line_full", retryAfterMs: 0, shouldRetry: true });
    expect([refused.place, clock.pendingTurns, clock.pendingTimers]).toEqual([undefined, 0, 0]);
    expect(controller.enterNow(undefined)).toMatchObject({ admitted: false, reason: "line_full" });
  });
});

describe("rule 5: no setting locks a request out, and a slow reader is not slow work", () => {
  it("lets one in that asks for more slots than there are, alone", () => {
    const { clock, enter, crowd, stats } = underTest({ slots: 4, order: "fifo" });
    const [small] = crowd(1);
    const huge = enter({ cost: 100 });
    clock.settle();
    expect(huge.fate).toBe("waiting");
    small?.release();
    clock.settle();
    expect(huge.fate).toBe("in");
    expect(stats().active).toBe(4);
    huge.release();
    expect(stats().active).toBe(0);
  });

  it("lets one in that asks for more slots than there are, at once and without a line, where nobody is at work", () => {
    const { crowd, stats } = underTest({ slots: 4, lineMs: 0 });
    expect(fates(crowd(1, { cost: 1_000_000_000 }))).toEqual(["in"]);
    expect(stats().active).toBe(4);
  });

  it("lets one wait that needs more than the line holds, where nobody else waits", () => {
    const { clock, enter, crowd } = underTest({ slots: 4, lineMs: 10, guessMs: 100, order: "fifo" });
    const running = crowd(3);
    const wide = enter({ cost: 4 });
    expect(fates([wide, enter()])).toEqual(["waiting", "line_full"]);
    for (const one of running) one.release();
    clock.settle();
    expect(wide.fate).toBe("in");
  });

  it("lets one in that came when there were more slots", () => {
    const { clock, controller, enter, crowd, stats } = underTest({ slots: 4, order: "fifo" });
    const running = crowd(4);
    const wide = enter({ cost: 4 });
    controller.tune({ slots: 2 });
    for (const one of running) one.release();
    clock.settle();
    expect(wide.fate).toBe("in");
    wide.release();
    expect(stats().active).toBe(0);
  });

  it("does not let small ones pass one that needs several slots", () => {
    const { clock, enter, crowd } = underTest({ slots: 2, order: "fifo" });
    const [first, second] = crowd(2);
    const wide = enter({ cost: 2 });
    const small = enter();
    first?.release();
    clock.settle();
    expect(fates([wide, small])).toEqual(["waiting", "waiting"]);
    second?.release();
    clock.settle();
    expect(fates([wide, small])).toEqual(["in", "waiting"]);
  });

  it("does not take work that callers cut off for quick work: they cannot make the line longer", () => {
    const { clock, enter, teach, stats } = underTest({ slots: 4 });
    teach(200);
    for (const end of ["abandoned", "aborted"]) {
      for (let i = 0; i < 60; i++) {
        const abort = new AbortController();
        const visitor = enter({ signal: abort.signal });
        clock.advance(3);
        if (end === "aborted") abort.abort();
        if (visitor.answer?.admitted) visitor.answer.release(end === "aborted" ? "done" : "abandoned");
      }
      expect(stats()).toMatchObject({ holdMs: 200, workMs: 200, lineCapacity: 4 });
    }
    expect(stats().wasted).toBe(120);
  });

  it("counts the time of the work up to its end, and the time of the slot up to its return", () => {
    const { clock, enter, stats } = underTest({ slots: 1 });
    const visitor = enter();
    clock.advance(20);
    if (visitor.answer?.admitted) visitor.answer.endWork();
    clock.advance(980);
    if (visitor.answer?.admitted) visitor.answer.endWork();
    visitor.release();
    expect(stats()).toMatchObject({ workMs: 20, holdMs: 1000 });
  });
});
