import type { RunFigures } from "./measure.ts";

/** A run that admitted just what a limit of 70/s with a burst of 20 allows in 10 s, but for what is given. */
export function figures(change: Partial<RunFigures> = {}): RunFigures {
  const { bound = 720, admitted = 720 } = change;
  return {
    mode: "any",
    offered: 4000,
    admitted,
    refused: 4000 - admitted,
    failures: {},
    bound,
    ratio: admitted / bound,
    spanMs: 10_000,
    storeCalls: 0,
    callsPerDecision: 0,
    perWorker: [],
    decisionP50Ms: 0,
    decisionP99Ms: 0,
    requestP50Ms: 0,
    requestP99Ms: 0,
    degraded: 0,
    sources: {},
    outage: null,
    offeredPerSecond: [],
    admittedPerSecond: [],
    storeCallsPerSecond: [],
    scheduleError: { p50Ms: 0, p99Ms: 0, maxMs: 0 },
    ...change,
  };
}
