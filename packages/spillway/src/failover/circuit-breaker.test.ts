import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  admitsCall,
  type BreakerEvent,
  type BreakerState,
  longestProbePauseMs,
  longestUnnoticedMs,
  newBreaker,
  nextBreaker,
} from "./circuit-breaker.ts";

const EVENTS = {
  answer: { kind: "answered" },
  miss: { kind: "missed" },
  fault: { kind: "failed", fatal: false, reason: "WRONGTYPE" },
  fatal: { kind: "failed", fatal: true, reason: "READONLY" },
  "probe answer": { kind: "probe-answered" },
  "probe fault": { kind: "probe-failed", reason: "ECONNREFUSED" },
  trial: { kind: "trial-started" },
} as const satisfies Record<string, BreakerEvent>;
type EventName = keyof typeof EVENTS;

/** Plays events, `stepMs` apart. "3 x miss" is three of them. */
function after(events: string, stepMs = 1, chance = 0.5): BreakerState {
  let nowMs = 0;
  let state = newBreaker(nowMs);
  for (const part of events.split(", ").filter((text) => text !== "")) {
    const [, times = "1", name] = /^(?:(\d+) x )?(.+)$/.exec(part) ?? [];
    for (let i = 0; i < Number(times); i++) {
      nowMs += stepMs;
      state = nextBreaker(state, EVENTS[name as EventName], nowMs, chance);
    }
  }
  return state;
}

const kindAfter = (events: string, stepMs?: number): string => after(events, stepMs).kind;

describe("a closed breaker", () => {
  it.each([
    ["", "closed"],
    ["2 x miss", "closed"],
    ["3 x miss", "open"],
    ["2 x miss, answer, 2 x miss", "closed"],
    ["2 x miss, answer, 3 x miss", "open"],
    ["2 x miss, fault, miss", "open"],
    ["fatal", "open"],
    ["5 x answer, fatal", "open"],
    ["19 x fault", "closed"],
    ["20 x fault", "open"],
    ["10 x answer, 9 x fault", "closed"],
    ["10 x answer, 10 x fault", "open"],
    ["11 x answer, 10 x fault", "closed"],
    ["11 x answer, 11 x fault", "open"],
    ["100 x answer, 99 x fault", "closed"],
    ["100 x answer, 100 x fault", "open"],
    ["2 x trial, 2 x probe answer, 2 x probe fault", "closed"],
  ])("after [%s] is %s", (events, kind) => {
    expect(kindAfter(events)).toBe(kind);
  });

  it("forgets failures that are older than a second, but not misses that no answer followed", () => {
    expect(kindAfter("19 x fault, 19 x fault", 53)).toBe("closed");
    expect(kindAfter("20 x fault", 49)).toBe("open");
    expect(kindAfter("3 x miss", 5000)).toBe("open");
  });

  it("says why it opened, and since when", () => {
    expect(after("answer, 3 x miss")).toMatchObject({ reason: "no reply within the deadline", sinceMs: 4 });
    expect(after("fatal")).toMatchObject({ reason: "READONLY", sinceMs: 1 });
  });
});

describe("an open breaker", () => {
  it.each([
    ["answer", "open"],
    ["miss", "open"],
    ["fault", "open"],
    ["fatal", "open"],
    ["trial", "open"],
    ["probe fault", "open"],
    ["probe answer", "half-open"],
  ])("after [%s] is %s", (events, kind) => {
    expect(kindAfter(`3 x miss, ${events}`)).toBe(kind);
  });

  it("keeps the probe that is due, whatever comes late (C21 a)", () => {
    const opened = after("3 x miss");
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(EVENTS.answer, EVENTS.miss, EVENTS.fault, EVENTS.fatal, EVENTS.trial)),
        (late) => {
          expect(late.reduce<BreakerState>((state, event) => nextBreaker(state, event, 50, 0.1), opened)).toBe(opened);
        },
      ),
      { numRuns: 50 },
    );
  });

  it("probes after 50 ms, and then after a tenth of the time since it opened, half a second at most", () => {
    const pauses = [0, 100, 400, 600, 2000, 4900, 60_000].map((openMs) => {
      const state = nextBreaker(after("fatal"), EVENTS["probe fault"], 1 + openMs, 0.5);
      return state.kind === "open" ? state.nextProbeMs - (1 + openMs) : undefined;
    });
    expect(pauses).toEqual([50, 50, 50, 60, 200, 490, 500]);
  });

  it("never waits longer for the next probe than others count on", () => {
    for (const openMs of [0, 499, 501, 3000, 80_000]) {
      const state = nextBreaker(after("fatal"), EVENTS["probe fault"], 1 + openMs, 0.999999);
      const pauseMs = state.kind === "open" ? state.nextProbeMs - (1 + openMs) : Number.NaN;
      expect(pauseMs).toBeCloseTo(longestProbePauseMs(openMs), 2);
      expect(longestUnnoticedMs(openMs, 50)).toBeCloseTo(pauseMs + 100, 2);
    }
  });

  it("spreads its probes by chance from three to five quarters of the delay", () => {
    const dueAfter = (chance: number): number | undefined => {
      const state = after("fatal", 10, chance);
      return state.kind === "open" ? state.nextProbeMs : undefined;
    };
    expect([dueAfter(0), dueAfter(0.5), dueAfter(0.999)]).toEqual([47.5, 60, expect.closeTo(72.475, 5)]);
  });

  it("keeps its first reason and its start through probes and failed trials", () => {
    expect(after("fatal, 5 x probe fault")).toMatchObject({ reason: "READONLY", sinceMs: 1 });
    expect(after("fatal, probe answer, trial, miss")).toMatchObject({ reason: "READONLY", sinceMs: 1 });
  });
});

describe("a half-open breaker", () => {
  const HALF_OPEN = "3 x miss, probe answer";

  it.each([
    ["trial", "half-open"],
    ["trial, answer", "closed"],
    ["trial, miss", "open"],
    ["trial, fault", "open"],
    ["trial, fatal", "open"],
    // Late events of calls that were sent before it opened.
    ["answer", "half-open"],
    ["miss", "half-open"],
    ["fatal", "half-open"],
    ["probe answer", "half-open"],
    ["probe fault", "half-open"],
    ["trial, probe fault", "half-open"],
  ])("after [%s] is %s", (events, kind) => {
    expect(kindAfter(`${HALF_OPEN}, ${events}`)).toBe(kind);
  });

  it("lets exactly one call through (C21 b)", () => {
    expect(admitsCall(after(HALF_OPEN))).toBe(true);
    expect(admitsCall(after(`${HALF_OPEN}, trial`))).toBe(false);
    expect(after(`${HALF_OPEN}, 2 x trial`)).toEqual(after(`${HALF_OPEN}, trial`));
  });

  it("goes on as before when a trial fails that came at once, and as one that opens anew when it came later", () => {
    const failedAfter = (ms: number): number | undefined => {
      let state = nextBreaker(after("fatal"), EVENTS["probe answer"], 4001, 0.5);
      state = nextBreaker(state, EVENTS.trial, 4001 + ms, 0.5);
      state = nextBreaker(state, EVENTS.miss, 4051 + ms, 0.5);
      return state.kind === "open" ? state.nextProbeMs - (4051 + ms) : undefined;
    };
    expect([0, 90, 110, 5000].map(failedAfter)).toEqual([405, 414, 50, 50]);
    expect(after("fatal, probe fault, probe answer, trial, answer, fatal")).toMatchObject({ openedMs: 6, sinceMs: 6 });
  });

  it("closes without memory of what was before", () => {
    expect(kindAfter(`19 x fault, fatal, probe answer, trial, answer, 2 x miss`)).toBe("closed");
  });
});

describe("a breaker under any events", () => {
  it("lets calls through unless it is open or on trial, and can always be closed again", () => {
    const anyEvent = fc.constantFrom(...Object.values(EVENTS));
    fc.assert(
      fc.property(fc.array(fc.tuple(anyEvent, fc.nat(1500)), { maxLength: 40 }), (events) => {
        let nowMs = 0;
        let state = newBreaker(nowMs);
        for (const [event, ms] of events) {
          nowMs += ms;
          state = nextBreaker(state, event, nowMs, 0.5);
          expect(admitsCall(state)).toBe(
            state.kind === "closed" || (state.kind === "half-open" && state.trialMs === undefined),
          );
          if (state.kind === "open") {
            const mostMs = longestProbePauseMs(nowMs - state.openedMs);
            expect(state.nextProbeMs - nowMs).toBeLessThanOrEqual(mostMs);
          }
        }
        for (const event of [EVENTS["probe answer"], EVENTS.trial, EVENTS.answer])
          state = nextBreaker(state, event, nowMs, 0.5);
        expect(state.kind).toBe("closed");
      }),
      { numRuns: 100 },
    );
  });
});
