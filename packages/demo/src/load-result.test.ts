import { describe, expect, it } from "vitest";
import { LoadTally } from "./load-result.ts";

const admitted = (worker: string) => ({ status: 200, worker });
const refused = (worker: string) => ({ status: 429, worker });

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
});
