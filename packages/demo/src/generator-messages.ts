import type { ConnectionMode } from "./connection-mode.ts";
import type { LoadResult } from "./load-result.ts";
import type { OutageSpan } from "./outage-tally.ts";

/** One load to generate. */
export interface LoadPlan {
  readonly url: string;
  readonly apiKey: string;
  readonly ratePerSecond: number;
  readonly seconds: number;
  readonly seed: number;
  readonly connections: ConnectionMode;
  /** Greets servers on kept connections, so that the measured key stays untouched. */
  readonly greetingKey: string;
  /** How many servers there are. */
  readonly servers: number;
  /** When the store will be out of reach. */
  readonly outage?: OutageSpan;
}

/** From the demo to its load generator. */
export type ToGenerator =
  /** Sends `count` requests one after another. */
  | { readonly type: "warm"; readonly url: string; readonly apiKey: string; readonly count: number }
  | { readonly type: "run"; readonly plan: LoadPlan }
  /** Ends the run early; what it measured so far is its result. */
  | { readonly type: "end" };

/** From the load generator to the demo. */
export type FromGenerator =
  | { readonly type: "warmed"; readonly answersPerWorker: Readonly<Record<string, number>> }
  /** Time begins to count. */
  | { readonly type: "started" }
  | { readonly type: "progress"; readonly progress: LoadProgress }
  | { readonly type: "finished"; readonly result: LoadResult }
  | { readonly type: "failed"; readonly message: string };

/** How far a run is. */
export interface LoadProgress {
  readonly elapsedMs: number;
  readonly offered: number;
  readonly admitted: number;
}
