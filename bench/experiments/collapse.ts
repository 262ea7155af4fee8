// How many callers does a service answer in time that takes everybody in?
import type { AdmissionOptions } from "@spillway/admission";
import { atLeast, atMost, between, type Experiment, type Findings, type Lab, type LabMark } from "./experiment.ts";
import { CAPACITY_PER_SECOND, ENDLESS, lastInTime, PATIENCE_MS, SLOTS, WORK, WORK_MS } from "./load/admissions.ts";
import { percentile } from "./load/load-tally.ts";
import { type Measured, measure, measureRounds, onThisMachine, servedSeries } from "./load/measure.ts";
import type { Protection } from "./load/plan.ts";
import { type FloodPlan, type FloodResult, flood } from "./load/virtual-flood.ts";

/** By offered load per second: answers in time of a flood of 10 s, and requests left in the line after it. */
const SEED: Readonly<Record<number, { readonly served: number; readonly left: string }>> = {
  80: { served: 800, left: "" },
  120: { served: 216, left: "about 300" },
  160: { served: 144, left: "" },
  240: { served: 112, left: "about 1,500" },
};
const RATES = Object.keys(SEED).map(Number);
const SECONDS = 10;

export const collapse: Experiment = {
  name: "collapse",
  asks: "how many callers a service answers in time that takes everybody in",
  run: runCollapse,
};

interface Row {
  readonly perSecond: number;
  readonly model: FloodResult;
  readonly real: Measured;
}

async function runCollapse(lab: Lab): Promise<Findings> {
  const seconds = lab.quick ? 4 : SECONDS;
  const rows: Row[] = [];
  for (const perSecond of lab.quick ? [120, 240] : RATES)
    rows.push({ perSecond, model: await modelOf({ perSecond, seconds }), real: await real(lab, perSecond, seconds) });
  const others = await variants(lab, seconds);
  const worst = rows.at(-1) as Row;
  return {
    tables: [
      {
        caption: `Answered in time of a flood of ${seconds} s on ${SLOTS} slots of ${WORK_MS} ms, callers who wait 1 s, no protection (the text's runs took 10 s)`,
        columns: [
          "offered/s",
          "offered",
          "the text",
          "model",
          "virtual clock",
          "this machine",
          "p99 ms",
          "wasted",
          "left",
          "left, the text",
        ],
        rows: rows.map(({ perSecond, model, real: { phase, wasted, finished, left } }) => [
          ...[perSecond, phase.offered, SEED[perSecond]?.served ?? ""],
          ...[Math.min(lastInTime(perSecond), perSecond * seconds), model.ok, phase.served],
          ...[Math.round(percentile(phase.servedMs, 0.99)), share(wasted, finished), left, SEED[perSecond]?.left ?? ""],
        ]),
      },
      others.table,
    ],
    plots: [
      {
        title: "Answers in time per second, by the load that is offered",
        ...{ xLabel: "time in s", yLabel: "answers in time per second" },
        series: rows.map(({ perSecond, real: { load } }) => servedSeries(`${perSecond}/s`, load.bins)),
        level: { value: CAPACITY_PER_SECOND, label: "capacity" },
      },
    ],
    marks: [...rows.flatMap((row) => marksOf(row, seconds)), ...others.marks],
    summary:
      `At three times its capacity a service that takes everybody in answers ${worst.real.phase.served} of ${worst.real.phase.offered} in time ` +
      `(the model says ${lastInTime(240)}), and ${share(worst.real.wasted, worst.real.finished)} of its work is for nobody.`,
  };
}

function marksOf({ perSecond, model, real }: Row, seconds: number): LabMark[] {
  const { phase, wasted, finished, left } = real;
  if (perSecond <= CAPACITY_PER_SECOND) {
    return [
      between(`${perSecond}/s, virtual clock: answers in time`, model.ok, perSecond * seconds, perSecond * seconds),
      onThisMachine(atLeast(`${perSecond}/s: answers in time`, phase.served, perSecond * seconds), real),
      onThisMachine(atMost(`${perSecond}/s: p99 in ms`, percentile(phase.servedMs, 0.99), 160), real),
    ];
  }
  const expected = lastInTime(perSecond);
  const remain = (perSecond - CAPACITY_PER_SECOND) * seconds - (CAPACITY_PER_SECOND * PATIENCE_MS) / 1000;
  const within = (value: number): readonly [number, number] => [value - SLOTS, value + SLOTS];
  return [
    between(`${perSecond}/s, virtual clock: answers in time`, model.ok, ...within(expected)),
    onThisMachine(between(`${perSecond}/s: answers in time`, phase.served, ...within(expected)), real),
    onThisMachine(between(`${perSecond}/s: left in the line`, left, remain * 0.95 - 1, remain * 1.05 + 8), real),
    ...(perSecond === 240
      ? [
          onThisMachine(
            atLeast("240/s: part of the work that was wasted", wasted / finished, wastedLeast(seconds)),
            real,
          ),
        ]
      : []),
  ];
}

/** All that is finished until the last caller gave up, but those in time and a round more. */
function wastedLeast(seconds: number): number {
  const finished = CAPACITY_PER_SECOND * (seconds + PATIENCE_MS / 1000);
  return Math.min(0.85, 1 - (lastInTime(240) + 2 * SLOTS) / finished);
}

function modelOf(changed: Pick<FloodPlan, "perSecond" | "seconds"> & Partial<FloodPlan>): Promise<FloodResult> {
  const admission = { ...ENDLESS, slots: SLOTS, guessMs: WORK_MS };
  return flood({ admission, workMs: () => WORK_MS, patienceMs: PATIENCE_MS, ...changed });
}

function real(lab: Lab, perSecond: number, seconds: number): Promise<Measured> {
  const plan = { form: "node:http", protection: { kind: "none" }, work: WORK } as const;
  const load = { phases: [{ name: "flood", perSecond, seconds }], patienceMs: PATIENCE_MS };
  return measureRounds(lab.rounds, () => measure(lab, `${perSecond}/s`, plan, load));
}

/** What becomes of the collapse in other circumstances. */
export interface Variants {
  readonly table: Findings["tables"][number];
  readonly marks: readonly LabMark[];
}

/** The same in virtual time (unless it may be long, when a server is asked too) with retries, with callers who wait for long, and with a line that has an end, too far away. */
export async function variants(lab: Lab, seconds: number): Promise<Variants> {
  const long: AdmissionOptions = { ...ENDLESS, slots: SLOTS, guessMs: WORK_MS, lineItems: 2000 };
  const protectedBy: AdmissionOptions = { slots: SLOTS, guessMs: WORK_MS, order: "fifo" };
  const retrying = await modelOf({ perSecond: 100, seconds: 20, retries: { limit: 3 } });
  const polite = { limit: 3, isPolite: true };
  const spared = await modelOf({ perSecond: 100, seconds: 20, retries: polite, admission: protectedBy });
  const patient = await modelOf({ perSecond: 120, seconds: SECONDS, patienceMs: 30_000 });
  const lined = await modelOf({ perSecond: 240, seconds: SECONDS, admission: long });
  const lineReal = lab.quick ? undefined : await realLine(lab, long, seconds);
  const perUser = ({ attempts, offered }: FloodResult): number => attempts / offered;
  const late = retrying.attemptsByQuarter.slice(8 * 4, 20 * 4);
  const attemptsPerSecond = late.reduce((sum, count) => sum + count, 0) / (late.length / 4);
  const [patientP50, patientP99] = [percentile(patient.okMs, 0.5), percentile(patient.okMs, 0.99)];
  return {
    table: {
      caption: "What makes it worse, or hides it (virtual clock, the real admission code)",
      columns: ["run", "offered", "answered in time", "attempts per user", "p50 ms", "p99 ms", "the text"],
      rows: [
        ["100/s for 20 s, three retries at once", ...cells(retrying, perUser(retrying)), "never recovers"],
        ["the same, protected, with a retry budget", ...cells(spared, perUser(spared)), "to be tried"],
        ["120/s, callers who wait 30 s", ...cells(patient, perUser(patient)), 'all "ok", p99 about 5 s'],
        ["240/s, a line of 2,000", ...cells(lined, perUser(lined)), "collapses again"],
      ],
    },
    marks: [
      between("100/s with three retries: answers in time", retrying.ok, 352, 368),
      between("100/s with three retries: attempts per second from second 8", attemptsPerSecond, 380, 420),
      atLeast("the same, protected, with a budget: answers in time", spared.ok, 1600),
      atMost("the same, protected, with a budget: attempts per user", perUser(spared), 1.105),
      between("120/s, 30 s of patience: p99 in ms", patientP99, 4700, 5300),
      atLeast("120/s, 30 s of patience: p50 in ms", patientP50, 2300),
      atMost("240/s, a line of 2,000: answers in time", lined.ok, 120),
      ...(lineReal === undefined
        ? []
        : [onThisMachine(atMost("240/s, a line of 2,000, this machine", lineReal.phase.served, 120), lineReal)]),
    ],
  };
}

function cells({ offered, ok, okMs }: FloodResult, perUser: number): (number | string)[] {
  return [offered, ok, perUser.toFixed(2), Math.round(percentile(okMs, 0.5)), Math.round(percentile(okMs, 0.99))];
}

function realLine(lab: Lab, admission: AdmissionOptions, seconds: number): Promise<Measured> {
  const protection: Protection = { kind: "spillway", admission };
  const load = { phases: [{ name: "flood", perSecond: 240, seconds }], patienceMs: PATIENCE_MS };
  return measure(lab, "a line of 2,000", { form: "node:http", protection, work: WORK }, load);
}

function share(part: number, whole: number): string {
  return `${Math.round((100 * part) / Math.max(1, whole))} %`;
}
