// What do a bound and its two answers to "full", wait or drop, make of a queue whose producer is faster than its consumer?
import { type Admission, createAdmission } from "@spillway/admission";
import { virtualClock } from "../simulator/virtual-clock.ts";
import { VirtualLoop } from "../simulator/virtual-loop.ts";
import { atLeast, between, type Experiment, type Findings, type LabMark } from "./experiment.ts";
import { ENDLESS } from "./load/admissions.ts";

const RUN_MS = 2000;
const PRODUCED_PER_SECOND = 200;
/** What 20 ms took on the machine of the text: 62 items in 2 s. */
const CONSUME_MS = 32;
const BOUND = 10;

type WhenFull = "grow" | "wait" | "drop";

/** As the text has them: made, consumed, dropped, left, longest wait in s. */
const KNOWN: Readonly<Record<WhenFull, readonly [number, number, number, number, number]>> = {
  grow: [398, 62, 0, 335, 1.67],
  wait: [74, 63, 0, 10, 0.36],
  drop: [399, 62, 326, 10, 0.32],
};
const NAMES: Readonly<Record<WhenFull, string>> = {
  grow: "no bound",
  wait: `bound of ${BOUND}, the producer waits`,
  drop: `bound of ${BOUND}, what does not fit is dropped`,
};

interface QueueRun {
  made: number;
  consumed: number;
  dropped: number;
  left: number;
  longestWaitMs: number;
  readonly line: (readonly [number, number])[];
}

export const queue: Experiment = {
  name: "queue",
  asks: "what a bound makes of a queue whose producer is faster than its consumer",
  run: runQueue,
};

async function runQueue(): Promise<Findings> {
  const kinds = Object.keys(KNOWN) as WhenFull[];
  const runs = new Map<WhenFull, QueueRun>();
  for (const kind of kinds) runs.set(kind, await produce(kind));
  const of = (kind: WhenFull): QueueRun => runs.get(kind) as QueueRun;
  const shorter = of("grow").longestWaitMs / Math.max(of("wait").longestWaitMs, of("drop").longestWaitMs);
  return {
    tables: [
      {
        caption: `${PRODUCED_PER_SECOND} items a second for ${RUN_MS / 1000} s, ${CONSUME_MS} ms each to consume (virtual clock; in brackets the text)`,
        columns: ["queue", "made", "consumed", "dropped", "left", "longest wait in s"],
        rows: kinds.map((kind) => {
          const { made, consumed, dropped, left, longestWaitMs } = of(kind);
          const figures = [made, consumed, dropped, left, Number((longestWaitMs / 1000).toFixed(2))];
          return [NAMES[kind], ...figures.map((figure, i) => `${figure} (${KNOWN[kind][i]})`)];
        }),
      },
    ],
    plots: [
      {
        title: "Items in the queue",
        ...{ xLabel: "time in s", yLabel: "items" },
        series: kinds.map((kind) => ({ name: NAMES[kind], points: of(kind).line })),
      },
    ],
    marks: [
      ...kinds.flatMap((kind) => marksOf(kind, of(kind))),
      between("most less fewest consumed", spread(kinds.map((kind) => of(kind).consumed)), 0, 2),
      atLeast("how many times shorter the longest wait is with a bound", shorter, 4.5),
    ],
    summary: `The consumer finishes ${of("grow").consumed} items with and without a bound; with one, nothing waits ${shorter.toFixed(1)} times as long.`,
  };
}

function marksOf(kind: WhenFull, { made, consumed, dropped, left, longestWaitMs }: QueueRun): LabMark[] {
  const [knownMade, knownConsumed, knownDropped, knownLeft, knownWait] = KNOWN[kind];
  const near = (what: string, value: number, known: number): LabMark =>
    between(`${NAMES[kind]}: ${what}`, value, known - Math.max(2, known * 0.02), known + Math.max(2, known * 0.02));
  return [
    ...[near("made", made, knownMade), near("consumed", consumed, knownConsumed)],
    ...[near("dropped", dropped, knownDropped), near("left", left, knownLeft)],
    between(`${NAMES[kind]}: longest wait in s`, longestWaitMs / 1000, 0, knownWait * 1.1),
  ];
}

function spread(values: readonly number[]): number {
  return Math.max(...values) - Math.min(...values);
}

/** The queue is the line of a controller with one slot: the consumer. */
async function produce(kind: WhenFull): Promise<QueueRun> {
  const loop = new VirtualLoop();
  const clock = virtualClock(loop, 0);
  const bound = kind === "drop" ? { lineItems: BOUND } : {};
  const consumer = createAdmission({ ...ENDLESS, slots: 1, guessMs: CONSUME_MS, clock, ...bound });
  // Room for the one that is consumed and for the queue: who finds none waits.
  const room = createAdmission({ ...ENDLESS, slots: kind === "wait" ? BOUND + 1 : 1_000_000, clock });
  const run: QueueRun = { made: 0, consumed: 0, dropped: 0, left: 0, longestWaitMs: 0, line: [] };
  makeNext(loop, room, consumer, run);
  for (let ms = 0; ms <= RUN_MS; ms += 20)
    loop.at(ms, () => (run.line as [number, number][]).push([ms / 1000, consumer.stats().waiting]));
  await loop.runUntil(RUN_MS - 0.001);
  run.left = consumer.stats().waiting;
  return run;
}

/** One item when it is due, or as soon as there is room for it. */
function makeNext(loop: VirtualLoop, room: Admission, consumer: Admission, run: QueueRun): void {
  const dueMs = (run.made * 1000) / PRODUCED_PER_SECOND;
  loop.at(dueMs, () => {
    room.enter((place) => {
      if (!place.admitted) return;
      run.made++;
      consume(loop, consumer, run, () => place.release());
      makeNext(loop, room, consumer, run);
    });
  });
}

function consume(loop: VirtualLoop, consumer: Admission, run: QueueRun, done: () => void): void {
  consumer.enter((permit) => {
    if (!permit.admitted) {
      run.dropped++;
      done();
      return;
    }
    run.longestWaitMs = Math.max(run.longestWaitMs, permit.waitedMs);
    loop.after(CONSUME_MS, () => {
      run.consumed++;
      permit.release();
      done();
    });
  });
}
