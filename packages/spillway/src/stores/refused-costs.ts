import type { TakeCall } from "./store.ts";

const NONE: readonly number[] = Object.freeze([]);

/** For each bucket of a call the costs of asks that came to it and were refused: who asked for them will be told to wait. */
export function refusedCosts({ buckets, runs }: TakeCall, served: readonly number[]): readonly (readonly number[])[] {
  const costs: (readonly number[])[] = buckets.map(() => NONE);
  for (const [r, { count, charges }] of runs.entries()) {
    if (served[r] === count) continue;
    for (const { bucket, cost } of charges) costs[bucket] = [...(costs[bucket] ?? NONE), cost];
  }
  return costs;
}
