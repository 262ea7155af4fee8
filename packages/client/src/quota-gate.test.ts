import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { QuotaGate, type Waiter } from "./quota-gate.ts";
import type { QuotaState } from "./quota-state.ts";

const LONGEST_MS = 60_000;
const reading = (remaining: number, resetMs: number | undefined, changed: Partial<QuotaState> = {}): QuotaState => ({
  policy: "a",
  remaining,
  resetMs,
  limit: undefined,
  windowMs: undefined,
  ...changed,
});

function gateAfter(...readings: QuotaState[]): QuotaGate {
  const gate = new QuotaGate(LONGEST_MS);
  gate.settled(gate.sent(gate.join()), readings, 0);
  return gate;
}
const joinMany = (gate: QuotaGate, calls: number): Waiter[] => Array.from({ length: calls }, () => gate.join());
/** How long each of so many callers who come together has to wait. */
const waits = (gate: QuotaGate, nowMs: number, calls: number): number[] =>
  joinMany(gate, calls).map((waiter) => gate.slot(waiter, nowMs).atMs - nowMs);

describe("pacing by what answers say is left", () => {
  it("lets through as many as are left, and then waits for the reset", () => {
    expect(waits(gateAfter(reading(2, 5000)), 0, 4)).toEqual([0, 0, 5000, 5000]);
  });

  it("gives those who wait one each by the policy's rate, where that is known", () => {
    const gate = gateAfter(reading(1, 2000, { limit: 10, windowMs: 1000 }));
    expect(waits(gate, 0, 4)).toEqual([0, 2000, 2100, 2200]);
  });

  it("does not take a second that is rounded up for a whole one where the rate shows better", () => {
    const gate = gateAfter(reading(0, 1000, { limit: 50, windowMs: 1000 }));
    expect(waits(gate, 0, 3)).toEqual([20, 40, 60]);
  });

  it("takes calls under way as not counted yet, and wakes who waits when they turn out to be", () => {
    const gate = new QuotaGate(LONGEST_MS);
    const places = joinMany(gate, 3).map((waiter) => gate.sent(waiter));
    gate.settled(places[0] as number, [reading(2, 5000)], 0);
    const [first, second] = joinMany(gate, 2) as [Waiter, Waiter];
    const woken: string[] = [];
    for (const [waiter, name] of [
      [first, "first"],
      [second, "second"],
    ] as const) {
      waiter.toldMs = gate.slot(waiter, 0).atMs;
      waiter.wake = () => woken.push(name);
    }
    expect([first.toldMs, second.toldMs]).toEqual([5000, 5000]);
    gate.settled(places[1] as number, [reading(2, 5000)], 0);
    expect(woken).toEqual(["first"]);
  });

  it("wakes nobody whose time has come, and who waits out a part of the spread", () => {
    const gate = gateAfter(reading(0, 1500));
    const waiter = gate.join();
    const place = gate.sent(gate.join());
    waiter.toldMs = gate.slot(waiter, 0).atMs;
    waiter.wake = () => expect.unreachable("woken");
    gate.settled(place, [], 1600);
    expect(gate.slot(waiter, 1600).atMs).toBe(1600);
  });

  it("lets nobody overtake: who comes later stands behind those who wait", () => {
    const gate = gateAfter(reading(1, 5000));
    const [early, late] = joinMany(gate, 2) as [Waiter, Waiter];
    expect(gate.slot(late, 0).atMs).toBe(5000);
    expect(gate.slot(early, 0).atMs).toBe(0);
    gate.leave(early);
    expect(gate.slot(late, 0).atMs).toBe(0);
  });

  it("takes only bad news from an answer that may have been overtaken", () => {
    const gate = new QuotaGate(LONGEST_MS);
    const places = joinMany(gate, 3).map((waiter) => gate.sent(waiter)) as [number, number, number];
    gate.settled(places[2], [reading(5, 5000)], 0);
    gate.settled(places[0], [reading(9, 5000)], 0);
    expect(waits(gate, 0, 6).filter((ms) => ms === 0).length).toBe(4);
    gate.settled(places[1], [reading(0, 5000)], 0);
    expect(waits(gate, 0, 1)).toEqual([5000]);
  });

  it("waits for the strictest of several policies, and not for one that names no reset", () => {
    const gate = gateAfter(reading(0, 3000), reading(0, 9000, { policy: "b" }), reading(0, undefined, { policy: "c" }));
    expect(waits(gate, 0, 1)).toEqual([9000]);
  });

  it("forgets a policy after its reset, and one with a rate after a window more", () => {
    expect(waits(gateAfter(reading(0, 3000)), 3000, 3)).toEqual([0, 0, 0]);
    const rated = (): QuotaGate => gateAfter(reading(0, 3000, { limit: 2, windowMs: 2000 }));
    expect(waits(rated(), 3000, 3)).toEqual([0, 1000, 2000]);
    expect(waits(rated(), 5000, 3)).toEqual([0, 0, 0]);
  });

  it("believes no answer for longer than the longest wait", () => {
    expect(waits(gateAfter(reading(0, 9e15)), 0, 1)).toEqual([LONGEST_MS]);
  });
});

describe("a pause", () => {
  const paused = (): QuotaGate => {
    const gate = new QuotaGate(LONGEST_MS);
    gate.pause(0, 2000, 1000);
    gate.pause(0, 500, 0);
    return gate;
  };

  it("holds all calls back, and a shorter one does not end a longer one", () => {
    const gate = paused();
    expect(gate.slot(gate.join(), 100)).toEqual({ atMs: 2000, spreadMs: 1000 });
    expect(gate.slot(gate.join(), 2000)).toEqual({ atMs: 2000, spreadMs: 0 });
  });

  it("is never longer than the longest wait", () => {
    const gate = new QuotaGate(LONGEST_MS);
    gate.pause(0, 1e15, 0);
    expect(waits(gate, 0, 1)).toEqual([LONGEST_MS]);
  });
});

it("never tells a time in the past or one that is no number, and never lets more go than the last answer leaves", () => {
  const step = fc.record({
    do: fc.constantFrom("join", "send", "leave", "settle"),
    gapMs: fc.nat(500),
    remaining: fc.nat(5),
    resetMs: fc.integer({ min: 1500, max: 5000 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
      const gate = new QuotaGate(LONGEST_MS);
      const [line, underWay]: [Waiter[], number[]] = [[], []];
      let [nowMs, left, knownUntilMs] = [0, Number.POSITIVE_INFINITY, 0];
      for (const { do: what, gapMs, remaining, resetMs } of steps) {
        nowMs += gapMs;
        if (what === "join") line.push(gate.join());
        if (what === "leave" && line.length > 0) gate.leave(line.pop() as Waiter);
        if (what === "settle" && underWay.length > 0) {
          // Answers in order, so that each is the newest.
          gate.settled(underWay.shift() as number, [reading(remaining, resetMs)], nowMs);
          [left, knownUntilMs] = [remaining - underWay.length, nowMs + resetMs];
        }
        const [first] = line;
        if (first === undefined) continue;
        const { atMs, spreadMs } = gate.slot(first, nowMs);
        expect(atMs).toBeGreaterThanOrEqual(nowMs);
        expect(Number.isFinite(atMs) && spreadMs >= 0 && spreadMs <= 1000).toBe(true);
        if (what !== "send" || atMs > nowMs) continue;
        if (nowMs < knownUntilMs) expect(left--).toBeGreaterThan(0);
        line.shift();
        underWay.push(gate.sent(first));
      }
    }),
  );
});
