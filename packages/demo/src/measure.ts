import type { LoadResult } from "./load-result.ts";
import type { Percentiles } from "./percentiles.ts";

/** The limit that a run is measured against. */
export interface LimitShape {
  readonly limit: number;
  readonly periodMs: number;
  readonly burst: number;
}

/** What the workers say of their decisions in one run. */
export interface DecisionFigures {
  readonly decisions: number;
  /** Decisions that the store had no part in because it could not answer. */
  readonly degraded: number;
  readonly time: Percentiles;
}

/** Calls of scripts that the store served during one run. */
export interface StoreCalls {
  readonly total: number;
  /** Calls per second, one figure for each second of the run. */
  readonly perSecond: readonly number[];
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
  readonly degraded: number;
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
  decisions: DecisionFigures,
  storeCalls: StoreCalls,
): RunFigures {
  const admitted = load.statuses["200"] ?? 0;
  const bound = boundOf(shape, load.spanMs);
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
    callsPerDecision: decisions.decisions === 0 ? 0 : rounded(storeCalls.total / decisions.decisions),
    perWorker: workers.map((worker) => load.admittedPerWorker[worker] ?? 0),
    decisionP50Ms: decisions.time.p50Ms,
    decisionP99Ms: decisions.time.p99Ms,
    requestP50Ms: load.latency.p50Ms,
    requestP99Ms: load.latency.p99Ms,
    degraded: decisions.degraded,
    offeredPerSecond: load.offeredPerSecond,
    admittedPerSecond: load.admittedPerSecond,
    storeCallsPerSecond: storeCalls.perSecond.map(rounded),
    scheduleError: load.scheduleError,
  };
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
