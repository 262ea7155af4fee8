/**
 * A wait as readers give it: whole ms, rounded up, from 0 to 2^53 - 1. An instant that has passed is no wait.
 * @returns `undefined` for what is no number.
 */
export function waitOf(ms: number): number | undefined {
  if (Number.isNaN(ms)) return undefined;
  return Math.min(Math.max(0, Math.ceil(ms)), Number.MAX_SAFE_INTEGER);
}
