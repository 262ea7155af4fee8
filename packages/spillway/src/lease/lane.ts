import type { BackstopBuckets } from "../failover/backstop.ts";
import type { PolicySet } from "../policy-set.ts";
import type { Caller } from "./caller.ts";
import type { Denial } from "./denial.ts";

/** What this process keeps for one key: who waits, what the store last refused, and what the backstop has left. */
export class Lane {
  readonly key: string;
  readonly set: PolicySet;
  /** Callers not yet sent, in order of arrival. */
  waiting: Caller[] = [];
  /** Whether a call for this key is under way; the next one takes all who came meanwhile. */
  inFlight = false;
  denial: Denial | undefined;
  backstop: BackstopBuckets | undefined;

  constructor(key: string, set: PolicySet) {
    this.key = key;
    this.set = set;
  }
}
