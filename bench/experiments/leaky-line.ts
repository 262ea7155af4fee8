// What becomes of a line whose counter forgets those who leave it?
import { createAdmission } from "@spillway/admission";
import { virtualClock } from "../simulator/virtual-clock.ts";
import { VirtualLoop } from "../simulator/virtual-loop.ts";
import { between, type Experiment, type Findings, type LabMark } from "./experiment.ts";
import { type Answering, LeakyCounter } from "./load/leaky-counter.ts";

const LINE = 2;
const WAIT_MS = 30;
const CALLERS = 4;
const NEXT_AFTER_MS = 10;

interface Scene {
  readonly fates: readonly string[];
  /** In the line by its own count when nobody is. */
  readonly ghosts: number;
  readonly next: string;
}

const RIGHT: Scene = { fates: Array<string>(CALLERS).fill("waited_too_long"), ghosts: 0, next: "served" };
const WRONG: Scene = {
  ...{ fates: ["waited_too_long", "waited_too_long", "line_full", "line_full"], ghosts: 2, next: "line_full" },
};

export const leakyLine: Experiment = {
  name: "leaky-line",
  asks: "what becomes of a line whose counter forgets those who give up",
  run: runLeakyLine,
};

async function runLeakyLine(): Promise<Findings> {
  const ours = await play((loop) => {
    const options = { slots: 1, lineItems: LINE, lineMs: Number.POSITIVE_INFINITY, waitMs: WAIT_MS };
    return createAdmission({ ...options, order: "fifo", clock: virtualClock(loop, 0) });
  });
  const twin = await play((loop) => new LeakyCounter(loop, LINE, WAIT_MS));
  const drained = await capacityAfter(200);
  return {
    tables: [
      {
        caption: `One slot that is held, a line of ${LINE}, ${CALLERS} callers one after another who wait ${WAIT_MS} ms each; then the slot frees after ${NEXT_AFTER_MS} ms (as in the text)`,
        columns: ["line", "the four callers", "in the line afterwards", "the next caller"],
        rows: [
          ["ours", counted(ours.fates), ours.ghosts, ours.next],
          ["its leaky twin", counted(twin.fates), twin.ghosts, twin.next],
        ],
      },
      {
        caption:
          "Of 200 callers, one after another, who find the slot taken; every second one has to give up, after 5 ms; a line of 10",
        columns: ["line", "served", "refused although nobody was in the line"],
        rows: [
          ["ours", drained.ours.served, drained.ours.refused],
          ["its leaky twin", drained.twin.served, drained.twin.refused],
        ],
      },
    ],
    plots: [
      {
        title: "Callers served, one after another, of whom every second one has to give up",
        ...{ xLabel: "callers", yLabel: "served" },
        series: [
          { name: "ours", points: drained.ours.course },
          { name: "its leaky twin", points: drained.twin.course },
        ],
      },
    ],
    marks: [
      same("ours", ours, RIGHT),
      same("the leaky twin", twin, WRONG),
      between("ours: refused although nobody was in the line", drained.ours.refused, 0, 0),
      between("the leaky twin: served of 200", drained.twin.served, 0, 60),
    ],
    summary: `Each caller who gives up takes a place of the leaky line for good: its next caller hears ${twin.next}, ours is ${ours.next}.`,
  };
}

function same(name: string, scene: Scene, expected: Scene): LabMark {
  return {
    text: `${name}: ${counted(scene.fates)}, ${scene.ghosts} left, next ${scene.next}`,
    met: JSON.stringify(scene) === JSON.stringify(expected),
  };
}

function counted(fates: readonly string[]): string {
  return [...new Set(fates)].map((fate) => `${fates.filter((other) => other === fate).length} x ${fate}`).join(", ");
}

async function play(make: (loop: VirtualLoop) => Answering): Promise<Scene> {
  const loop = new VirtualLoop();
  const line = make(loop);
  const fates: string[] = [];
  let free = (): void => {};
  line.enter((answer) => {
    if (answer.admitted) free = () => answer.release();
  });
  await loop.runUntil(1);
  for (let caller = 0; caller < CALLERS; caller++) {
    line.enter((answer) => fates.push(answer.admitted ? "served" : answer.reason));
    await loop.runUntil(loop.nowMs + WAIT_MS + 1);
  }
  const ghosts = line.stats().waiting;
  let next = "waiting";
  line.enter((answer) => {
    next = answer.admitted ? "served" : answer.reason;
  });
  await loop.runUntil(loop.nowMs + NEXT_AFTER_MS);
  free();
  await loop.runUntil(loop.nowMs + 1);
  return { fates, ghosts, next };
}

interface Drained {
  served: number;
  refused: number;
  readonly course: [caller: number, served: number][];
}

/** Callers who come one at a time while the slot is taken for a while; every second one gives up before it frees. */
async function capacityAfter(callers: number): Promise<{ readonly ours: Drained; readonly twin: Drained }> {
  const ours = await drain(callers, (loop, waitMs) => {
    const options = { slots: 1, lineItems: 10, lineMs: Number.POSITIVE_INFINITY, waitMs };
    return createAdmission({ ...options, order: "fifo", clock: virtualClock(loop, 0) });
  });
  const twin = await drain(callers, (loop, waitMs) => new LeakyCounter(loop, 10, waitMs));
  return { ours, twin };
}

async function drain(callers: number, make: (loop: VirtualLoop, waitMs: number) => Answering): Promise<Drained> {
  const loop = new VirtualLoop();
  const line = make(loop, 5);
  const result: Drained = { served: 0, refused: 0, course: [] };
  for (let caller = 0; caller < callers; caller++) {
    // The slot is held for shorter or for longer than callers wait.
    const heldMs = caller % 2 === 0 ? 3 : 8;
    let free = (): void => {};
    line.enter((answer) => {
      if (answer.admitted) free = () => answer.release();
    });
    await loop.runUntil(loop.nowMs + 1);
    line.enter((answer) => {
      if (answer.admitted) {
        result.served++;
        answer.release();
      } else if (answer.reason === "line_full") result.refused++;
    });
    await loop.runUntil(loop.nowMs + heldMs);
    free();
    await loop.runUntil(loop.nowMs + 1);
    result.course.push([caller + 1, result.served]);
  }
  return result;
}
