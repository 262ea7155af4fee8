import type { BackstopBuckets, LastView } from "../failover/backstop.ts";
import type { PolicySet } from "../policy-set.ts";
import type { Caller } from "./caller.ts";
import type { Denial } from "./denial.ts";
import type { LaneLease } from "./lane-lease.ts";

/** Why a call is wanted though nobody waits: to fetch tokens early, or to settle and give back. */
export type Errand = "prefetch" | "settle";

/** What this process keeps for one key: who waits, what is leased, what the store last refused, what the backstop has left. */
export class Lane {
  readonly key: string;
  readonly set: PolicySet;
  /** Callers not yet sent, in order of arrival. */
  waiting: Caller[] = [];
  errand: Errand | undefined;
  /** Whether the lane is in line to be sent. */
  posted = false;
  /** Whether a call for this key is under way; the next one takes all who came meanwhile. */
  inFlight = false;
  lastAskedMs: number = Number.NEGATIVE_INFINITY;
  lease: LaneLease | undefined;
  denial: Denial | undefined;
  /** In use while the store cannot answer; let go when it answers again. */
  backstop: BackstopBuckets | undefined;
  /** How the store last said that this key stands. */
  view: LastView | undefined;

  constructor(key: string, set: PolicySet) {
    this.key = key;
    this.set = set;
  }
}
