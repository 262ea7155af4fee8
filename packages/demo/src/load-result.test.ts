import { describe, expect, it } from "vitest";
import type { DecisionNote } from "./decision-note.ts";
import { LoadTally } from "./load-result.ts";

const admitted = (worker: string, decision?: DecisionNote) => ({ status: 200, worker, decision });
const refused = (worker: string, decision?: DecisionNote) => ({ status: 429, worker, decision });

describe("LoadTally", () => {
  it("measures latency from the instant a request was due, not from when it was sent", () => {
    const tally = new LoadTally(1);
    tally.sent(100, 250);
    tally.answered(100, 250, 260, admitted("1"));
    const { latency, scheduleError } = tally.result();
    expect(latency.p50Ms).toBeCloseTo(160, 0);
    expect(scheduleError.maxMs).toBeCloseTo(150, 0);
  });

  it("spans from the first request sent to the last answer received", () => {
    const tally = new LoadTally(1);
    tally.sent(990, 1000);
    tally.sent(1500, 1500);
    tally.answered(1500, 1500, 1510, refused("1"));
    tally.answered(990, 1000, 1750, admitted("1"));
    expect(tally.result().spanMs).toBe(750);
  });

  it("counts an admission in the second in which its request was sent, and at its worker", () => {
    const tally = new LoadTally(3);
    for (const [sentMs, worker] of [
      [500, "a"],
      [1499, "b"],
      [1500, "b"],
      [3600, "a"],
    ] as const) {
      tally.sent(sentMs, sentMs);
      tally.answered(sentMs, sentMs, sentMs + 900, admitted(worker));
    }
    tally.sent(3600, 3600);
    tally.answered(3600, 3600, 3601, refused("c"));
    const result = tally.result();
    expect(result.admittedPerSecond).toEqual([2, 1, 1]);
    expect(result.offeredPerSecond).toEqual([2, 1, 2]);
    expect(result.admittedPerWorker).toEqual({ a: 2, b: 2 });
    expect(result.answersPerWorker).toEqual({ a: 2, b: 2, c: 1 });
    expect(result.statuses).toEqual({ 200: 4, 429: 1 });
  });

  it("counts requests without an answer by code, and has no span when there is none at all", () => {
    const tally = new LoadTally(1);
    tally.sent(0, 0);
    tally.failed("ECONNREFUSED");
    expect(tally.result()).toMatchObject({ offered: 1, failures: { ECONNREFUSED: 1 }, statuses: {}, spanMs: 0 });
  });

  it("adds up what answers say of their decisions", () => {
    const tally = new LoadTally(1);
    const notes: DecisionNote[] = [
      { source: "lease", degraded: false, durationMs: 0.1 },
      { source: "lease", degraded: false, durationMs: 0.1 },
      { source: "backstop", degraded: true, durationMs: 9 },
    ];
    for (const note of notes) {
      tally.sent(0, 0);
      tally.answered(0, 0, 5, refused("a", note));
    }
    tally.sent(0, 0);
    tally.answered(0, 0, 5, admitted("a"));
    expect(tally.result().decisions).toMatchObject({ count: 3, degraded: 1, sources: { lease: 2, backstop: 1 } });
    expect(tally.result().decisions.time.p50Ms).toBeCloseTo(0.1, 1);
    expect(tally.result().decisions.time.maxMs).toBeCloseTo(9, 0);
  });

  it("has the figures of an outage, with times since the first request was sent", () => {
    const tally = new LoadTally(10, { fromMs: 4000, toMs: 7000 });
    const lone: DecisionNote = { source: "backstop", degraded: true, durationMs: 2 };
    const shared: DecisionNote = { source: "store", degraded: false, durationMs: 50 };
    for (const [sentMs, answer] of [
      [1000, admitted("a", shared)],
      [4999, admitted("a", shared)],
      [5000, admitted("b", shared)],
      [5001, admitted("b", lone)],
      [7999, refused("b", lone)],
      [8000, admitted("b", lone)],
      [9000, admitted("b", shared)],
    ] as const) {
      tally.sent(sentMs, sentMs);
      tally.answered(sentMs, sentMs, sentMs + 10, answer);
    }
    expect(tally.result().outage).toMatchObject({
      fromMs: 4000,
      toMs: 7000,
      offered: 3,
      admitted: 2,
      degraded: 2,
      away: { b: { fromMs: 4001, toMs: 7010 } },
    });
    expect(tally.result().outage?.decisionTime.p50Ms).toBeCloseTo(2, 1);
    expect(tally.result().decisions.degraded).toBe(3);
  });
});
