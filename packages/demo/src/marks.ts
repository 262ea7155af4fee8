import type { LimitShape, RunFigures } from "./measure.ts";

/** Something that a run must show, and whether it did. */
export interface Mark {
  /**
   * `"floor"`: enough was done; a machine too busy to serve and to send on time can miss it. `"ceiling"`: nothing went wrong;
   * no machine may miss it.
   */
  readonly kind: "floor" | "ceiling";
  readonly text: string;
  readonly held: boolean;
}

/** Judges the runs of one mode. */
export type Judge = (run: RunFigures, shape: LimitShape, workers: number) => Mark[];

/** A demand close to what can be admitted leaves tokens unused by chance; from this factor on it does not. */
const CLEARLY_ABOVE = 1.2;

/** Later than this in one request of a hundred, the load generator shared its processor with too much else. */
const PUNCTUAL_MS = 10;
/** Slower than this in one request of a hundred, the servers did: an idle machine answers within a few ms. */
const SWIFT_MS = 100;

/** Whether a run says more about a busy machine than about what it measured: only floors were missed, and it was late. */
export function isUnfair(run: RunFigures, marks: readonly Mark[]): boolean {
  const missed = marks.filter((mark) => !mark.held);
  const late = run.scheduleError.p99Ms > PUNCTUAL_MS || run.requestP99Ms > SWIFT_MS;
  return late && missed.length > 0 && missed.every((mark) => mark.kind === "floor");
}

/** Every request got an answer, and no other than 200 or 429. */
export function answeredMark(run: RunFigures): Mark {
  const failures = Object.entries(run.failures).map(([code, count]) => `${count} x ${code}`);
  if (failures.length === 0) return { kind: "ceiling", text: "every request was answered 200 or 429", held: true };
  const text = `every request should be answered 200 or 429, got ${failures.join(", ")}`;
  return { kind: "ceiling", text, held: false };
}

/** A shared limit: never above the bound, and at least the bound less 1 % or 3, whichever is more. */
export const judgeShared: Judge = (run, shape) => {
  const marks: Mark[] = [
    {
      kind: "ceiling",
      text: `admitted ${run.admitted}, never above the bound of ${run.bound.toFixed(1)}`,
      held: run.admitted <= run.bound,
    },
  ];
  if (!demandIsAbove(run, shape, 1)) return marks;
  const least = run.bound - Math.max(run.bound / 100, 3);
  marks.push({
    kind: "floor",
    text: `admitted ${run.admitted}, at least ${least.toFixed(1)} (the bound less 1 % or 3)`,
    held: run.admitted >= least,
  });
  return marks;
};

/** The leak: workers that count alone admit nearly as many times the bound as there are workers. */
export const judgePerProcess: Judge = (run, shape, workers) => {
  if (!demandIsAbove(run, shape, workers)) return [];
  const least = 0.95 * workers;
  const ratio = run.ratio.toFixed(2);
  return [
    {
      kind: "floor",
      text: `admitted ${ratio} times the bound, at least ${least.toFixed(1)}`,
      held: run.ratio >= least,
    },
    { kind: "ceiling", text: `admitted ${ratio} times the bound, at most ${workers}`, held: run.ratio <= workers },
  ];
};

function demandIsAbove(run: RunFigures, shape: LimitShape, buckets: number): boolean {
  const offeredPerSecond = (run.offered * 1000) / run.spanMs;
  const limitPerSecond = (shape.limit * 1000) / shape.periodMs;
  return (
    offeredPerSecond >= CLEARLY_ABOVE * limitPerSecond * buckets && run.offered >= CLEARLY_ABOVE * run.bound * buckets
  );
}
