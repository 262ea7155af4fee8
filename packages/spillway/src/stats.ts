import { publishDecision } from "./channels.ts";
import { waive } from "./decide.ts";
import type { AllowedDecision, Decision, DecisionSource } from "./decision.ts";
import type { HealthView } from "./health.ts";

/** Counters of one limiter in this process, since it was made. */
export interface LimiterStats {
  readonly allowed: number;
  /** In a dry run: what would have been refused. */
  readonly refused: number;
  /** Decisions by who made them. */
  readonly sources: Readonly<Record<DecisionSource, number>>;
  /** Calls sent to the store to decide. */
  readonly storeCalls: number;
  /** Calls whose reply did not come within the deadline. */
  readonly storeMisses: number;
  /** Calls that the store answered with an error, and buckets in them that could not be read. */
  readonly storeFaults: number;
  readonly leases: LeaseStats;
  readonly health: HealthView;
  /** Processes that share the limits, as far as is known. */
  readonly replicas: number;
  /** The part of each limit, from 0 to 1, that this process would admit if the store went away now. */
  readonly share: number;
  /**
   * Keys of which this limiter keeps something: callers who wait, leased tokens, a remembered refusal; or while the store is away
   * those that have a share, when these are more. At most `maxKeys`, a 64th as many that are longer than 2048 characters, and those with
   * callers or leased tokens; what a memory store keeps is not among them.
   */
  readonly keys: number;
  readonly store: string;
}

/** Leased tokens of this process, and the calls made early to have them in time. */
export interface LeaseStats {
  /** Taken from the store for local spending. */
  readonly leased: number;
  readonly spent: number;
  /** Given back unspent. */
  readonly returned: number;
  /** Grown too old to spend; they are given back too when a call still reaches the store in time. */
  readonly expired: number;
  readonly prefetches: number;
  /** Callers of keys in use enough to be leased who waited for the store, since what was held on lease did not cover them. */
  readonly waits: number;
  /**
   * Policies that keep their keys from leases, so that the store is asked each time: logs, token buckets whose burst fills in a
   * time too short for a lease, and windows that are too short or have too few tokens.
   */
  readonly tooSmall: readonly string[];
}

/** Counts for {@link LimiterStats}. */
export class Counters {
  readonly #dryRun: boolean;
  allowed = 0;
  refused = 0;
  readonly sources: Record<DecisionSource, number> = {
    lease: 0,
    store: 0,
    "denial-cache": 0,
    backstop: 0,
    open: 0,
    closed: 0,
  };

  /** @param dryRun whether refusals are waived. */
  constructor(dryRun: boolean = false) {
    this.#dryRun = dryRun;
  }

  /** Counts an admission by a lease. */
  hit(decision: AllowedDecision): void {
    this.allowed++;
    this.sources.lease++;
    publishDecision(decision);
  }

  /** Counts a decision and gives what its caller is told. */
  decided(decision: Decision): Decision {
    if (decision.allowed) this.allowed++;
    else this.refused++;
    this.sources[decision.source]++;
    publishDecision(decision);
    return this.#dryRun && !decision.allowed ? waive(decision) : decision;
  }
}
