// Does goodput stay flat as more is offered?
import { atLeast, atMost, between, type Experiment, type Findings, type Lab, type LabMark } from "./experiment.ts";
import { CAPACITY_PER_SECOND, PATIENCE_MS, SLOTS, WORK, WORK_MS } from "./load/admissions.ts";
import type { Phase } from "./load/arrivals.ts";
import {
  FIRST_LINE_AND_WAIT,
  FIRST_PATIENCE_MS,
  FIRST_UNPROTECTED,
  FIRST_WORK_MS,
  OURS_BY_DEFAULT,
  PROBED_PER_SECOND,
  TRUE_PER_SECOND,
} from "./load/first-text.ts";
import { percentile } from "./load/load-tally.ts";
import { type Measured, measure, onThisMachine, steadyRate } from "./load/measure.ts";
import type { Protection } from "./load/plan.ts";
import { flood, steadyGoodput } from "./load/virtual-flood.ts";

const SECONDS = 6;
const WARM_UP_SECONDS = 2;
/** By multiples of the capacity: goodput per second of the unprotected and the protected service of the text. */
const KNOWN: readonly (readonly [number, number, number])[] = [
  [0.5, 32.2, 32.2],
  [1, 65, 64.8],
  [1.5, 0, 62.2],
  [2, 0, 62],
  [4, 0, 63],
];

export const sweep: Experiment = {
  name: "sweep",
  asks: "whether goodput stays flat as more is offered",
  run: runSweep,
};

interface Point {
  readonly multiple: number;
  readonly none: number;
  readonly line: number;
  readonly ours: number;
  readonly oursP99Ms: number;
}

async function runSweep(lab: Lab): Promise<Findings> {
  const points = await virtualPoints();
  const server = await onServers(lab);
  return {
    tables: [
      {
        caption: `Goodput per second from second ${WARM_UP_SECONDS} on, the capacity is ${TRUE_PER_SECOND.toFixed(1)} (virtual clock; in brackets the text)`,
        columns: ["offered", "none", "line of 33, wait limit 0.3 s", "ours by default", "ours, p99 ms"],
        rows: points.map(({ multiple, none, line, ours, oursP99Ms }, i) => [
          ...[`${multiple}x`, `${none.toFixed(1)} (${KNOWN[i]?.[1]})`, `${line.toFixed(1)} (${KNOWN[i]?.[2]})`],
          ...[ours.toFixed(1), Math.round(oursP99Ms)],
        ]),
      },
      ...server.tables,
    ],
    plots: [
      {
        title: "Goodput by offered load",
        ...{ xLabel: "offered, in multiples of the capacity", yLabel: "answers in time per second" },
        series: [
          { name: "none", points: points.map(({ multiple, none }) => [multiple, none] as const) },
          { name: "line and wait limit", points: points.map(({ multiple, line }) => [multiple, line] as const) },
          { name: "ours by default", points: points.map(({ multiple, ours }) => [multiple, ours] as const) },
        ],
        level: { value: TRUE_PER_SECOND, label: "capacity" },
      },
      ...server.plots,
    ],
    marks: [...virtualMarks(points), ...server.marks],
    summary: `Unprotected, goodput is ${points.at(-1)?.none.toFixed(0)} a second at four times the capacity; protected it is ${points.at(-1)?.ours.toFixed(1)} of ${TRUE_PER_SECOND.toFixed(1)}.`,
  };
}

async function virtualPoints(): Promise<readonly Point[]> {
  const points: Point[] = [];
  for (const [multiple] of KNOWN) points.push(await virtualPoint(multiple));
  return points;
}

/** The marks of the part that needs no server. */
export async function sweepInVirtualTime(): Promise<readonly LabMark[]> {
  return virtualMarks(await virtualPoints());
}

function virtualMarks(points: readonly Point[]): readonly LabMark[] {
  return points.flatMap(marksOf);
}

async function virtualPoint(multiple: number): Promise<Point> {
  const plan = {
    ...{ perSecond: multiple * PROBED_PER_SECOND, seconds: SECONDS, patienceMs: FIRST_PATIENCE_MS },
    workMs: () => FIRST_WORK_MS,
  };
  const none = await flood({ ...plan, admission: FIRST_UNPROTECTED });
  const line = await flood({ ...plan, admission: FIRST_LINE_AND_WAIT });
  const ours = await flood({ ...plan, admission: OURS_BY_DEFAULT });
  const goodput = (result: typeof none): number => steadyGoodput(result, WARM_UP_SECONDS, SECONDS);
  return {
    ...{ multiple, none: goodput(none), line: goodput(line), ours: goodput(ours) },
    oursP99Ms: percentile(ours.okMs, 0.99),
  };
}

function marksOf({ multiple, none, line, ours }: Point): LabMark[] {
  const least = Math.min(multiple * PROBED_PER_SECOND, TRUE_PER_SECOND) * 0.99 - 0.3;
  return [
    atLeast(`${multiple}x: goodput with line and wait limit`, line, least),
    atLeast(`${multiple}x: goodput of ours by default`, ours, least),
    // At 1.5 x the last callers who are answered in time came in the second second.
    ...(multiple >= 2 ? [atMost(`${multiple}x: goodput without protection`, none, 0)] : []),
  ];
}

const OURS: Protection = { kind: "spillway", admission: { slots: SLOTS, guessMs: WORK_MS } };

interface Servers {
  readonly tables: Findings["tables"];
  readonly plots: Findings["plots"];
  readonly marks: readonly LabMark[];
}

/** The same with servers, whose capacity is measured in the same run. Each multiple is a phase of its own. */
async function onServers(lab: Lab): Promise<Servers> {
  const multiples = lab.quick ? [1, 4] : KNOWN.map(([multiple]) => multiple);
  const rows: (string | number)[][] = [];
  const marks: LabMark[] = [];
  const series = { none: [] as [number, number][], ours: [] as [number, number][] };
  let probe: Measured | undefined;
  for (const multiple of multiples) {
    const ours = await atMultiple(lab, OURS, multiple);
    const none = lab.quick && multiple === 1 ? undefined : await atMultiple(lab, { kind: "none" }, multiple);
    probe ??= ours;
    const capacity = ours.capacity?.perSecond ?? Number.NaN;
    const rate = steadyRate(ours.load.bins, WARM_UP_SECONDS, SECONDS);
    const noneRate = none === undefined ? Number.NaN : steadyRate(none.load.bins, WARM_UP_SECONDS, SECONDS);
    series.ours.push([multiple, rate]);
    if (none !== undefined) series.none.push([multiple, noneRate]);
    const p99 = Math.round(percentile(ours.phase.servedMs, 0.99));
    rows.push([
      ...[`${multiple}x`, capacity.toFixed(1), none === undefined ? "" : noneRate.toFixed(1), rate.toFixed(1)],
      ...[(rate / capacity).toFixed(3), p99, ours.phase.shed, ours.wasted],
    ]);
    marks.push(...serverMarks(multiple, ours, none, rate / capacity, noneRate));
  }
  return {
    tables: [
      {
        caption: `The same with servers (node:http), ${SLOTS} slots of ${WORK_MS} ms, known: none 39.5, 79, 0, 0, 0, protected 39.5, 79, 79.8, 80, 80 a second, p99 350 ms`,
        columns: ["offered", "capacity/s", "none", "ours", "ours / capacity", "ours, p99 ms", "503", "wasted"],
        rows,
      },
      calibration(probe as Measured),
    ],
    plots: [
      {
        title: "Goodput by offered load, servers",
        ...{ xLabel: "offered, in multiples of the capacity", yLabel: "answers in time per second" },
        series: [
          { name: "none", points: series.none },
          { name: "ours by default", points: series.ours },
        ],
        level: { value: CAPACITY_PER_SECOND, label: "capacity" },
      },
    ],
    marks,
  };
}

function atMultiple(lab: Lab, protection: Protection, multiple: number): Promise<Measured> {
  const phases = (perSecond: number): Phase[] => [
    { name: `${multiple}x`, perSecond: multiple * perSecond, seconds: SECONDS },
  ];
  return measure(
    lab,
    `${multiple}x, ${protection.kind}`,
    { form: "node:http", protection, work: WORK },
    (capacity) => ({ phases: phases(capacity), patienceMs: PATIENCE_MS }),
    // As many callers as slots: more of them would find the line of the protected service full at times.
    { capacity: { callers: SLOTS, slots: SLOTS, seconds: 3 }, once: protection.kind === "none" && multiple < 2 },
  );
}

function serverMarks(
  multiple: number,
  ours: Measured,
  none: Measured | undefined,
  part: number,
  noneRate: number,
): LabMark[] {
  const { phase, wasted } = ours;
  return [
    onThisMachine(
      atLeast(`servers, ${multiple}x: goodput as a part of the capacity`, part, Math.min(1, multiple) * 0.98),
      ours,
    ),
    onThisMachine(
      between(`servers, ${multiple}x: timed out, wasted and failed`, phase.timedOut + wasted + phase.failed, 0, 0),
      ours,
    ),
    ...(none === undefined || multiple < 2
      ? []
      : [onThisMachine(atMost(`servers, ${multiple}x: goodput without protection`, noneRate, 0), none)]),
  ];
}

/** How a capacity is measured makes a difference: what is under way at the end of a short probe counts as if it had been done in it. */
function calibration({ capacity }: Measured): Findings["tables"][number] {
  const { perSecond = Number.NaN, finished = 0 } = capacity ?? {};
  return {
    caption: "The capacity, three ways: the text's probe of 3 s counts what was under way and reads 5 % high",
    columns: ["", "the text", "this machine"],
    rows: [
      ["slots / work", TRUE_PER_SECOND.toFixed(1), CAPACITY_PER_SECOND.toFixed(1)],
      ["finished and under way at the end, over 3 s", PROBED_PER_SECOND, ((finished + SLOTS) / 3).toFixed(1)],
      ["from one answer to another", "", perSecond.toFixed(1)],
    ],
  };
}
