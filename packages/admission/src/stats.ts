import type { AdmissionMode } from "./admission-options.ts";
import { SHED_REASONS, type ShedReason } from "./shed.ts";

/** Upper edges of the wait histogram, in ms. The last bucket has none. */
const WAIT_EDGES_MS: readonly number[] = [1, 5, 10, 25, 50, 100, 250, 500, 1000, 2500];

/** How long admitted requests were in the line. */
export interface WaitHistogram {
  readonly count: number;
  readonly sumMs: number;
  /** How many waited at most so long and longer than the edge before; the last edge is `Infinity`. */
  readonly buckets: readonly { readonly atMostMs: number; readonly count: number }[];
}

/** Counters of one controller since it was made, and how it stands now. */
export interface AdmissionStats {
  readonly mode: AdmissionMode;
  readonly slots: number;
  /** Slots that are taken. Above `slots` for a while after these were lowered, and while the mode is not `"enforce"`. */
  readonly active: number;
  /** Requests in the line. */
  readonly waiting: number;
  readonly peakWaiting: number;
  /** Slots' worth of work that the line takes now: `lineMs` by what work takes. */
  readonly lineCapacity: number;
  /** Whether the one who came last goes in next. */
  readonly newestFirst: boolean;
  readonly admitted: number;
  readonly shed: Readonly<Record<ShedReason, number>>;
  /** In the mode `"observe"`: what would have been turned away, had it been `"enforce"`. */
  readonly wouldShed: Readonly<Record<ShedReason, number>>;
  /** Work that was finished, or given up, for callers who had left. */
  readonly wasted: number;
  /** Work that was finished after its deadline. */
  readonly late: number;
  /** Requests that said that their caller had asked before; those of HTTP say so in `x-request-attempt`. */
  readonly repeated: number;
  /** What work takes, and for how long its slots are held: moving averages. Work that was given up never lowers them. */
  readonly workMs: number;
  readonly holdMs: number;
  readonly waits: WaitHistogram;
}

/** Counts for {@link AdmissionStats}. */
export class Counters {
  admitted = 0;
  wasted = 0;
  late = 0;
  repeated = 0;
  peakWaiting = 0;
  readonly shed: Record<ShedReason, number> = noneByReason();
  readonly wouldShed: Record<ShedReason, number> = noneByReason();
  readonly #waits: number[] = new Array<number>(WAIT_EDGES_MS.length + 1).fill(0);
  #waitedSumMs = 0;

  /** Counts an admission. */
  admit(waitedMs: number): void {
    this.admitted++;
    this.#waitedSumMs += waitedMs;
    let index = 0;
    while (index < WAIT_EDGES_MS.length && waitedMs > (WAIT_EDGES_MS[index] as number)) index++;
    (this.#waits[index] as number)++;
  }

  waits(): WaitHistogram {
    const buckets = this.#waits.map((count, index) => ({
      atMostMs: WAIT_EDGES_MS[index] ?? Number.POSITIVE_INFINITY,
      count,
    }));
    return { count: this.admitted, sumMs: this.#waitedSumMs, buckets };
  }
}

function noneByReason(): Record<ShedReason, number> {
  return Object.fromEntries(SHED_REASONS.map((reason) => [reason, 0])) as Record<ShedReason, number>;
}
