// What do servers make of an overload whose work waits, and of one whose work keeps the process busy?
import { atLeast, atMost, between, type Experiment, type Findings, type Lab, type LabMark } from "./experiment.ts";
import { computes } from "./http-computing.ts";
import { PATIENCE_MS } from "./load/admissions.ts";
import { type Burst, burstOf } from "./load/burst.ts";
import { percentile } from "./load/load-tally.ts";
import { type Measured, measure, onThisMachine } from "./load/measure.ts";
import type { Protection, Work } from "./load/plan.ts";
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
  const perMs = TEXT_SLOTS / TEXT_WORK_MS;
  const least = (capacity?.perSecond ?? Number.NaN) * TEXT_SECONDS + 300 * perMs - 2 * TEXT_SLOTS;
  // A server that is probed waits for its callers between two answers; one with a line does not.
  const most = perMs * (TEXT_SECONDS * 1000 + 300) + 2 * TEXT_SLOTS;
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
      mark(between("over HTTP, line and wait limit: answers in time", phase.served, least, most)),
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
    {
      capacity: { callers: TEXT_SLOTS, slots: TEXT_SLOTS, seconds: 2 },
      asksHealth: true,
      once: protection.kind === "bulkhead",
    },
  );
}

function textCells({ phase, wasted, health }: Measured, known: readonly number[]): (string | number)[] {
  const [p50, p99] = [Math.round(percentile(phase.servedMs, 0.5)), Math.round(percentile(phase.servedMs, 0.99))];
  const figures = [phase.served, phase.shed, phase.timedOut, p50, p99, wasted];
  const besides = figures.map((figure, j) => (known.length === 0 ? figure : `${figure} (${known[j]})`));
  return [...besides, `${health?.served} of ${health?.offered}`];
}
