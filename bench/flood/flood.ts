import { setTimeout as sleep } from "node:timers/promises";
import type { Phase } from "../experiments/load/arrivals.ts";
import { BIN_MS, type LoadBin, type PhaseResult, percentile } from "../experiments/load/load-tally.ts";
import { type LoadPlan, type LoadResult, offerLoad } from "../experiments/load/open-loop.ts";
import { type FloodOptions, requireBounded } from "./options.ts";
import { type ProbedCapacity, probeCapacity } from "./probe.ts";

/** One stretch of offered load and what became of it. */
export interface FloodStep {
  readonly name: string;
  readonly offeredPerSecond: number;
  readonly seconds: number;
  readonly offered: number;
  /** Answered in the 200s while the caller waited. */
  readonly inTime: number;
  /** 503s and 429s. */
  readonly refused: number;
  /** Other answers, and connections that failed. */
  readonly errors: number;
  readonly timeouts: number;
  /** Of the answers in time, from when each request was due. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly refusedP99Ms: number | null;
  /** Answers in time per second. */
  readonly goodput: number;
  /** By status, `"timeout"`, or the code of an error. */
  readonly answers: Readonly<Record<string, number>>;
}

export interface FloodReport {
  readonly url: string;
  readonly method: string;
  readonly patienceMs: number;
  readonly capacity: ProbedCapacity | null;
  readonly steps: readonly FloodStep[];
  /** How late requests left at the 99th percentile. Where it is large, this machine was the bottleneck. */
  readonly lateSendP99Ms: number;
  readonly endedEarly: boolean;
}

const RAMP_STRETCHES = 10;

/** Offers what the options say. `say` is told how far it is. */
export async function runFlood(
  options: FloodOptions,
  say: (text: string) => void,
  signal: AbortSignal,
): Promise<FloodReport> {
  const capacity = await capacityFor(options, say, signal);
  const runs = options.ramp === undefined ? stepsOf(options, capacity) : [rampOf(options, options.ramp)];
  const steps: FloodStep[] = [];
  let lateSendP99Ms = 0;
  for (const [index, phases] of runs.entries()) {
    if (signal.aborted) break;
    if (index > 0) await sleep(options.pauseSeconds * 1000, undefined, { signal }).catch(() => {});
    if (signal.aborted) break;
    say(`${phases.map(({ name }) => name).join(", ")} for ${options.seconds} s`);
    const result = await offerLoad(planOf(options, phases, signal));
    lateSendP99Ms = Math.max(lateSendP99Ms, result.lateSendP99Ms);
    steps.push(...stepResults(result));
  }
  const { url, method, patienceMs } = options;
  return { url, method, patienceMs, capacity: capacity ?? null, steps, lateSendP99Ms, endedEarly: signal.aborted };
}

async function capacityFor(
  options: FloodOptions,
  say: (text: string) => void,
  signal: AbortSignal,
): Promise<ProbedCapacity | undefined> {
  if (options.rate !== undefined || options.ramp !== undefined) return undefined;
  say(`measuring what it can do, with ${options.concurrency} callers`);
  const capacity = await probeCapacity(options, signal);
  if (signal.aborted) return capacity;
  requireBounded(capacity.perSecond * Math.max(...options.steps), options.seconds);
  say(`it answers ${capacity.perSecond.toFixed(1)} a second`);
  return capacity;
}

function stepsOf({ rate, steps, seconds }: FloodOptions, capacity: ProbedCapacity | undefined): Phase[][] {
  const once = rate ?? capacity?.perSecond ?? 0;
  return steps.map((multiple) => {
    const perSecond = multiple * once;
    return [{ name: `${multiple}x`, perSecond, seconds }];
  });
}

function rampOf({ seconds }: FloodOptions, [from, to]: readonly [number, number]): Phase[] {
  return Array.from({ length: RAMP_STRETCHES }, (_, i) => {
    const perSecond = from + ((to - from) * i) / (RAMP_STRETCHES - 1);
    return { name: `${Math.round(perSecond)}/s`, perSecond, seconds: seconds / RAMP_STRETCHES };
  });
}

function planOf(options: FloodOptions, phases: readonly Phase[], signal: AbortSignal): LoadPlan {
  const { url, patienceMs, method, headers, body, mostConnections, keepsConnections, seed } = options;
  return {
    ...{ url, phases, patienceMs, method, headers, mostConnections, keepsConnections, signal },
    ...(body === undefined ? {} : { body }),
    ...(seed === undefined ? {} : { seed }),
  };
}

function stepResults({ phases, bins, seconds, wasEndedEarly }: LoadResult): FloodStep[] {
  let fromMs = 0;
  const steps: FloodStep[] = [];
  for (const phase of phases) {
    const untilMs = fromMs + phase.seconds * 1000;
    const ranMs = wasEndedEarly ? Math.min(untilMs, seconds * 1000) - fromMs : phase.seconds * 1000;
    if (ranMs > 0) steps.push(stepOf(phase, ranMs / 1000, answersIn(bins, fromMs, fromMs + ranMs)));
    fromMs = untilMs;
  }
  return steps;
}

/** Answers in time that came while the load was offered: those after it would flatter. */
function answersIn(bins: readonly LoadBin[], fromMs: number, untilMs: number): number {
  let sum = 0;
  for (const bin of bins) {
    const inside = Math.min(bin.fromMs + BIN_MS, untilMs) - Math.max(bin.fromMs, fromMs);
    if (inside > 0) sum += bin.servedNow * (inside / BIN_MS);
  }
  return sum;
}

function stepOf(phase: PhaseResult, seconds: number, answers: number): FloodStep {
  const { name, perSecond, offered, served, late, shed, failed, timedOut, servedMs, shedMs } = phase;
  return {
    ...{ name, offeredPerSecond: perSecond, seconds, offered },
    ...{ inTime: served, refused: shed, errors: failed, timeouts: timedOut + late },
    ...{ p50Ms: orNull(percentile(servedMs, 0.5)), p99Ms: orNull(percentile(servedMs, 0.99)) },
    ...{ refusedP99Ms: orNull(percentile(shedMs, 0.99)), goodput: answers / seconds, answers: phase.answers },
  };
}

function orNull(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}
