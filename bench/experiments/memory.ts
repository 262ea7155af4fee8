// What does a flood leave in memory, and do a million callers of every kind leave anything at all?
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { atLeast, atMost, between, type Experiment, type Findings, type Lab } from "./experiment.ts";
import { PATIENCE_MS, SLOTS, WORK, WORK_MS } from "./load/admissions.ts";
import { type Measured, measure, onThisMachine } from "./load/measure.ts";
import type { Protection } from "./load/plan.ts";
import type { Service } from "./load/service.ts";
import { type SoakResult, soak } from "./load/soak.ts";

const MIB = 1024 * 1024;
const PER_SECOND = 320;
/** Places of the line, and those who stand in it for slots that are free already and are handed over a turn later. */
const MOST_WAITING = 16 + SLOTS;

export const memory: Experiment = {
  name: "memory",
  asks: "what a flood leaves in memory, and whether a million callers of every kind leave anything",
  run: runMemory,
};

interface Flooded {
  readonly measured: Measured;
  /** Resident memory in MiB above what it was before, by second. */
  readonly course: readonly (readonly [second: number, mib: number])[];
}

async function runMemory(lab: Lab): Promise<Findings> {
  const seconds = lab.quick ? 8 : 60;
  const none = await flooded(lab, "none", { kind: "none" }, 10);
  const ours = await flooded(lab, "ours", { kind: "spillway", admission: { slots: SLOTS, guessMs: WORK_MS } }, seconds);
  setFlagsFromString("--expose-gc");
  const left = await soak(lab.quick ? 100_000 : 1_000_000, lab.seed, runInNewContext("gc") as () => void);
  const perWaiter = heapPerWaiter(none);
  const peak = peakOf(ours);
  return {
    tables: [floodTable(none, ours, seconds), soakTable(left)],
    plots: [
      {
        title: "Resident memory above what it was before",
        ...{ xLabel: "time in s", yLabel: "MiB" },
        series: [
          { name: "none", points: none.course },
          { name: "ours", points: ours.course },
        ],
      },
    ],
    marks: [
      onThisMachine(atLeast("none: left in the line", none.measured.left, 2000), none.measured),
      between("none: heap for each waiter in KiB (the text: 10 to 30)", perWaiter, 2, 30),
      atMost("ours: growth of resident memory after the first 3 s, in MiB", lastingGrowth(ours), 15),
      atMost("ours: in the line at most", peak, MOST_WAITING),
      between("slots and places that are not given back", left.active + left.waiting, 0, 0),
      between(
        "callers with no answer, beyond those who left",
        left.admitted + left.shed,
        0.5 * left.callers,
        left.callers,
      ),
      between("heap after the last callers less that after the first fifth, in MiB", heapDrift(left), -2, 2),
    ],
    summary: `A flood of 10 s leaves ${none.measured.left} requests and ${heapOf(none).toFixed(0)} MiB in the unprotected service; ours never had more than ${peak} in its line, and ${left.callers.toLocaleString("en-US")} callers of every kind leave nothing.`,
  };
}

function growth({ measured: { before, after } }: Flooded): number {
  return (after.rssBytes - before.rssBytes) / MIB;
}

/** Code and buffers of a service that is loaded for the first time are not what a flood leaves. */
function lastingGrowth(flooded: Flooded): number {
  return growth(flooded) - (flooded.course.find(([second]) => second === 3)?.[1] ?? 0);
}

function heapOf({ measured: { before, after } }: Flooded): number {
  return (after.heapBytes - before.heapBytes) / MIB;
}

/** In KiB. */
function heapPerWaiter(flooded: Flooded): number {
  return (heapOf(flooded) * 1024) / Math.max(1, flooded.measured.left);
}

function peakOf({ measured: { after } }: Flooded): number {
  return after.admission?.peakWaiting ?? Number.NaN;
}

function floodTable(none: Flooded, ours: Flooded, seconds: number): Findings["tables"][number] {
  const { left, after } = none.measured;
  const cells = (one: Flooded): string[] => [growth(one).toFixed(1), heapOf(one).toFixed(1)];
  return {
    caption: `${PER_SECOND}/s, four times the capacity; memory in MiB above what it was before`,
    columns: [
      "protection",
      "seconds",
      "the text",
      "resident",
      "heap",
      "in the line at most",
      "left in the line",
      "heap in KiB each",
    ],
    rows: [
      ["none", 10, "19 for 1,500 waiters", ...cells(none), after.peakWaiting, left, heapPerWaiter(none).toFixed(1)],
      ["ours by default", seconds, "", ...cells(ours), peakOf(ours), ours.measured.left, ""],
    ],
  };
}

function heapDrift({ heap }: SoakResult): number {
  return ((heap.at(-1) ?? Number.NaN) - (heap[1] ?? Number.NaN)) / MIB;
}

function soakTable(left: SoakResult): Findings["tables"][number] {
  const { callers, admitted, shed, active, waiting, heap } = left;
  const mib = (bytes: number): string => (bytes / MIB).toFixed(2);
  return {
    caption:
      "Callers who work, fail, throw, abort, leave, come too late or ask for several slots, at random (virtual clock)",
    columns: [
      "callers",
      "let in",
      "refused",
      "slots left",
      "places left",
      "heap after 1/5, MiB",
      "heap at the end, MiB",
    ],
    rows: [[callers, admitted, shed, active, waiting, mib(heap[1] ?? Number.NaN), mib(heap.at(-1) ?? Number.NaN)]],
  };
}

async function flooded(lab: Lab, name: string, protection: Protection, seconds: number): Promise<Flooded> {
  let course: [number, number][] = [];
  const watch = async (service: Service): Promise<void> => {
    course = [];
    let first: number | undefined;
    for (let second = 0; second < seconds; second++) {
      const { rssBytes } = await service.stats();
      first ??= rssBytes;
      course.push([second, (rssBytes - first) / MIB]);
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
    await service.collectGarbage();
  };
  const load = { phases: [{ name, perSecond: PER_SECOND, seconds }], patienceMs: PATIENCE_MS };
  const measured = await measure(lab, name, { form: "node:http", protection, work: WORK }, load, {
    capacity: { callers: SLOTS, slots: SLOTS, seconds: 1 },
    beside: watch,
  });
  return { measured, course };
}
