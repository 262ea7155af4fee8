import type { Admission } from "./admissions.ts";

/**
 * The most by which the admissions of any window exceed `perMs` times its length, which may be none long: what a bucket that
 * leaks at that rate would hold at most. An admission counts for the windows that hold its whole span, so that it need not be
 * known when in it the store served.
 * @param timeAt turns milliseconds into those that count.
 */
export function mostInAnyWindow(
  admissions: readonly Admission[],
  perMs: number,
  timeAt: (ms: number) => number = (ms) => ms,
): number {
  const inOrder = [...admissions].sort((a, b) => a.toMs - b.toMs);
  const starts = Float64Array.from(inOrder, ({ fromMs }) => fromMs).sort();
  // For each start of a window: its place on the leaking scale, and what was admitted since.
  const held = Float64Array.from(starts, (fromMs) => timeAt(fromMs) * perMs);
  let most = 0;
  for (const { fromMs, toMs } of inOrder) {
    const leaked = timeAt(toMs) * perMs;
    for (let i = 0; i < starts.length && (starts[i] as number) <= fromMs; i++) {
      const level = (held[i] as number) + 1;
      held[i] = level;
      if (level - leaked > most) most = level - leaked;
    }
  }
  return most;
}
