/** How one part of the store is, as this process sees it. */
export interface NodeHealth {
  /** A cluster node's address; empty for a store that fails as one. */
  readonly node: string;
  /** `"ready"`: asked. `"away"`: left alone, decisions are degraded. `"trying"`: one call finds out whether it is back. */
  readonly state: "ready" | "away" | "trying";
  /** Why it is left alone, and since when on this process's monotonic clock; absent when ready. */
  readonly reason: string | undefined;
  readonly sinceMs: number | undefined;
  /** Nearly all round trips are quicker. */
  readonly roundTripMs: number;
}

export interface HealthView {
  /**
   * Whether any part of the store is left alone. One that has answered a probe is not any more, once every process must have noticed:
   * a process that nobody asks is as ready as others, though its first caller has yet to find out (`"trying"`).
   */
  readonly degraded: boolean;
  readonly nodes: readonly NodeHealth[];
  /** What an operator should look at, in words. */
  readonly warnings: readonly string[];
}

/** One change between "the store decides" and "this process decides by its share". */
export interface StateChange {
  readonly store: string;
  readonly node: string;
  readonly state: "away" | "back";
  readonly reason: string;
  /** One line for people. */
  readonly message: string;
}
