import type { LimitShape, RunFigures } from "./measure.ts";

/** Something that a run must show, and whether it did. */
export interface Mark {
  readonly text: string;
  readonly held: boolean;
}

/** Judges the runs of one mode. */
export type Judge = (run: RunFigures, shape: LimitShape, workers: number) => Mark[];

/** A demand close to what can be admitted leaves tokens unused by chance; from this factor on it does not. */
const CLEARLY_ABOVE = 1.2;

/** Every request got an answer, and no other than 200 or 429. */
export function answeredMark(run: RunFigures): Mark {
  const failures = Object.entries(run.failures).map(([code, count]) => `${count} x ${code}`);
  if (failures.length === 0) return { text: "every request was answered 200 or 429", held: true };
  return { text: `every request should be answered 200 or 429, got ${failures.join(", ")}`, held: false };
}

/** A shared limit: never above the bound, and at least the bound less 1 % or 3, whichever is more. */
export const judgeShared: Judge = (run, shape) => {
  const marks: Mark[] = [
    {
      text: `admitted ${run.admitted}, never above the bound of ${run.bound.toFixed(1)}`,
      held: run.admitted <= run.bound,
    },
  ];
  if (!demandIsAbove(run, shape, 1)) return marks;
  const least = run.bound - Math.max(run.bound / 100, 3);
  marks.push({
    text: `admitted ${run.admitted}, at least ${least.toFixed(1)} (the bound less 1 % or 3)`,
    held: run.admitted >= least,
  });
  return marks;
};

/** The leak: workers that count alone admit nearly as many times the bound as there are workers. */
export const judgePerProcess: Judge = (run, shape, workers) => {
  if (!demandIsAbove(run, shape, workers)) return [];
  const least = 0.95 * workers;
  return [
    {
      text: `admitted ${run.ratio.toFixed(2)} times the bound, from ${least.toFixed(1)} to ${workers}, one for each worker`,
      held: run.ratio >= least && run.ratio <= workers,
    },
  ];
};

function demandIsAbove(run: RunFigures, shape: LimitShape, buckets: number): boolean {
  const offeredPerSecond = (run.offered * 1000) / run.spanMs;
  const limitPerSecond = (shape.limit * 1000) / shape.periodMs;
  return (
    offeredPerSecond >= CLEARLY_ABOVE * limitPerSecond * buckets && run.offered >= CLEARLY_ABOVE * run.bound * buckets
  );
}
