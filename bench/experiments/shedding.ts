// What does a short line and an early no make of an overload, and what do other ways of limiting make of it?
import { bucketRows } from "./bucket-bound.ts";
import { atLeast, atMost, between, type Experiment, type Findings, type Lab, type LabMark } from "./experiment.ts";
import { firstTables } from "./first-tables.ts";
import { CAPACITY_PER_SECOND, PATIENCE_MS, SLOTS, WORK, WORK_MS } from "./load/admissions.ts";
import { percentile } from "./load/load-tally.ts";
import { type Measured, measure, measureRounds, onThisMachine, servedSeries, steadyRate } from "./load/measure.ts";
import type { Protection, ServicePlan } from "./load/plan.ts";
import { flood } from "./load/virtual-flood.ts";

const LINE_MS = 200;
/** The places of that line. */
const PLACES = 16;
const FIFO: Protection & { kind: "spillway" } = {
  kind: "spillway",
  admission: { slots: SLOTS, guessMs: WORK_MS, lineMs: LINE_MS, order: "fifo" },
};
const ADAPTIVE: Protection & { kind: "spillway" } = {
  kind: "spillway",
  admission: { slots: SLOTS, guessMs: WORK_MS, lineMs: LINE_MS },
};

interface Contestant {
  readonly name: string;
  readonly perSecond: number;
  readonly form: ServicePlan["form"];
  readonly protection: Protection;
  /** Answers in time of a flood of 10 s that the text or an earlier run measured. */
  readonly known: string;
  /** Callers that the capacity probe may have: no more than it takes. */
  readonly callers: number;
  /** How many times as long its flood is as the others'. */
  readonly times?: number;
}

const OURS_3X = "ours, node:http, 240/s";
const OURS_6X = "ours, node:http, 480/s";
const FASTIFY_3X = "ours, Fastify, 240/s";
const ADAPTIVE_6X = "ours, adaptive order, 480/s for 30 s";
const CONTESTANTS: readonly Contestant[] = [
  { name: "none, 240/s", perSecond: 240, form: "node:http", protection: { kind: "none" }, known: "112", callers: 16 },
  { name: OURS_3X, perSecond: 240, form: "node:http", protection: FIFO, known: "816, p99 301", callers: 16 },
  { name: OURS_6X, perSecond: 480, form: "node:http", protection: FIFO, known: "816, p99 301", callers: 16 },
  { name: FASTIFY_3X, perSecond: 240, form: "fastify", protection: FIFO, known: "816", callers: 16 },
  {
    // Two rounds go by in order of arrival before the order turns: of 10 s they are 2 % of all, and p99 would tell of them alone.
    ...{ name: ADAPTIVE_6X, perSecond: 480, form: "node:http", known: "802, p99 185", callers: 8, times: 3 },
    protection: ADAPTIVE,
  },
  {
    ...{ name: "@fastify/under-pressure, 240/s", perSecond: 240, form: "fastify", known: "112", callers: 16 },
    protection: { kind: "under-pressure", maxEventLoopDelayMs: 100, sampleMs: 100 },
  },
  {
    ...{
      name: "cockatiel bulkhead(8, 16), 240/s",
      perSecond: 240,
      form: "node:http",
      known: "816, p99 301",
      callers: 16,
    },
    protection: { kind: "bulkhead", slots: SLOTS, line: PLACES },
  },
  {
    ...{ name: "opossum, capacity 8, 240/s", perSecond: 240, form: "node:http", known: "776, p99 104", callers: 8 },
    protection: { kind: "opossum", slots: SLOTS },
  },
  {
    ...{ name: "p-queue(8), 240/s", perSecond: 240, form: "node:http", known: "112", callers: 16 },
    protection: { kind: "p-queue", slots: SLOTS },
  },
];
const QUICK = [OURS_3X, OURS_6X, FASTIFY_3X, "@fastify/under-pressure, 240/s"];

export const shedding: Experiment = {
  name: "shedding",
  asks: "what a short line and an early no make of an overload, beside other ways of limiting",
  run: runShedding,
};

async function runShedding(lab: Lab): Promise<Findings> {
  const seconds = lab.quick ? 4 : 10;
  const measured = new Map<string, Measured>();
  for (const contestant of CONTESTANTS.filter(({ name }) => !lab.quick || QUICK.includes(name)))
    measured.set(contestant.name, await run(lab, contestant, seconds));
  const model = await modelRows();
  const long = await steady(lab);
  const bucket = await bucketRows();
  const first = await firstTables();
  const shown = CONTESTANTS.filter(({ name }) => measured.has(name));
  return {
    tables: [
      {
        caption: `A flood of ${seconds} s on ${SLOTS} slots of ${WORK_MS} ms, callers who wait 1 s (known figures: of 10 s)`,
        columns: [
          "protection",
          "known",
          "offered",
          "in time",
          "503",
          "timed out",
          "wasted",
          "p50 ms",
          "p99 ms",
          "503 p99 ms",
          "goodput / capacity",
        ],
        rows: shown.map(({ name, known, times = 1 }) =>
          row(name, known, measured.get(name) as Measured, times * seconds),
        ),
      },
      model.table,
      long.table,
      bucket.table,
      ...first.tables,
    ],
    plots: [
      {
        title: "Answers in time per second at three times the capacity",
        ...{ xLabel: "time in s", yLabel: "answers in time per second" },
        series: shown
          .filter(({ perSecond }) => perSecond === 240)
          .map(({ name }) => servedSeries(name, (measured.get(name) as Measured).load.bins)),
        level: { value: CAPACITY_PER_SECOND, label: "capacity" },
      },
    ],
    marks: [...model.marks, ...marksOf(measured, seconds), ...long.marks, ...bucket.marks, ...first.marks],
    summary:
      `With a line of ${PLACES}, ${served(measured, OURS_3X)} callers are answered in time at 240/s and ${served(measured, OURS_6X)} at 480/s; ` +
      `behind @fastify/under-pressure, which looks at the event loop, ${served(measured, "@fastify/under-pressure, 240/s")} at 240/s.`,
  };
}

function served(measured: ReadonlyMap<string, Measured>, name: string): number {
  return measured.get(name)?.phase.served ?? Number.NaN;
}

function run(lab: Lab, contestant: Contestant, shortSeconds: number): Promise<Measured> {
  const { name, perSecond, form, protection, callers, times = 1 } = contestant;
  const load = { phases: [{ name, perSecond, seconds: times * shortSeconds }], patienceMs: PATIENCE_MS };
  const capacity = { callers, slots: SLOTS, seconds: 2 };
  const once = protection.kind !== "spillway";
  return measureRounds(lab.rounds, () =>
    measure(lab, name, { form, protection, work: WORK }, load, { capacity, once }),
  );
}

function row(
  name: string,
  known: string,
  { phase, wasted, load, capacity }: Measured,
  seconds: number,
): (string | number)[] {
  const { offered, servedMs, shedMs } = phase;
  const goodput = steadyRate(load.bins, Math.min(2, seconds / 2), seconds) / (capacity?.perSecond ?? Number.NaN);
  return [
    ...[name, known, offered, phase.served, phase.shed, phase.timedOut, wasted],
    ...[Math.round(percentile(servedMs, 0.5)), Math.round(percentile(servedMs, 0.99))],
    ...[shedMs.length === 0 ? "" : Math.round(percentile(shedMs, 0.99)), goodput.toFixed(2)],
  ];
}

function marksOf(measured: ReadonlyMap<string, Measured>, seconds: number): LabMark[] {
  const expected = CAPACITY_PER_SECOND * seconds + PLACES;
  return [...measured].flatMap(([name, one]) => {
    const { phase, wasted } = one;
    const mark = (what: LabMark): LabMark => onThisMachine(what, one);
    if (name === OURS_3X || name === OURS_6X || name === FASTIFY_3X)
      return [
        // A timer of 100 ms takes up to one more, each round, and Fastify's slot is free a little later: one round fewer may fit.
        mark(between(`${name}: answers in time`, phase.served, expected - SLOTS, expected + 2)),
        mark(between(`${name}: wasted, timed out and failed`, wasted + phase.timedOut + phase.failed, 0, 0)),
        mark(atMost(`${name}: p99 in ms`, percentile(phase.servedMs, 0.99), WORK_MS + LINE_MS + 10)),
        mark(atMost(`${name}: p99 of a 503 in ms`, percentile(phase.shedMs, 0.99), 10)),
      ];
    if (name === ADAPTIVE_6X)
      return [
        mark(atLeast(`${name}: answers in time`, phase.served, 3 * CAPACITY_PER_SECOND * seconds - 3 * SLOTS)),
        mark(atMost(`${name}: p50 in ms`, percentile(phase.servedMs, 0.5), 1.3 * WORK_MS)),
        mark(atMost(`${name}: p99 in ms`, percentile(phase.servedMs, 0.99), WORK_MS + 150)),
      ];
    return [];
  });
}

/** The counts that the clock of a machine cannot blur. */
export async function modelRows(): Promise<{ readonly table: Findings["tables"][number]; readonly marks: LabMark[] }> {
  const runs = [
    { name: "line of 16, 240/s", perSecond: 240, admission: FIFO.admission, known: 816 },
    { name: "line of 16, 480/s", perSecond: 480, admission: FIFO.admission, known: 816 },
    { name: "adaptive order, 480/s", perSecond: 480, admission: ADAPTIVE.admission, known: 802 },
  ];
  const rows: (string | number)[][] = [];
  const marks: LabMark[] = [];
  for (const { name, perSecond, admission, known } of runs) {
    const { ok, shed, timedOut, wasted, okMs } = await flood({
      ...{ admission, perSecond, seconds: 10, workMs: () => WORK_MS, patienceMs: PATIENCE_MS },
    });
    const [p50, p99] = [percentile(okMs, 0.5), percentile(okMs, 0.99)];
    rows.push([name, known, ok, shed, timedOut, wasted, Math.round(p50), Math.round(p99)]);
    const isFifo = known === 816;
    marks.push(
      between(`virtual clock, ${name}: answers in time`, ok, isFifo ? 814 : 792, isFifo ? 818 : 818),
      between(`virtual clock, ${name}: wasted and timed out`, wasted + timedOut, 0, 0),
      atMost(`virtual clock, ${name}: p99 in ms`, p99, isFifo ? WORK_MS + LINE_MS + 10 : WORK_MS + 150),
    );
  }
  const columns = ["run", "known", "in time", "503", "timed out", "wasted", "p50 ms", "p99 ms"];
  return { table: { caption: "The same on a virtual clock, the real admission code, 10 s", columns, rows }, marks };
}

/** Four times the capacity for long: what is answered once the first moments are over. */
async function steady(lab: Lab): Promise<{ readonly table: Findings["tables"][number]; readonly marks: LabMark[] }> {
  const seconds = lab.quick ? 8 : 60;
  const plan = { form: "node:http", protection: FIFO, work: WORK } as const;
  const one = await measure(
    lab,
    "four times the capacity",
    plan,
    (perSecond) => ({ phases: [{ name: "4x", perSecond: 4 * perSecond, seconds }], patienceMs: PATIENCE_MS }),
    { capacity: { callers: 16, slots: SLOTS, seconds: lab.quick ? 4 : 10 }, asksHealth: true },
  );
  const { phase, wasted, health, capacity, load } = one;
  const perSecond = capacity?.perSecond ?? Number.NaN;
  const rate = steadyRate(load.bins, 2, seconds);
  const healthy = (health?.served ?? 0) / (health?.offered ?? 1);
  const rows = [
    ["capacity per second", "62", perSecond.toFixed(1)],
    ["answers in time per second, from second 2", "63.0", rate.toFixed(1)],
    ["part of the capacity", "1.02", (rate / perSecond).toFixed(3)],
    ["timed out, wasted", "0, 0", `${phase.timedOut}, ${wasted}`],
    ["p99 ms", "372", Math.round(percentile(phase.servedMs, 0.99))],
    ["health route answered", "", `${(100 * healthy).toFixed(1)} %`],
  ];
  return {
    table: {
      caption: `Four times the capacity for ${seconds} s, work that waits, first come first served`,
      columns: ["", "the texts", "this machine"],
      rows,
    },
    marks: [
      onThisMachine(atLeast("4x: steady goodput as a part of the capacity", rate / perSecond, 0.99), one),
      onThisMachine(between("4x: timed out, wasted and failed", phase.timedOut + wasted + phase.failed, 0, 0), one),
      onThisMachine(atMost("4x: p99 in ms", percentile(phase.servedMs, 0.99), WORK_MS + LINE_MS + 10), one),
      onThisMachine(atLeast("4x: part of the health checks that were answered", healthy, 1), one),
    ],
  };
}
