// Part of http-shedding: work that keeps the process busy, so that the line is in the kernel unless somebody reads.
import { atLeast, atMost, between, type Findings, type Lab, type LabMark } from "./experiment.ts";
import { PATIENCE_MS } from "./load/admissions.ts";
import { percentile } from "./load/load-tally.ts";
import { type Measured, measure, measureRounds, onThisMachine, servedSeries, steadyRate } from "./load/measure.ts";
import type { Protection, ServicePlan } from "./load/plan.ts";

type Part = Pick<Findings, "tables" | "plots" | "marks">;

interface Computing {
  readonly name: string;
  readonly form: ServicePlan["form"];
  readonly protection: Protection;
}

const OURS_PLAIN = "ours, node:http";
const OURS_FASTIFY = "ours, Fastify";
const NONE = "none";

function computingContestants(quick: boolean): readonly Computing[] {
  const ours: Protection = { kind: "spillway", admission: { slots: 1 } };
  const all: readonly Computing[] = [
    { name: NONE, form: "node:http", protection: { kind: "none" } },
    { name: OURS_PLAIN, form: "node:http", protection: ours },
    { name: OURS_FASTIFY, form: "fastify", protection: ours },
    {
      ...{ name: "under-pressure, 100 ms, every 1 s", form: "fastify" },
      protection: { kind: "under-pressure", maxEventLoopDelayMs: 100, sampleMs: 1000 },
    },
    {
      ...{ name: "under-pressure, 50 ms, every 0.1 s", form: "fastify" },
      protection: { kind: "under-pressure", maxEventLoopDelayMs: 50, sampleMs: 100 },
    },
    { name: "bulkhead(1, 8)", form: "node:http", protection: { kind: "bulkhead", slots: 1, line: 8 } },
    { name: "opossum, capacity 1", form: "node:http", protection: { kind: "opossum", slots: 1 } },
    { name: "p-queue(1)", form: "node:http", protection: { kind: "p-queue", slots: 1 } },
  ];
  return quick ? all.filter(({ name }) => [NONE, OURS_PLAIN].includes(name)) : all;
}

/** Known goodput as a part of the capacity, by work in ms: of none, of under-pressure at its best, of a line that yields. */
const KNOWN_PART: Readonly<Record<number, string>> = {
  10: "none 0.94, under-pressure 0.21 to 0.77, a line that yields 0.97 to 1",
  2: "none 0.66, under-pressure 0.33 to 0.68, a line that yields 0.98",
};
const LEAST_PART: Readonly<Record<number, number>> = { 10: 0.97, 2: 0.95 };

/** Four times what a process can compute. */
export async function computes(lab: Lab, workMs: number): Promise<Part & { readonly summary: string }> {
  const seconds = lab.quick ? 6 : 10;
  const contestants = computingContestants(lab.quick);
  const results = new Map<string, Measured>();
  for (const { name, form, protection } of contestants)
    results.set(
      name,
      await measureRounds(lab.rounds, () =>
        measure(
          lab,
          `${workMs} ms of computing, ${name}`,
          { form, protection, work: { kind: "compute", ms: workMs } },
          (perSecond) => ({ phases: [{ name, perSecond: 4 * perSecond, seconds }], patienceMs: PATIENCE_MS }),
          { capacity: { callers: 2, slots: 1, seconds: 2 }, asksHealth: true, once: protection.kind !== "spillway" },
        ),
      ),
    );
  const partOf = ({ load, capacity }: Measured): number =>
    steadyRate(load.bins, 2, seconds) / (capacity?.perSecond ?? Number.NaN);
  const ours = results.get(OURS_PLAIN) as Measured;
  return {
    tables: [
      {
        caption: `Work that computes for ${workMs} ms, four times the capacity, ${seconds} s (known: ${KNOWN_PART[workMs]})`,
        columns: [
          "protection",
          "capacity/s",
          "goodput/s",
          "goodput / capacity",
          "the same by CPU time",
          "wasted",
          "timed out",
          "p99 ms",
          "503 p99 ms",
          "health answered",
          "health p99 ms",
        ],
        rows: contestants.map(({ name }) => {
          const one = results.get(name) as Measured;
          return [name, ...computingCells(one, partOf(one), seconds)];
        }),
      },
    ],
    plots: [
      {
        title: `Answers in time per second, work that computes for ${workMs} ms`,
        ...{ xLabel: "time in s", yLabel: "per second" },
        series: contestants.map(({ name }) => servedSeries(name, (results.get(name) as Measured).load.bins)),
        level: { value: ours.capacity?.perSecond ?? 0, label: "capacity" },
      },
    ],
    marks: [OURS_PLAIN, OURS_FASTIFY].flatMap((name) => {
      const one = results.get(name);
      return one === undefined ? [] : computingMarks(workMs, name, one, partOf(one));
    }),
    summary:
      `With ${workMs} ms of computing and four times the capacity, ours gives ${(100 * partOf(ours)).toFixed(0)} % of the capacity ` +
      `and none ${(100 * partOf(results.get(NONE) as Measured)).toFixed(0)} %.`,
  };
}

function computingCells(
  { phase, wasted, capacity, health, load, cpuEfficiency }: Measured,
  part: number,
  seconds: number,
): (string | number)[] {
  const { servedMs, shedMs } = phase;
  return [
    ...[
      (capacity?.perSecond ?? Number.NaN).toFixed(1),
      steadyRate(load.bins, 2, seconds).toFixed(1),
      part.toFixed(2),
      cpuEfficiency.toFixed(2),
      wasted,
    ],
    ...[phase.timedOut, servedMs.length === 0 ? "" : Math.round(percentile(servedMs, 0.99))],
    shedMs.length === 0 ? "" : Math.round(percentile(shedMs, 0.99)),
    `${health?.served} of ${health?.offered}`,
    health === undefined || health.servedMs.length === 0 ? "" : Math.round(percentile(health.servedMs, 0.99)),
  ];
}

function computingMarks(workMs: number, name: string, one: Measured, part: number): LabMark[] {
  const { phase, health, wasted, cpuEfficiency } = one;
  const mark = (what: LabMark): LabMark => onThisMachine(what, one);
  const of = `${workMs} ms of computing, ${name}`;
  const answered = (health?.served ?? 0) / (health?.offered ?? 1);
  return [
    mark(atLeast(`${of}: goodput as a part of the capacity`, part, LEAST_PART[workMs] as number)),
    atLeast(
      `${of}: goodput as a part of the capacity, by CPU time`,
      cpuEfficiency,
      (LEAST_PART[workMs] as number) - 0.05,
    ),
    mark(between(`${of}: timed out, wasted and failed`, phase.timedOut + wasted + phase.failed, 0, 0)),
    mark(atMost(`${of}: p99 in ms`, percentile(phase.servedMs, 0.99), 260)),
    mark(atMost(`${of}: p99 of a 503 in ms`, percentile(phase.shedMs, 0.99), 25)),
    mark(atLeast(`${of}: part of the health checks that were answered`, answered, 1)),
    mark(atMost(`${of}: p99 of the health route in ms`, percentile(health?.servedMs ?? [], 0.99), 60)),
  ];
}
