// What do servers make of an overload whose work waits, and of one whose work keeps the process busy?
import { atLeast, atMost, between, type Experiment, type Findings, type Lab, type LabMark } from "./experiment.ts";
import { PATIENCE_MS } from "./load/admissions.ts";
import { type Burst, burstOf } from "./load/burst.ts";
import { percentile } from "./load/load-tally.ts";
import { type Measured, measure, measureRounds, onThisMachine, servedSeries, steadyRate } from "./load/measure.ts";
import type { Protection, ServicePlan, Work } from "./load/plan.ts";
import { Service } from "./load/service.ts";

/** What four slots of the text's server took: 61.3 requests a second. */
const TEXT_WORK_MS = 4000 / 61.3;
const TEXT_SLOTS = 4;
const TEXT_LINE = 31;
const TEXT_WORK: Work = { kind: "sleep", ms: TEXT_WORK_MS, slots: TEXT_SLOTS };

type Part = Pick<Findings, "tables" | "plots" | "marks">;

export const httpShedding: Experiment = {
  name: "http-shedding",
  asks: "what servers make of twice and four times what they can do, with work that waits and work that computes",
  run: runHttpShedding,
};

async function runHttpShedding(lab: Lab): Promise<Findings> {
  const burst = await byHand();
  const text = await asTheText(lab);
  const computing = [await computes(lab, 10), await computes(lab, 2)];
  const parts = [burst, text, ...computing];
  return {
    tables: parts.flatMap(({ tables }) => tables),
    plots: parts.flatMap(({ plots }) => plots),
    marks: parts.flatMap(({ marks }) => marks),
    summary: computing.map(({ summary }) => summary).join(" "),
  };
}

/** By default each refused caller is told the next slot that nobody was told yet; a number of ms is told to all. */
const BURSTS = [
  ["node:http, one second for all", "node:http", 1000],
  ["Fastify, one second for all", "fastify", 1000],
  ["Fastify, a slot for each", "fastify", "slots"],
] as const;

/** Twenty at once on four slots without a line. */
async function byHand(): Promise<Part> {
  const work: Work = { kind: "sleep", ms: 1000, slots: 4 };
  const admission = { slots: 4, lineMs: 0, guessMs: 1000 };
  const rows: (string | number)[][] = [];
  const marks: LabMark[] = [];
  for (const [name, form, retryAfter] of BURSTS) {
    const protection: Protection = { kind: "spillway", admission: { ...admission, retryAfter } };
    const burst = await Service.with({ form, protection, work }, ({ url }) => burstOf(url, 20));
    rows.push([name, ...burstCells(burst)]);
    marks.push(...burstMarks(name, burst, retryAfter === 1000 ? 16 : 1));
  }
  return {
    tables: [
      {
        caption:
          "Twenty requests at once, four slots, no line, work of 1 s (the text: 4 x 200, 16 x 503, retry-after 1, line_full)",
        columns: ["server", "200", "503", "of these retry-after 1", "reason line_full", "other"],
        rows,
      },
    ],
    plots: [],
    marks,
  };
}

function burstCells({ ok, refused, toldOneSecond, lineFull, other }: Burst): number[] {
  return [ok, refused, toldOneSecond, lineFull, other];
}

function burstMarks(name: string, burst: Burst, toldOneSecond: number): LabMark[] {
  return [
    between(`burst, ${name}: answered 200`, burst.ok, 4, 4),
    between(`burst, ${name}: answered 503 with reason line_full`, Math.min(burst.refused, burst.lineFull), 16, 16),
    between(`burst, ${name}: 503s with a Retry-After`, burst.told, 16, 16),
    atLeast(`burst, ${name}: 503s that say one second`, burst.toldOneSecond, toldOneSecond),
  ];
}

const TEXT_SECONDS = 5;
const TEXT_LINED: Protection = {
  kind: "spillway",
  admission: {
    ...{
      slots: TEXT_SLOTS,
      guessMs: TEXT_WORK_MS,
      lineMs: Number.POSITIVE_INFINITY,
      lineItems: TEXT_LINE,
      waitMs: 300,
    },
    order: "fifo",
  },
};
/** Of the text: answers in time, 503s, timed out, p50 and p99 in ms, wasted. */
const TEXT_RUNS: readonly (readonly [string, Protection, readonly number[]])[] = [
  ["none", { kind: "none" }, [166, 0, 447, 504, 997, 263]],
  ["line of 31, wait limit 0.3 s", TEXT_LINED, [368, 245, 0, 356, 372, 0]],
  [
    "bulkhead(4, 32), as uvicorn's limit of 36",
    { kind: "bulkhead", slots: TEXT_SLOTS, line: 32 },
    [390, 223, 0, 457, 533, 0],
  ],
  ["ours by default", { kind: "spillway", admission: { slots: TEXT_SLOTS, guessMs: TEXT_WORK_MS } }, []],
];

/** The text's own run over HTTP: twice the capacity for five seconds. */
async function asTheText(lab: Lab): Promise<Part> {
  const results: Measured[] = [];
  for (const [name, protection] of TEXT_RUNS) results.push(await textRun(lab, name, protection));
  const [none, lined] = results as [Measured, Measured];
  const { phase, wasted, capacity } = lined;
  // The places that a wait of 0.3 s leaves of the line are answered after the last arrival.
  const expected = (capacity?.perSecond ?? Number.NaN) * TEXT_SECONDS + (300 * TEXT_SLOTS) / TEXT_WORK_MS;
  const mark = (what: LabMark): LabMark => onThisMachine(what, lined);
  return {
    tables: [
      {
        caption: `Twice the capacity for ${TEXT_SECONDS} s over HTTP, four slots of ${TEXT_WORK_MS.toFixed(1)} ms (in brackets the text)`,
        columns: ["protection", "in time", "503", "timed out", "p50 ms", "p99 ms", "wasted", "health answered"],
        rows: TEXT_RUNS.map(([name, , known], i) => [name, ...textCells(results[i] as Measured, known)]),
      },
    ],
    plots: [],
    marks: [
      onThisMachine(between("over HTTP, none: answers in time, as the model says", none.phase.served, 100, 130), none),
      mark(between("over HTTP, line and wait limit: answers in time", phase.served, expected - 8, expected + 8)),
      mark(between("over HTTP, line and wait limit: timed out and wasted", phase.timedOut + wasted, 0, 0)),
      mark(atMost("over HTTP, line and wait limit: p99 in ms", percentile(phase.servedMs, 0.99), 380)),
    ],
  };
}

function textRun(lab: Lab, name: string, protection: Protection): Promise<Measured> {
  return measure(
    lab,
    name,
    { form: "fastify", protection, work: TEXT_WORK },
    (perSecond) => ({ phases: [{ name, perSecond: 2 * perSecond, seconds: TEXT_SECONDS }], patienceMs: PATIENCE_MS }),
    { capacity: { callers: TEXT_SLOTS, slots: TEXT_SLOTS, seconds: 2 }, asksHealth: true },
  );
}

function textCells({ phase, wasted, health }: Measured, known: readonly number[]): (string | number)[] {
  const [p50, p99] = [Math.round(percentile(phase.servedMs, 0.5)), Math.round(percentile(phase.servedMs, 0.99))];
  const figures = [phase.served, phase.shed, phase.timedOut, p50, p99, wasted];
  const besides = figures.map((figure, j) => (known.length === 0 ? figure : `${figure} (${known[j]})`));
  return [...besides, `${health?.served} of ${health?.offered}`];
}

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
async function computes(lab: Lab, workMs: number): Promise<Part & { readonly summary: string }> {
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
          { capacity: { callers: 2, slots: 1, seconds: 2 }, asksHealth: true },
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
