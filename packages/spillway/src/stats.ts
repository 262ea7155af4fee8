import type { DecisionSource } from "./decision.ts";

/** Counters of one limiter in this process, since it was made. */
export interface LimiterStats {
  readonly allowed: number;
  readonly refused: number;
  /** Decisions by who made them. */
  readonly sources: Readonly<Record<DecisionSource, number>>;
  /** Calls sent to the store to decide. */
  readonly storeCalls: number;
  /** Calls whose reply did not come within the deadline. */
  readonly storeMisses: number;
  /** Calls that the store answered with an error. */
  readonly storeFaults: number;
  /** Keys with local state. */
  readonly keys: number;
  readonly store: string;
}
