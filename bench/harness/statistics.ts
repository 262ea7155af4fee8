/** A median with the middle half around it. */
export interface Summary {
  readonly median: number;
  /** Lower and upper quartile. */
  readonly spread: readonly [number, number];
}

/** @throws RangeError without values. */
export function summaryOf(values: readonly number[]): Summary {
  return { median: quantile(values, 0.5), spread: [quantile(values, 0.25), quantile(values, 0.75)] };
}

/** By linear interpolation between the two nearest values. `part` is 0 to 1. @throws RangeError without values. */
export function quantile(values: readonly number[], part: number): number {
  if (values.length === 0) throw new RangeError("A quantile of no values.");
  const sorted = values.toSorted((a, b) => a - b);
  const at = part * (sorted.length - 1);
  const below = sorted[Math.floor(at)] as number;
  const above = sorted[Math.ceil(at)] as number;
  return below + (above - below) * (at - Math.floor(at));
}
