import type { LoadResult } from "./load-result.ts";

/** One load to generate. */
export interface LoadPlan {
  readonly url: string;
  readonly apiKey: string;
  readonly ratePerSecond: number;
  readonly seconds: number;
  readonly seed: number;
}

/** From the demo to its load generator. */
export type ToGenerator =
  /** Sends `count` requests one after another. */
  | { readonly type: "warm"; readonly url: string; readonly apiKey: string; readonly count: number }
  | { readonly type: "run"; readonly plan: LoadPlan };

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
