import type { LoadResult } from "./load-result.ts";
import type { AwaySpan } from "./outage-tally.ts";
import type { Percentiles } from "./percentiles.ts";

/** The limit that a run is measured against. */
export interface LimitShape {
  readonly limit: number;
  readonly periodMs: number;
  readonly burst: number;
}

/** Calls that the store served during one run. */
export interface StoreCalls {
  readonly total: number;
  /** Calls per second, one figure for each second of the run. */
  readonly perSecond: readonly number[];
}

/** The part of a run during which the store was out of reach. Its figures are of the requests sent meanwhile. */
export interface OutageFigures {
  readonly fromSecond: number;
  readonly toSecond: number;
  readonly offered: number;
  readonly admitted: number;
  readonly degraded: number;
  readonly decisionP50Ms: number;
  readonly decisionP99Ms: number;
  /** When each worker decided without the store, in ms since the first request; `null` for one that never did. */
  readonly awayPerWorker: readonly (AwaySpan | null)[];
}

/** One mode measured: an entry of `runs` in the JSON document. */
export interface RunFigures {
  readonly mode: string;
  readonly offered: number;
  /** Answers 200 received by the load generator. */
  readonly admitted: number;
  /** Answers 429. */
  readonly refused: number;
  /** Requests that got another answer or none, by status or code. */
  readonly failures: Readonly<Record<string, number>>;
  /** burst + rate x time, from the first request sent to the last answer received. */
  readonly bound: number;
  readonly ratio: number;
  readonly spanMs: number;
  readonly storeCalls: number;
  readonly callsPerDecision: number;
  /** Admitted by each worker. */
  readonly perWorker: readonly number[];
  readonly decisionP50Ms: number;
  readonly decisionP99Ms: number;
  readonly requestP50Ms: number;
  readonly requestP99Ms: number;
  /** Decisions that the store had no part in because it could not answer, as the answers say. */
  readonly degraded: number;
  /** Decisions by who made them, as the answers say. */
  readonly sources: Readonly<Record<string, number>>;
  readonly outage: OutageFigures | null;
  readonly offeredPerSecond: readonly number[];
  readonly admittedPerSecond: readonly number[];
  readonly storeCallsPerSecond: readonly number[];
  /** How late requests were sent. */
  readonly scheduleError: Percentiles;
}

/** The most that one bucket, full at the start, can admit in `spanMs`. */
export function boundOf(shape: LimitShape, spanMs: number): number {
  return shape.burst + (shape.limit * spanMs) / shape.periodMs;
}

/** Puts the figures of one run together. `workers` gives the order of `perWorker`. */
export function measure(
  mode: string,
  shape: LimitShape,
  workers: readonly string[],
  load: LoadResult,
  storeCalls: StoreCalls,
): RunFigures {
  const admitted = load.statuses["200"] ?? 0;
  const bound = boundOf(shape, load.spanMs);
  const { decisions } = load;
  return {
    mode,
    offered: load.offered,
    admitted,
    refused: load.statuses["429"] ?? 0,
    failures: failuresOf(load),
    bound: rounded(bound),
    ratio: rounded(admitted / bound),
    spanMs: rounded(load.spanMs),
    storeCalls: storeCalls.total,
    callsPerDecision: decisions.count === 0 ? 0 : rounded(storeCalls.total / decisions.count),
    perWorker: workers.map((worker) => load.admittedPerWorker[worker] ?? 0),
    decisionP50Ms: decisions.time.p50Ms,
    decisionP99Ms: decisions.time.p99Ms,
    requestP50Ms: load.latency.p50Ms,
    requestP99Ms: load.latency.p99Ms,
    degraded: decisions.degraded,
    sources: decisions.sources,
    outage: outageFigures(load, workers),
    offeredPerSecond: load.offeredPerSecond,
    admittedPerSecond: load.admittedPerSecond,
    storeCallsPerSecond: storeCalls.perSecond.map(rounded),
    scheduleError: load.scheduleError,
  };
}

function outageFigures({ outage }: LoadResult, workers: readonly string[]): OutageFigures | null {
  if (outage === undefined) return null;
  const { fromMs, toMs, offered, admitted, degraded, decisionTime, away } = outage;
  const awayPerWorker = workers.map((worker) => roundedSpan(away[worker]));
  return {
    fromSecond: rounded(fromMs / 1000),
    toSecond: rounded(toMs / 1000),
    offered,
    admitted,
    degraded,
    decisionP50Ms: decisionTime.p50Ms,
    decisionP99Ms: decisionTime.p99Ms,
    awayPerWorker,
  };
}

function roundedSpan(span: AwaySpan | undefined): AwaySpan | null {
  return span === undefined ? null : { fromMs: rounded(span.fromMs), toMs: rounded(span.toMs) };
}

function failuresOf(load: LoadResult): Record<string, number> {
  const failures: Record<string, number> = { ...load.failures };
  for (const [status, count] of Object.entries(load.statuses)) {
    if (status !== "200" && status !== "429") failures[status] = count;
  }
  return failures;
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}
