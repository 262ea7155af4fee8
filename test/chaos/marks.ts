import { DEADLINE_MS } from "./fault.ts";
import type { ShapeName } from "./load-shapes.ts";

/** What every fault is held to. */
export const MARKS = {
  /** Calls without a reply, of each process and for each time that it leaves the store alone. */
  missed: 3,
  p999Ms: DEADLINE_MS + 10,
  openP999Ms: 1,
  backMs: 3_000,
} as const;

/**
 * The least part of r x T that is admitted while Redis is away for all, where keys of each shape are asked for in the same
 * processes. A process has one share for all its keys, so a key of which it alone has the callers gets no more than that; a
 * process that has all the load has nearly all of it.
 */
export const LEAST_USED: Readonly<Record<ShapeName, number>> = { uniform: 0.95, zipf: 0.8, "one-hot": 0.25 };

/** What one fault is held to besides {@link MARKS}. */
export interface Expectation {
  /** How often a process leaves the store alone and returns to it; "any" for each node and as often as it has to. */
  readonly absences: 0 | 1 | "any";
  /** The only processes that do; all if left out. */
  readonly onlyOf?: readonly number[];
  /** Whether the store answers nobody meanwhile, so that the shares admit what is admitted. */
  readonly silent?: boolean;
  /** Whether there are decisions that were made without the store; there are where it is left alone. */
  readonly degraded?: "some" | "none" | "perhaps";
  /** The least part of r x T that is admitted while the fault lasts, by shape. */
  readonly leastUsed?: Partial<Record<ShapeName, number>>;
  /** How many calls travel together: one, but for a cluster, where each slot has its own. */
  readonly callsAtOnce?: number;
  /** How many faults follow one another; one if left out. */
  readonly faults?: number;
  /** How often the store comes back without some of what it knew. */
  readonly forgets?: number;
  /** How often its clock jumps forward. */
  readonly jumps?: number;
}
