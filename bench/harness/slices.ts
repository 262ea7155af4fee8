import { setImmediate } from "node:timers/promises";
import { Disqualified, type Work } from "./question.ts";

const LEAST_PART_COUNTED = 0.5;

/**
 * Works in slices with a turn of the event loop between them, as a server does, and counts only the time inside slices that
 * went as they should. `slice` returns how many operations it did, or `undefined` when the slice does not count.
 */
export async function inSlices(
  ms: number,
  slice: () => Promise<number | undefined> | number | undefined,
): Promise<Work> {
  const untilMs = performance.now() + ms;
  let operations = 0;
  let wallMs = 0;
  let cpuUs = 0;
  let slices = 0;
  let counted = 0;
  do {
    const cpuBefore = process.cpuUsage();
    const startedMs = performance.now();
    const pending = slice();
    const done = pending instanceof Promise ? await pending : pending;
    const elapsedMs = performance.now() - startedMs;
    const { user, system } = process.cpuUsage(cpuBefore);
    slices++;
    if (done !== undefined) {
      counted++;
      operations += done;
      wallMs += elapsedMs;
      cpuUs += user + system;
    }
    await setImmediate();
  } while (performance.now() < untilMs);
  if (counted < slices * LEAST_PART_COUNTED)
    throw new Disqualified(`only ${counted} of ${slices} slices went as they should`);
  return { operations, wallMs, cpuMs: cpuUs / 1000 };
}
