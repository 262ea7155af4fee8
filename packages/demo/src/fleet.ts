import type { DecisionFigures } from "./measure.ts";

/** The servers that share a limit, wherever they run. */
export interface Fleet {
  /** What each server calls itself in `x-worker`. */
  readonly names: readonly string[];
  /** The address of one mode's route; requests to it spread over all servers. */
  urlOf(mode: string): string;
  /** What all servers together decided in one mode since the last call. */
  collect(mode: string): Promise<DecisionFigures>;
}
