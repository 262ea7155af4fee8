// Which rules save a service whose line is far too long, and which only look as if they did?
import type { AdmissionOptions } from "@spillway/admission";
import { atLeast, atMost, between, type Experiment, type Findings, type Lab, type LabMark } from "./experiment.ts";
import { ENDLESS, PATIENCE_MS, SLOTS, WORK, WORK_MS } from "./load/admissions.ts";
import { percentile } from "./load/load-tally.ts";
import { type Measured, measure, onThisMachine } from "./load/measure.ts";
import { type FloodPlan, type FloodResult, flood } from "./load/virtual-flood.ts";

const SECONDS = 10;
const PER_SECOND = 240;
const LINE = 2000;

interface Trap {
  readonly name: string;
  readonly known: string;
  readonly admission: AdmissionOptions;
  readonly changed: Partial<FloodPlan>;
  readonly mark: (served: number) => LabMark;
}

const huge = (changed: AdmissionOptions = {}): AdmissionOptions => ({
  ...ENDLESS,
  ...{ slots: SLOTS, guessMs: WORK_MS, lineItems: LINE },
  ...changed,
});
const collapses =
  (name: string): ((served: number) => LabMark) =>
  (served) =>
    atMost(`${name}: answers in time`, served, 120);
const stands =
  (name: string, least: number): ((served: number) => LabMark) =>
  (served) =>
    atLeast(`${name}: answers in time`, served, least);

const NOTHING = "nothing else";
const CANCEL = "callers who give up leave the line";
const WAIT_ONLY = "a wait limit as long as callers wait";
const ESTIMATE = "a deadline, less what the work takes";
const LIFO = "who came last goes first";
const TRAPS: readonly Trap[] = [
  { name: NOTHING, known: "112", admission: huge(), changed: {}, mark: collapses(NOTHING) },
  { name: CANCEL, known: "112", admission: huge(), changed: { hangsUp: true }, mark: collapses(CANCEL) },
  { name: WAIT_ONLY, known: "112", admission: huge({ waitMs: PATIENCE_MS }), changed: {}, mark: collapses(WAIT_ONLY) },
  { name: ESTIMATE, known: "872", admission: huge(), changed: { tellsDeadline: true }, mark: stands(ESTIMATE, 860) },
  { name: LIFO, known: "848", admission: huge({ order: "lifo" }), changed: {}, mark: stands(LIFO, 840) },
  {
    ...{ name: "ours by default", known: "", admission: { slots: SLOTS, guessMs: WORK_MS }, changed: {} },
    mark: stands("ours by default", 800),
  },
];

export const traps: Experiment = {
  name: "traps",
  asks: "which rules save a service whose line is far too long, and which only look as if they did",
  run: runTraps,
};

async function runTraps(lab: Lab): Promise<Findings> {
  const results = new Map<string, FloodResult>();
  for (const { name, admission, changed } of TRAPS) results.set(name, await flood({ ...base, admission, ...changed }));
  const of = (name: string): FloodResult => results.get(name) as FloodResult;
  const real = lab.quick ? undefined : await onServer(lab);
  return {
    tables: [
      {
        caption: `${PER_SECOND}/s for ${SECONDS} s on ${SLOTS} slots of ${WORK_MS} ms, a line of ${LINE}, callers who wait 1 s (virtual clock)`,
        columns: ["rule beside the line of 2,000", "known", "in time", "503", "timed out", "wasted", "p99 ms"],
        rows: TRAPS.map(({ name, known }) => {
          const { ok, shed, timedOut, wasted, okMs } = of(name);
          return [name, known, ok, shed, timedOut, wasted, Math.round(percentile(okMs, 0.99))];
        }),
      },
      ...(real === undefined ? [] : [real.table]),
    ],
    plots: [
      {
        title: "Answers in time per second",
        ...{ xLabel: "time in s", yLabel: "per second" },
        series: TRAPS.filter(({ name }) => name !== WAIT_ONLY).map(({ name }) => ({
          name,
          points: Array.from({ length: SECONDS }, (_, second): [number, number] => [
            second,
            of(name)
              .okByQuarter.slice(second * 4, second * 4 + 4)
              .reduce((sum, count) => sum + (count ?? 0), 0),
          ]),
        })),
      },
    ],
    marks: [
      ...TRAPS.map(({ name, mark }) => mark(of(name).ok)),
      // Fewer are worked on for nobody, and still no more are served.
      between(`${CANCEL}: wasted`, of(CANCEL).wasted, 600, 900),
      atLeast(`${NOTHING}: wasted`, of(NOTHING).wasted, 2000),
      ...(real?.marks ?? []),
    ],
    summary: `Only ${of(CANCEL).ok} are answered in time when callers who give up leave the line: each next one is served just too late. A deadline less the work makes it ${of(ESTIMATE).ok}.`,
  };
}

const base = { perSecond: PER_SECOND, seconds: SECONDS, workMs: () => WORK_MS, patienceMs: PATIENCE_MS } as const;

/** The same on a server that sees its callers hang up, with and without a deadline for every request. */
async function onServer(lab: Lab): Promise<{ readonly table: Findings["tables"][number]; readonly marks: LabMark[] }> {
  const load = { phases: [{ name: "flood", perSecond: PER_SECOND, seconds: SECONDS }], patienceMs: PATIENCE_MS };
  const run = (name: string, deadlineMs?: number): Promise<Measured> => {
    const protection = {
      kind: "spillway",
      admission: huge(),
      ...(deadlineMs === undefined ? {} : { deadlineMs }),
    } as const;
    return measure(lab, name, { form: "node:http", protection, work: WORK }, load);
  };
  const cancel = await run(CANCEL);
  const estimate = await run(ESTIMATE, PATIENCE_MS);
  const cells = (name: string, { phase, wasted }: Measured): (string | number)[] => [
    ...[name, phase.served, phase.shed, phase.timedOut, wasted, Math.round(percentile(phase.servedMs, 0.99))],
  ];
  return {
    table: {
      caption: "The same on a server (node:http) whose callers hang up",
      columns: ["rule", "in time", "503", "timed out", "wasted", "p99 ms"],
      rows: [cells(CANCEL, cancel), cells(ESTIMATE, estimate)],
    },
    marks: [
      onThisMachine(atMost(`server, ${CANCEL}: answers in time`, cancel.phase.served, 200), cancel),
      onThisMachine(atLeast(`server, ${ESTIMATE}: answers in time`, estimate.phase.served, 800), estimate),
    ],
  };
}
