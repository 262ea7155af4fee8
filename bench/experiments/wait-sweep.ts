// What does a longer wait limit buy?
import { atMost, between, type Experiment, type Findings, type LabMark } from "./experiment.ts";
import {
  FIRST_LINE,
  FIRST_PATIENCE_MS,
  FIRST_WORK_MS,
  OURS_BY_DEFAULT,
  PROBED_PER_SECOND,
  TRUE_PER_SECOND,
} from "./load/first-text.ts";
import { percentile } from "./load/load-tally.ts";
import { type FloodResult, flood, steadyGoodput } from "./load/virtual-flood.ts";

const SECONDS = 6;
const WARM_UP_SECONDS = 2;
const LINE_MS = 33 * (1000 / TRUE_PER_SECOND);
/** By wait limit in ms: goodput per second, p99 in ms, 503s. */
const KNOWN: readonly (readonly [number, number, number, number])[] = [
  [300, 62, 355, 390],
  [600, 62.8, 612, 371],
  [900, 62.2, 612, 375],
];

export const waitSweep: Experiment = {
  name: "wait-sweep",
  asks: "what a longer wait limit buys at twice the capacity",
  run: runWaitSweep,
};

async function runWaitSweep(): Promise<Findings> {
  const results: FloodResult[] = [];
  for (const [waitMs] of KNOWN) results.push(await at(waitMs));
  const ours = await flood({ ...plan, admission: OURS_BY_DEFAULT });
  const goodputs = results.map((result) => steadyGoodput(result, WARM_UP_SECONDS, SECONDS));
  return {
    tables: [
      {
        caption: `Twice the capacity for ${SECONDS} s, a line of 33 (virtual clock; in brackets the text)`,
        columns: ["wait limit", "goodput/s", "p99 ms", "timed out", "503"],
        rows: [
          ...KNOWN.map(([waitMs, goodput, p99, shed], i) => {
            const result = results[i] as FloodResult;
            const measuredP99 = Math.round(percentile(result.okMs, 0.99));
            return [
              ...[`${waitMs} ms`, `${goodputs[i]?.toFixed(1)} (${goodput})`, `${measuredP99} (${p99})`],
              ...[`${result.timedOut} (0)`, `${result.shed} (${shed})`],
            ];
          }),
          [
            ...["ours by default", steadyGoodput(ours, WARM_UP_SECONDS, SECONDS).toFixed(1)],
            ...[`${Math.round(percentile(ours.okMs, 0.99))}`, `${ours.timedOut}`, `${ours.shed}`],
          ],
        ],
      },
    ],
    plots: [
      {
        title: "How long callers wait at most (p99), by the wait limit",
        ...{ xLabel: "wait limit in ms", yLabel: "p99 in ms" },
        series: [
          { name: "measured", points: KNOWN.map(([ms], i) => [ms, percentile(results[i]?.okMs ?? [], 0.99)] as const) },
          { name: "the text", points: KNOWN.map(([ms, , p99]) => [ms, p99] as const) },
        ],
      },
    ],
    marks: [...results.flatMap((result, i) => marksOf(result, i, goodputs[i] as number)), ...ourMarks(ours)],
    summary: `Goodput stays at ${Math.min(...goodputs).toFixed(1)} to ${Math.max(...goodputs).toFixed(1)} a second whatever the wait limit; only the time that callers wait grows.`,
  };
}

const plan = {
  ...{ perSecond: 2 * PROBED_PER_SECOND, seconds: SECONDS, patienceMs: FIRST_PATIENCE_MS },
  workMs: () => FIRST_WORK_MS,
} as const;

function at(waitMs: number): Promise<FloodResult> {
  return flood({ ...plan, admission: { ...FIRST_LINE, waitMs } });
}

function marksOf({ okMs, timedOut, wasted, shed }: FloodResult, index: number, goodput: number): LabMark[] {
  const [waitMs, , , knownShed] = KNOWN[index] as readonly [number, number, number, number];
  const p99 = Math.min(waitMs, LINE_MS) + FIRST_WORK_MS;
  return [
    between(`${waitMs} ms: goodput per second`, goodput, 0.99 * TRUE_PER_SECOND, 1.03 * TRUE_PER_SECOND),
    between(
      `${waitMs} ms: p99 in ms, the shorter of wait limit and line, and the work`,
      percentile(okMs, 0.99),
      p99 - 30,
      p99 + 30,
    ),
    between(`${waitMs} ms: timed out and wasted`, timedOut + wasted, 0, 0),
    between(`${waitMs} ms: 503s`, shed, 0.9 * knownShed, 1.1 * knownShed),
  ];
}

function ourMarks(ours: FloodResult): LabMark[] {
  return [
    between(
      "ours by default: goodput per second",
      steadyGoodput(ours, WARM_UP_SECONDS, SECONDS),
      0.99 * TRUE_PER_SECOND,
      1.03 * TRUE_PER_SECOND,
    ),
    atMost("ours by default: p99 in ms", percentile(ours.okMs, 0.99), FIRST_WORK_MS + 150),
  ];
}
