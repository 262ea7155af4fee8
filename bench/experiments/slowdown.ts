// What happens when work gets slower, when the load steps, and when callers who retry meet a service that was slow for a while?
import { atLeast, atMost, between, type Experiment, type Findings, type Lab, type LabMark } from "./experiment.ts";
import { CAPACITY_PER_SECOND, ENDLESS, PATIENCE_MS, SLOTS, WORK_MS } from "./load/admissions.ts";
import {
  FIRST_LINE,
  FIRST_LINE_AND_WAIT,
  FIRST_PATIENCE_MS,
  FIRST_SLOW_MS,
  FIRST_TEXT_COLUMNS,
  FIRST_WORK_MS,
  firstTextCells,
  OURS_BY_DEFAULT,
  PROBED_PER_SECOND,
} from "./load/first-text.ts";
import { percentile } from "./load/load-tally.ts";
import { bySecond, type FloodResult, flood } from "./load/virtual-flood.ts";
import { metastable } from "./metastable.ts";

const SLOW_AFTER_MS = 3000;

interface Part {
  readonly tables: Findings["tables"];
  readonly plots: Findings["plots"];
  readonly marks: readonly LabMark[];
}

export const slowdown: Experiment = {
  name: "slowdown",
  asks: "what a service does whose work gets slower, whose load steps, and whose callers retry",
  run: runSlowdown,
};

async function runSlowdown(_lab: Lab): Promise<Findings> {
  const parts = [await fourTimesSlower(), await exactSlots(), await stepOfLoad(), await metastable()];
  return {
    tables: parts.flatMap(({ tables }) => tables),
    plots: parts.flatMap(({ plots }) => plots),
    marks: parts.flatMap(({ marks }) => marks),
    summary:
      "A line in items grows four times as long in time when work does; a wait limit keeps every answer in time. After a slow spell " +
      "the protected service is whole within a second, the unprotected one with three retries never.",
  };
}

/** The text's own run: 0.8 of the capacity, and after three seconds work takes four times as long. */
async function fourTimesSlower(): Promise<Part> {
  const plan = {
    ...{ perSecond: 0.8 * PROBED_PER_SECOND, seconds: 8, patienceMs: FIRST_PATIENCE_MS },
    workMs: (nowMs: number) => (nowMs > SLOW_AFTER_MS ? FIRST_SLOW_MS : FIRST_WORK_MS),
  };
  const line = await flood({ ...plan, admission: FIRST_LINE });
  const wait = await flood({ ...plan, admission: FIRST_LINE_AND_WAIT });
  const ours = await flood({ ...plan, admission: OURS_BY_DEFAULT });
  const row = (name: string, cells: readonly (string | number)[]): (string | number)[] => [name, ...cells];
  const near = (what: string, value: number, known: number): LabMark => between(what, value, 0.9 * known, 1.1 * known);
  return {
    tables: [
      {
        caption:
          "Work that takes four times as long after 3 s, offered 0.8 of the capacity before, 8 s (virtual clock)",
        columns: ["run", ...FIRST_TEXT_COLUMNS],
        rows: [
          row("line of 33, the text", ["22.9", 183, 131, 103, 64, 881, 84, 33]),
          row("line of 33", firstTextCells(line, 8)),
          row("and a wait limit of 0.3 s, the text", ["32.5", 260, 157, 0, 65, 498, 0, 16]),
          row("and a wait limit of 0.3 s", firstTextCells(wait, 8)),
          row("ours by default", firstTextCells(ours, 8)),
        ],
      },
    ],
    plots: [],
    marks: [
      near("line of 33: answers in time", line.ok, 183),
      near("line of 33: timed out", line.timedOut, 103),
      near("line of 33: 503s", line.shed, 131),
      near("line of 33: p99 in ms", percentile(line.okMs, 0.99), 920),
      near("and a wait limit: answers in time", wait.ok, 260),
      near("and a wait limit: p99 in ms", percentile(wait.okMs, 0.99), 498),
      between("and a wait limit: timed out and wasted", wait.timedOut + wait.wasted, 0, 0),
      atLeast("ours by default: answers in time", ours.ok, 260 * 0.98),
      atMost("ours by default: p99 in ms", percentile(ours.okMs, 0.99), 498),
      between("ours by default: timed out and wasted", ours.timedOut + ours.wasted, 0, 0),
    ],
  };
}

/** The same with work that takes what it says. A line that is bounded in items only is what a bulkhead has. */
async function exactSlots(): Promise<Part> {
  const slots = 4;
  const plan = {
    ...{ perSecond: 64, seconds: 8, patienceMs: PATIENCE_MS },
    workMs: (nowMs: number) => (nowMs > SLOW_AFTER_MS ? 200 : 50),
  };
  /** All that came before, and four slots of 200 ms from then on. */
  const most = (64 * SLOW_AFTER_MS) / 1000 + (5 * slots * 1000) / 200;
  const bulkhead = await flood({ ...plan, admission: { ...ENDLESS, slots, guessMs: 50, lineItems: 40 } });
  const ours = await flood({ ...plan, admission: { slots, guessMs: 50 } });
  const cells = (result: FloodResult): (string | number)[] => firstTextCells(result, 8);
  return {
    tables: [
      {
        caption: `The same with work of 50 and then 200 ms: ${most} answers are the most that the slots can give`,
        columns: ["run", ...FIRST_TEXT_COLUMNS],
        rows: [
          ["cockatiel bulkhead(4, 40), known", "", 214, "", 116, "", 883, 92, 40],
          ["a line of 40 and no wait limit", ...cells(bulkhead)],
          ["ours by default", ...cells(ours)],
        ],
      },
    ],
    plots: [],
    marks: [
      between("a line of 40 and no wait limit: answers in time", bulkhead.ok, 210, 222),
      atLeast("ours: answers in time as a part of what the slots can give", ours.ok / most, 0.98),
      atMost("ours: p99 in ms", percentile(ours.okMs, 0.99), 400),
      between("ours: timed out and wasted", ours.timedOut + ours.wasted, 0, 0),
    ],
  };
}

/** From the capacity to four times that, and down to 0.7 of it. */
async function stepOfLoad(): Promise<Part> {
  const perSecond = (second: number): number => CAPACITY_PER_SECOND * (second < 5 ? 1 : second < 10 ? 4 : 0.7);
  const plan = { perSecond, seconds: 15, workMs: () => WORK_MS, patienceMs: PATIENCE_MS };
  const ours = await flood({ ...plan, admission: { slots: SLOTS, guessMs: WORK_MS } });
  const none = await flood({ ...plan, admission: { ...ENDLESS, slots: SLOTS, guessMs: WORK_MS } });
  const binOf = CAPACITY_PER_SECOND / 4;
  // From 300 ms after the step on; by when they came.
  const steep = ours.okByQuarter.slice(22, 40);
  const after = ours.okByQuarter.slice(44, 60);
  const worst = Math.min(...steep) / binOf;
  const whole = Math.min(...after) / (0.7 * binOf);
  return {
    tables: [
      {
        caption: "Load that steps from 1 x to 4 x to 0.7 x of the capacity, 5 s each (virtual clock)",
        columns: [
          "run",
          "in time",
          "503",
          "timed out",
          "wasted",
          "worst quarter of a second at 4 x",
          "worst after the step down",
        ],
        rows: [
          ["none", none.ok, none.shed, none.timedOut, none.wasted, ...worstOf(none, binOf)],
          ["ours by default", ours.ok, ours.shed, ours.timedOut, ours.wasted, ...worstOf(ours, binOf)],
        ],
      },
    ],
    plots: [
      {
        title: "Answers in time per second while the load steps to 4 x and to 0.7 x",
        ...{ xLabel: "time in s", yLabel: "per second" },
        series: [bySecond("none", none, 15), bySecond("ours", ours, 15)],
        level: { value: CAPACITY_PER_SECOND, label: "capacity" },
      },
    ],
    marks: [
      atLeast("4 x: worst quarter of a second from 300 ms on, as a part of the capacity", worst, 0.95),
      atLeast("0.7 x: worst quarter of a second from one second on, as a part of what came", whole, 1),
      between("timed out and wasted", ours.timedOut + ours.wasted, 0, 0),
    ],
  };
}

function worstOf({ okByQuarter }: FloodResult, binOf: number): string[] {
  const worst = (from: number, to: number, whole: number): string => {
    const quarters = Array.from({ length: to - from }, (_, i) => okByQuarter[from + i] ?? 0);
    return `${Math.round((100 * Math.min(...quarters)) / whole)} %`;
  };
  return [worst(22, 40, binOf), worst(44, 60, 0.7 * binOf)];
}
