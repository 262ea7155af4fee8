import { DEADLINE_MS, type FaultRun, KEYS, POLICY, PROCESSES } from "./fault.ts";
import type { WorkerReport } from "./load-fleet.ts";

/** What every fault is held to. */
export const MARKS = {
  missed: 3,
  p999Ms: DEADLINE_MS + 10,
  backMs: 3_000,
  /** From when on nobody waits any more, after the store fell silent. */
  openAfterMs: 200,
} as const;

/** What a fault is held to besides {@link MARKS}. */
export interface Expectation {
  /** How often each process leaves the store alone and returns to it: one line each way. */
  readonly absences: 0 | 1;
  /** Whether the store answers nothing at all meanwhile, so that nobody waits for it once that is known. */
  readonly silent?: boolean;
  /** Whether the store comes back without the buckets that it had. */
  readonly forgets?: boolean;
  /** Whether there are decisions that were made without the store; there are where it is left alone. */
  readonly degraded?: "some" | "none" | "perhaps";
}

/** One line of the table. */
export interface ChaosRow {
  readonly fault: string;
  /** Calls without a reply in time, of the process that has most. */
  readonly missed: number;
  /** Of all decisions, less the delay of the event loop. */
  readonly p999Ms: number;
  readonly longestMs: number;
  readonly wrong: number;
  readonly admitted: number;
  readonly bound: number;
  /** From the end of the fault to the last decision that was made without the store. */
  readonly backMs: number;
  /** What it misses of what it is held to, in words. */
  readonly shortfalls: readonly string[];
  readonly attempts: number;
}

/** Reads a run. */
export function rowOf(run: FaultRun, expectation: Expectation, attempts: number): ChaosRow {
  const netMs = run.reports.flatMap(({ decisions: { tookMs, lateMs } }) =>
    Array.from(tookMs, (took, i) => Math.max(0, took - (lateMs[i] as number))),
  );
  netMs.sort((a, b) => a - b);
  const wrong = run.reports.flatMap((report) => wrongOutcomes(report, expectation));
  wrong.push(...run.lastingKeys.map((key) => `${key} has no expiry`));
  const row = {
    fault: run.fault.name,
    missed: Math.max(...run.reports.map(({ stats }) => stats.storeMisses)),
    p999Ms: netMs[Math.floor(netMs.length * 0.999)] ?? Number.NaN,
    longestMs: netMs.at(-1) ?? Number.NaN,
    wrong: wrong.length,
    admitted: run.reports.reduce((sum, { decisions }) => sum + decisions.allowed.reduce((n, one) => n + one, 0), 0),
    bound: boundOf(run, expectation),
    backMs: backMsOf(run),
  };
  return { ...row, shortfalls: [...shortfallsOf(row, run, expectation), ...wrong.slice(0, 5)], attempts };
}

function shortfallsOf(
  { missed, p999Ms, admitted, bound, backMs }: Omit<ChaosRow, "shortfalls" | "attempts">,
  run: FaultRun,
  { silent = false }: Expectation,
): string[] {
  const found: string[] = [];
  if (missed > MARKS.missed) found.push(`${missed} calls missed in one process; the mark is ${MARKS.missed}`);
  if (!(p999Ms <= MARKS.p999Ms)) found.push(`p99.9 of ${p999Ms.toFixed(1)} ms; the mark is ${MARKS.p999Ms}`);
  if (!(admitted <= bound)) found.push(`${admitted} admitted; the bound is ${bound.toFixed(0)}`);
  if (!(backMs <= MARKS.backMs)) found.push(`back after ${backMs.toFixed(0)} ms; the mark is ${MARKS.backMs}`);
  const waiting = silent ? waitedWhileAway(run) : 0;
  if (waiting > 0) found.push(`${waiting} decisions waited for a store known to be silent`);
  return found;
}

/**
 * What may go in: burst + rate x time for each key, and one more burst where the store forgot all. While some processes are back
 * and others are not yet, the latter admit their part on top.
 */
function boundOf({ reports }: FaultRun, { forgets = false }: Expectation): number {
  const starts = reports.flatMap(({ decisions }) => decisions.startedMs[0] ?? []);
  const ends = reports.flatMap(
    ({ decisions: { startedMs, tookMs } }) => (startedMs.at(-1) ?? 0) + (tookMs.at(-1) ?? 0),
  );
  const seconds = (Math.max(...ends) - Math.min(...starts)) / 1000;
  const apartSeconds = (spreadOf(reports, "away") + spreadOf(reports, "back")) / 1000;
  const ratedSeconds = seconds + (apartSeconds * (PROCESSES - 1)) / PROCESSES;
  return KEYS * (POLICY.burst * (forgets ? 2 : 1) + POLICY.limit * ratedSeconds);
}

/** From when the first process changes until the last one does. */
function spreadOf(reports: readonly WorkerReport[], state: "away" | "back"): number {
  const times = reports.flatMap(({ changes }) =>
    changes.filter((change) => change.state === state).map(({ atMs }) => atMs),
  );
  return times.length === 0 ? 0 : Math.max(...times) - Math.min(...times);
}

function backMsOf({ reports, endedMs }: FaultRun): number {
  let lastMs = endedMs;
  for (const { decisions } of reports)
    for (const [i, source] of decisions.sources.entries())
      if (source === "backstop") lastMs = Math.max(lastMs, decisions.startedMs[i] as number);
  return lastMs - endedMs;
}

function waitedWhileAway({ reports, beganMs, endingMs }: FaultRun): number {
  let count = 0;
  for (const { decisions } of reports)
    for (const [i, startedMs] of decisions.startedMs.entries())
      if (startedMs > beganMs + MARKS.openAfterMs && startedMs < endingMs && decisions.waited[i] === 1) count++;
  return count;
}

/** What is wrong in itself, whatever the fault. */
function wrongOutcomes({ decisions, changes, crashes, warnings }: WorkerReport, expectation: Expectation): string[] {
  const wrong = [...decisions.malformed, ...decisions.failures, ...crashes, ...warnings];
  for (let i = 0; i < decisions.unanswered; i++) wrong.push("a decision never came");
  const states = changes.map(({ state }) => state).join(", ");
  const expected = expectation.absences === 1 ? "away, back" : "";
  if (states !== expected) wrong.push(`the state went "${states}"; expected "${expected}"`);
  const { degraded = expectation.absences === 1 ? "some" : "none" } = expectation;
  const degradedCount = decisions.sources.filter((source) => source === "backstop").length;
  if (degraded === "none" && degradedCount > 0) wrong.push(`${degradedCount} decisions without the store`);
  if (degraded === "some" && degradedCount === 0) wrong.push("no decision without the store");
  return wrong;
}
