import { type Admission, createAdmission } from "@spillway/admission";
import { type Random, seededRandom } from "../../simulator/random.ts";
import { virtualClock } from "../../simulator/virtual-clock.ts";
import { VirtualLoop } from "../../simulator/virtual-loop.ts";

const BATCH = 50;
const BATCH_MS = 20;
const SAMPLES = 10;

/** What is left after callers of every kind. */
export interface SoakResult {
  readonly callers: number;
  readonly active: number;
  readonly waiting: number;
  readonly admitted: number;
  readonly shed: number;
  /** Heap in bytes after a collection, at even distances. */
  readonly heap: readonly number[];
}

/** Sends callers who get their permit and give it back, give up, leave, come with a deadline, throw: at random, in virtual time. */
export async function soak(callers: number, seed: number, collectGarbage: () => void): Promise<SoakResult> {
  const loop = new VirtualLoop(1);
  const random = seededRandom(seed);
  const admission = createAdmission({ slots: 8, guessMs: 10, waitMs: 60, clock: virtualClock(loop, 0), random });
  const heap: number[] = [];
  for (let done = 0; done < callers; done += BATCH) {
    for (let i = 0; i < BATCH; i++) arrive(loop, admission, random);
    await loop.runUntil(loop.nowMs + BATCH_MS);
    if (Math.floor((done + BATCH) / (callers / SAMPLES)) > heap.length) {
      collectGarbage();
      heap.push(process.memoryUsage().heapUsed);
    }
  }
  await loop.runUntil(loop.nowMs + 60_000);
  const { active, waiting, admitted, shed } = admission.stats();
  const turnedAway = Object.values(shed).reduce((sum, count) => sum + count, 0);
  return { callers, active, waiting, admitted, shed: turnedAway, heap };
}

function arrive(loop: VirtualLoop, admission: Admission, random: Random): void {
  const workMs = 20 * random();
  const kind = Math.floor(5 * random());
  if (kind === 0) {
    const place = admission.enter((answer) => {
      if (answer.admitted) loop.after(workMs, () => answer.release("abandoned"));
    });
    loop.after(40 * random(), () => place.leave());
  } else if (kind === 1) {
    const abort = new AbortController();
    loop.after(40 * random(), () => abort.abort());
    void admission.acquire({ signal: abort.signal }).then((answer) => {
      if (answer.admitted) loop.after(workMs, () => answer.release());
    });
  } else if (kind === 2) {
    const work = (): Promise<void> =>
      new Promise((resolve, reject) => {
        loop.after(workMs, () => (random() < 0.5 ? resolve() : reject(new Error("failed"))));
      });
    admission.run(work, { deadlineMs: 200 * random() }).catch(() => {});
  } else if (kind === 3) {
    const thrown = (): never => {
      throw new Error("thrown");
    };
    admission.run(thrown).catch(() => {});
  } else {
    const permit = admission.acquireNow({ cost: 1 + Math.floor(3 * random()) });
    if (permit?.admitted) {
      loop.after(workMs, () => {
        permit.release();
        permit.release("failed");
      });
    }
  }
}
