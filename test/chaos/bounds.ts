import type { PolicyOptions } from "spillway";
import type { Admission } from "./admissions.ts";
import type { ApartTime } from "./apart-time.ts";
import { periodMs } from "./load-shapes.ts";
import { mostInAnyWindow } from "./window-maximum.ts";

/** What a fault does to the bound, as docs/guarantees.md states it: at most a burst, and what was on lease, more each time. */
interface Losses {
  readonly forgets: number;
  readonly jumps: number;
}

/** What was admitted in the worst window of a key above rate x length, and the most that is stated for any. In bursts. */
export interface Reading {
  readonly most: number;
  readonly stated: number;
}

/** Clocks that are being corrected may run apart by so much. */
const SLEW = 0.0005;
/** Tokens on lease: what is asked for at twice the rate in a drain time of 50 ms, in two generations. */
const LEASED_MS = 200;
/** Sums of binary fractions. */
const ROUNDING = 1e-6;

/** The burst and the rate of each window of a policy. A fixed window admits up to twice its limit around an edge. */
function budgetOf({ limit, burst = limit, period, algorithm }: PolicyOptions): { burst: number; perMs: number } {
  return { burst: algorithm === "fixed-window" ? 2 * limit : burst, perMs: limit / periodMs(period) };
}

/** Holds the admissions of one key against one of its policies. */
export function readBound(
  admissions: readonly Admission[],
  policy: PolicyOptions,
  apart: ApartTime,
  { forgets, jumps }: Losses,
): Reading & { readonly within: boolean } {
  const { burst, perMs } = budgetOf(policy);
  const lost = (forgets + jumps) * (burst + perMs * LEASED_MS);
  const stated = burst * (1 + apart.largestPart) + lost;
  const most = mostInAnyWindow(admissions, perMs * (1 + SLEW));
  const mostApart = mostInAnyWindow(admissions, perMs * (1 + SLEW), (ms) => apart.until(ms));
  const onTop = perMs * apart.totalMs;
  return { most: most / burst, stated: (stated + onTop) / burst, within: mostApart <= stated + ROUNDING };
}
