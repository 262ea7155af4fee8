import type { AdmissionOptions } from "@spillway/admission";
import { ENDLESS } from "./admissions.ts";
import { percentile } from "./load-tally.ts";
import type { FloodResult } from "./virtual-flood.ts";

// The service of the first source text, as its author's machine ran it: four slots whose 50 ms took 64.3, and a probe that read
// 65.3 requests a second, 5 % above what the slots can do.
const SLOTS = 4;
export const FIRST_WORK_MS = 64.3;
export const FIRST_SLOW_MS = 203;
export const PROBED_PER_SECOND = 65.3;
export const TRUE_PER_SECOND: number = (SLOTS * 1000) / FIRST_WORK_MS;
export const FIRST_PATIENCE_MS = 1000;

const LEARNT: AdmissionOptions = { slots: SLOTS, guessMs: FIRST_WORK_MS };

/** Everybody waits. */
export const FIRST_UNPROTECTED: AdmissionOptions = { ...ENDLESS, ...LEARNT };
/** Its line of half a second: 33 requests. */
export const FIRST_LINE: AdmissionOptions = { ...FIRST_UNPROTECTED, lineItems: 33 };
/** Its line and its wait limit. */
export const FIRST_LINE_AND_WAIT: AdmissionOptions = { ...FIRST_LINE, waitMs: 300 };
/** Ours as it is by default. */
export const OURS_BY_DEFAULT: AdmissionOptions = LEARNT;

/** Cells of a row: goodput per second, answered, refused, timed out, p50, p99, wasted, longest line. */
export function firstTextCells(result: FloodResult, seconds: number): (string | number)[] {
  const { ok, shed, timedOut, wasted, peakWaiting, okMs } = result;
  const [p50, p99] = [Math.round(percentile(okMs, 0.5)), Math.round(percentile(okMs, 0.99))];
  return [(ok / seconds).toFixed(1), ok, shed, timedOut, p50, p99, wasted, peakWaiting];
}

export const FIRST_TEXT_COLUMNS: readonly string[] = [
  ...["goodput/s", "in time", "503", "timed out", "p50 ms", "p99 ms", "wasted", "peak line"],
];
