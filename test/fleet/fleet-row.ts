import { AdmissionRecord, IdealBucket, WHOLE_MICROSECONDS_MS } from "../../bench/simulator/admission-record.ts";
import { type FleetRun, type FleetWorkerReport, POLICY } from "./fleet-run.ts";

/** What a run is held to on a machine that lets it run. That nothing goes over is asked of it on any machine. */
export interface FleetMarks {
  /** At least this part of what an ideal bucket would have let in. */
  readonly used: number;
  /** At most so many calls. */
  readonly callsPerDecision: number;
}

/** One line of the table. `over` counts are tokens above burst + rate x time in the worst window, 0 when none. */
export interface FleetRow {
  readonly name: string;
  readonly seed: number;
  /** Of all who were let in. */
  readonly over: number;
  /** Of those whom the store let in, and of those who spent a leased token. */
  readonly overByStore: number;
  /** Of those whom the workers let in without the store. */
  readonly overAlone: number;
  /** Tokens that come in while the clocks may differ: no excess. */
  readonly doubt: number;
  /** Let in, as a part of what one bucket would have that each ask reaches at once, but for asks while the store is silent. */
  readonly used: number;
  /** What that bucket lets in, as a part of burst + rate x time: less than all where too little is asked for. */
  readonly asked: number;
  readonly callsPerDecision: number;
  readonly decisions: number;
  /** Decisions that were made without the store, refusals included. */
  readonly degraded: number;
  /** What must not be on any machine, in words. */
  readonly broken: readonly string[];
  /** What it misses of its marks, in words. */
  readonly missed: readonly string[];
  /** Why the machine gives no fair reading of the marks. */
  readonly noise: string | undefined;
}

/** A machine on which a process that has little to do waits for so long gives no fair reading of a 50 ms deadline. */
const BUSY_LATE_MS = 20;
/** A fleet needs half a processor: on a machine that has less left over, something else ran too. */
const LEAST_IDLE = 0.2;
/** Part of the bound that must have been asked for. */
const LEAST_ASKED = 0.99;
/** Part of local decisions that may come long after the clock was read, since the process was kept from running meanwhile. */
const MOST_STALE = 0.01;
const MOST_MESSAGES = 5;

/** Reads a run. */
export function rowOf(run: FleetRun, marks: FleetMarks): FleetRow {
  const { plan, reports, clock, scriptCalls } = run;
  const byStore = reports.flatMap((report) => [...report.leasedMs, ...servedMs(report, clock.offsetMs)]);
  const alone = reports.flatMap(({ aloneMs }) => [...aloneMs]);
  const clockMs = WHOLE_MICROSECONDS_MS + 2 * clock.errorMs;
  const asks = inOrder(reports.flatMap(({ askedMs }) => [...askedMs]));
  const seconds = ((asks.at(-1) ?? 0) - (asks[0] ?? 0)) / 1000;
  const ideal = idealOf(asks, run);
  const figures = {
    name: [plan.workload, ...(plan.faults ?? []).map(({ name }) => name)].join(", "),
    seed: plan.seed,
    over: overOf([...byStore, ...alone], clockMs),
    overByStore: overOf(byStore, clockMs),
    overAlone: overOf(alone, WHOLE_MICROSECONDS_MS),
    doubt: (clockMs * POLICY.limit) / 1000,
    used: (byStore.length + alone.length) / ideal,
    asked: ideal / (POLICY.burst + POLICY.limit * seconds),
    callsPerDecision: scriptCalls / asks.length,
    decisions: asks.length,
    degraded: reports.reduce(
      (sum, { stats: { sources } }) => sum + sources.backstop + sources.open + sources.closed,
      0,
    ),
  };
  return {
    ...figures,
    broken: brokenOf(run, figures),
    missed: missedOf(run, figures, marks),
    noise: noiseOf(run, figures.asked),
  };
}

type Figures = Omit<FleetRow, "broken" | "missed" | "noise">;

/** In what a row falls short of what can be asked of it on the machine that it ran on. */
export function shortfallsOf({ broken, missed, noise }: FleetRow): string[] {
  return noise === undefined ? [...broken, ...missed] : [...broken];
}

function brokenOf({ reports, lastingKeys }: FleetRun, { over, overByStore, overAlone }: Figures): string[] {
  const found: string[] = [];
  // Whoever is late lets some in on top of what the store gives others, and the store is told soon: it does not add up.
  if (over > POLICY.burst) found.push(`${over.toFixed(2)} tokens over, more than a burst`);
  if (overByStore > 0) found.push(`${overByStore.toFixed(2)} tokens over by the store and its leases`);
  if (overAlone > 0) found.push(`${overAlone.toFixed(2)} tokens over without the store`);
  for (const { wrong, unanswered } of reports) {
    found.push(...wrong.slice(0, MOST_MESSAGES));
    if (unanswered > 0) found.push(`${unanswered} decisions never came`);
  }
  return [...found, ...lastingKeys.map((key) => `${key} has no expiry`)];
}

function missedOf({ reports }: FleetRun, { over, used, callsPerDecision }: Figures, marks: FleetMarks): string[] {
  const found: string[] = [];
  if (over > 0) found.push(`${over.toFixed(2)} tokens over, with those let in without the store`);
  if (!(used >= marks.used)) found.push(`${percent(used)} % used; the mark is ${percent(marks.used)} %`);
  if (!(callsPerDecision <= marks.callsPerDecision))
    found.push(`${callsPerDecision.toFixed(4)} calls per decision; the mark is ${marks.callsPerDecision}`);
  for (const { staleReadings, leasedMs, aloneMs } of reports) {
    const local = leasedMs.length + aloneMs.length;
    if (staleReadings > 1 + MOST_STALE * local) found.push(`${staleReadings} of ${local} decisions on an old reading`);
  }
  return found;
}

function noiseOf({ plan, machine: { lateMs, idle } }: FleetRun, asked: number): string | undefined {
  if (lateMs > BUSY_LATE_MS) return `the machine kept processes waiting for up to ${lateMs.toFixed(0)} ms`;
  if (idle < LEAST_IDLE) return `the machine was ${percent(1 - idle)} % busy`;
  // A worker that is stopped asks for nothing.
  if (plan.faults === undefined && asked < LEAST_ASKED)
    return `only ${percent(asked)} % of the bound could be asked for`;
  return undefined;
}

export function percent(part: number): string {
  return (100 * part).toFixed(2);
}

function servedMs({ servedUs }: FleetWorkerReport, offsetMs: number): Float64Array {
  return servedUs.map((us) => us / 1000 - offsetMs);
}

function inOrder(times: readonly number[]): Float64Array {
  return Float64Array.from(times).sort();
}

function overOf(times: readonly number[], clockMs: number): number {
  const record = new AdmissionRecord(POLICY.limit, POLICY.burst, clockMs);
  const ordered = inOrder(times);
  for (const atMs of ordered) record.admit(atMs - (ordered[0] ?? 0), 1);
  return record.over;
}

/** What a bucket would let in that every ask reaches at once, but for asks that come while the store is silent. */
function idealOf(asks: Float64Array, { silences }: FleetRun): number {
  const bucket = new IdealBucket(POLICY.limit, POLICY.burst);
  const startMs = asks[0] ?? 0;
  let next = 0;
  for (const atMs of asks) {
    while ((silences[next]?.toMs ?? Number.POSITIVE_INFINITY) < atMs) next++;
    if (atMs < (silences[next]?.fromMs ?? Number.POSITIVE_INFINITY)) bucket.offer(atMs - startMs, 1);
  }
  return bucket.admitted;
}
