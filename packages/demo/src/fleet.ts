/** The servers that share a limit, wherever they run. */
export interface Fleet {
  /** What each server calls itself in `x-worker`. */
  readonly names: readonly string[];
  /** The address of one mode's route; requests to it spread over all servers. */
  urlOf(mode: string): string;
}
