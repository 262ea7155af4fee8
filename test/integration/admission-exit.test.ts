import { type Admission, createAdmission } from "@spillway/admission";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type ProgramEnd, startProgram } from "../support/run-program.ts";

const told = ({ output }: ProgramEnd): unknown[] =>
  output
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as unknown);
const lived = ({ output }: ProgramEnd): number => Number(/^lived (\d+)$/m.exec(output)?.[1] ?? Number.NaN);
const served = { admitted: true };
const waited = { admitted: false, reason: "waited_too_long" };

describe("C16: a program that uses admission and closes nothing", { timeout: 60_000 }, () => {
  it.each([
    ["idle", "exits at once", [], 0, 1000],
    ["served", "exits at once with its permit in hand", [served], 0, 1000],
    ["passed", "exits at once when nobody waits any more", [served], 0, 1000],
    ["waiting", "stays until those who wait have their answer", [served, waited, waited], 900, 10_000],
    ["inTurn", "stays until those who wait have been served", [served, served, served], 500, 10_000],
  ])("(%s) %s", async (what, _title, expected, leastMs, mostMs) => {
    const end = await startProgram("admission-end-of-file.mjs", { env: { WHAT: what } }).ended;
    expect([end.code, end.signal, end.errors]).toEqual([0, null, ""]);
    expect(told(end)).toEqual(expected);
    expect(lived(end)).toBeGreaterThanOrEqual(leastMs);
    expect(lived(end)).toBeLessThan(mostMs);
  });
});

describe("C16: a test runner's fake timers", () => {
  afterEach(() => void vi.useRealTimers());

  async function holder(admission: Admission): Promise<() => void> {
    const permit = await admission.acquire();
    return () => permit.admitted && permit.release();
  }

  it("do not keep a request from a slot that is free, a day back and a minute on", async () => {
    const admission = createAdmission({ slots: 1 });
    (await holder(admission))();
    vi.useFakeTimers();
    (await holder(admission))();
    vi.setSystemTime(new Date(Date.now() - 86_400_000).setHours(0, 0, 0, 0));
    (await holder(admission))();
    vi.advanceTimersByTime(60_000);
    (await holder(admission))();
    expect(admission.stats()).toMatchObject({ active: 0, admitted: 4 });
  });

  it("move the wait limit and the deadline", async () => {
    vi.useFakeTimers();
    const admission = createAdmission({ slots: 1, waitMs: 300 });
    const release = await holder(admission);
    const waits = admission.acquire();
    vi.advanceTimersByTime(300);
    expect(await waits).toMatchObject(waited);
    release();
    const permit = await admission.acquire({ deadlineMs: 500 });
    vi.advanceTimersByTime(200);
    expect(permit.admitted && permit.remainingMs()).toBe(300);
  });

  it("switched on while somebody waits do not make the wait endless", async () => {
    const admission = createAdmission({ slots: 1, waitMs: 100 });
    const release = await holder(admission);
    const waits = admission.acquire();
    vi.useFakeTimers();
    expect(await waits).toMatchObject(waited);
    release();
    expect(admission.stats()).toMatchObject({ active: 0, waiting: 0 });
  });
});
