import type { AdmissionOptions } from "@spillway/admission";
import type { Work } from "./plan.ts";

/** As good as no admission: who finds no slot waits, in a line without end. */
export const ENDLESS: AdmissionOptions = {
  ...{ lineMs: Number.POSITIVE_INFINITY, lineItems: 1_000_000, waitMs: Number.POSITIVE_INFINITY },
  order: "fifo",
};

/** The service of the second source text: eight slots of 100 ms, callers who wait for a second. */
export const SLOTS = 8;
export const WORK_MS = 100;
export const PATIENCE_MS = 1000;
export const CAPACITY_PER_SECOND: number = (SLOTS * 1000) / WORK_MS;
export const WORK: Work = { kind: "sleep", ms: WORK_MS, slots: SLOTS };

/**
 * How many callers such a service answers in time when it takes everybody: the k-th is answered after ceil(k / slots) rounds of work, and
 * came (k - 1) / rate after the first. At its capacity and below it answers all.
 */
export function lastInTime(perSecond: number): number {
  if (perSecond <= CAPACITY_PER_SECOND) return Number.POSITIVE_INFINITY;
  let k = 0;
  while (Math.ceil((k + 1) / SLOTS) * WORK_MS - (k * 1000) / perSecond < PATIENCE_MS) k++;
  return k;
}
