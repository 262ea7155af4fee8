import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AcquireOptions } from "./ask.ts";
import { Line } from "./line.ts";
import type { Permit } from "./permit.ts";
import { fates, LeakyLine, underTest, type Visitor } from "./test-support.ts";

const WAIT_MS = 30;

describe("four callers who wait 30 ms each for a slot that is held, with a line of two", () => {
  function scene(line: Line) {
    const { clock, crowd, enter, stats } = underTest({ slots: 1, lineMs: 2, guessMs: 1, waitMs: WAIT_MS }, line);
    const [holder] = crowd(1);
    const visitors = Array.from({ length: 4 }, () => {
      const visitor = enter();
      clock.advance(WAIT_MS);
      return visitor;
    });
    const left = stats().waiting;
    const next = enter();
    clock.advance(10);
    holder?.release();
    clock.settle();
    return { fates: fates(visitors), left, next: next.fate };
  }

  it("each wait, each leave nothing behind, and who comes next is served after 10 ms", () => {
    expect(scene(new Line())).toEqual({ fates: Array(4).fill("waited_too_long"), left: 0, next: "in" });
  });

  it("shut out everybody who has to wait where the line's counter leaks", () => {
    expect(scene(new LeakyLine())).toEqual({
      fates: ["waited_too_long", "waited_too_long", "line_full", "line_full"],
      left: 2,
      next: "line_full",
    });
  });
});

type Step =
  | { readonly do: "enter"; readonly cost: number; readonly deadlineMs: number | undefined; readonly aborts: boolean }
  | { readonly do: "abort" | "leave" | "release" | "fail"; readonly whom: number }
  | { readonly do: "advance"; readonly ms: number }
  | { readonly do: "block"; readonly ms: number }
  | { readonly do: "turn" }
  | { readonly do: "tune"; readonly slots: number; readonly lineMs: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("enter" as const),
      cost: fc.constantFrom(1, 1, 1, 2, 5),
      deadlineMs: fc.constantFrom(undefined, undefined, -1, 5, 20, 100),
      aborts: fc.boolean(),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constantFrom("abort", "leave", "release", "release", "fail"), whom: fc.nat(11) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("advance", "block"), ms: fc.nat(50) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("turn" as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("tune" as const),
      slots: fc.integer({ min: 1, max: 4 }),
      lineMs: fc.nat(100),
    }),
  },
);

interface Guest extends Visitor {
  readonly abort: AbortController | undefined;
  hasLeft: boolean;
  answers: number;
}

/** Plays steps on a controller and says what it did wrong. */
class Play {
  readonly #scene: ReturnType<typeof underTest>;
  readonly #guests: Guest[] = [];

  constructor(order: "fifo" | "lifo" | "adaptive", line: Line) {
    this.#scene = underTest({ slots: 2, lineMs: 40, lineItems: 6, guessMs: 10, waitMs: WAIT_MS, order }, line);
  }

  step(one: Step): void {
    const { clock, controller, stats } = this.#scene;
    if (one.do === "enter") this.#enter(one);
    else if (one.do === "turn") clock.turn();
    else if (one.do === "advance") clock.advance(one.ms);
    else if (one.do === "block") clock.block(one.ms);
    else if (one.do === "tune") controller.tune({ slots: one.slots, lineMs: one.lineMs });
    else this.#actOn(this.#guests[one.whom % Math.max(1, this.#guests.length)], one.do);
    expect(stats().waiting).toBeLessThanOrEqual(6);
    expect(stats().active).toBeGreaterThanOrEqual(0);
    expect(stats().active).toBeLessThanOrEqual(4);
  }

  /** Gives everything back and lets time pass: then nothing may be left of anybody. */
  end(): void {
    const { clock, crowd, stats } = this.#scene;
    for (let round = 0; round < 20; round++) {
      for (const guest of this.#guests) guest.release();
      clock.advance(WAIT_MS);
    }
    for (const guest of this.#guests) expect(guest.answers).toBe(guest.hasLeft ? 0 : 1);
    expect(stats()).toMatchObject({ active: 0, waiting: 0 });
    expect([clock.pendingTimers, clock.pendingTurns]).toEqual([0, 0]);
    const { admitted, shed } = stats();
    const turnedAway = Object.values(shed).reduce((sum, count) => sum + count, 0);
    expect(admitted + turnedAway).toBe(this.#guests.length);
    const [holder, ...next] = crowd(2);
    expect(holder?.fate).toBe("in");
    expect(next.every(({ fate }) => fate === "waiting" || fate === "in" || stats().lineCapacity === 0)).toBe(true);
  }

  #enter({ cost, deadlineMs, aborts }: Extract<Step, { do: "enter" }>): void {
    const abort = aborts ? new AbortController() : undefined;
    const asked: AcquireOptions = {
      cost,
      ...(deadlineMs === undefined ? {} : { deadlineMs }),
      ...(abort === undefined ? {} : { signal: abort.signal }),
    };
    let answers = 0;
    const visitor = this.#scene.enter(asked, (answer) => {
      answers++;
      if (answer.admitted) this.#checkPermit(answer, abort);
    });
    const guest = Object.defineProperties(visitor, {
      abort: { value: abort },
      hasLeft: { value: false, writable: true },
      answers: { get: () => answers },
    }) as Guest;
    this.#guests.push(guest);
  }

  #checkPermit(permit: Permit, abort: AbortController | undefined): void {
    expect(abort?.signal.aborted ?? false).toBe(false);
    expect(permit.remainingMs()).toBeGreaterThan(0);
  }

  #actOn(guest: Guest | undefined, what: "abort" | "leave" | "release" | "fail"): void {
    if (guest === undefined) return;
    if (what === "abort") guest.abort?.abort();
    else if (what === "leave") {
      if (guest.answers === 0 && guest.place !== undefined) guest.hasLeft = true;
      guest.place?.leave();
    } else if (guest.answer?.admitted) guest.answer.release(what === "fail" ? "failed" : "done");
  }
}

/** The property of every line: whatever happens, in the end nothing is left. */
function nothingIsLeft(makeLine: () => Line) {
  const steps = fc.array(step, { minLength: 1, maxLength: 40 });
  return fc.property(fc.constantFrom("fifo", "lifo", "adaptive"), steps, (order, plan) => {
    const play = new Play(order, makeLine());
    for (const one of plan) play.step(one);
    play.end();
  });
}

describe("whatever callers do", () => {
  it("each is answered once, and slots, places, timers and turns all come back", () => {
    fc.assert(
      nothingIsLeft(() => new Line()),
      { numRuns: 1000 },
    );
  });

  it("a line whose counter leaks is found out within a second", () => {
    const startedMs = performance.now();
    const found = fc.check(
      nothingIsLeft(() => new LeakyLine()),
      { numRuns: 1000, seed: 1, endOnFailure: true },
    );
    expect(String(found.errorInstance)).toMatch(/^AssertionError/);
    expect(performance.now() - startedMs).toBeLessThan(1000);
  });
});
