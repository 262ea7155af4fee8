import type { BackstopBucket } from "./backstop.ts";
import { fullAgainUs } from "./full-again.ts";
import { isPaid } from "./owed.ts";
import { isUnseenForLong, SharesOfPolicies } from "./policy-share.ts";

/** Tells which buckets are as if their keys had never been seen, so that nothing is lost with them. */
export class SpareBuckets {
  readonly #own = new SharesOfPolicies();

  /** @param leastShare the least that this process may have come to have. */
  isSpare({ policy, mode, state, share, owed, seenUs }: BackstopBucket, leastShare: number, nowUs: number): boolean {
    if (!isUnseenForLong(policy, seenUs / 1000, nowUs / 1000)) return false;
    if (mode !== "backstop") return owed.admitted === 0;
    const own = this.#own.of(policy, share);
    if (fullAgainUs(state, own, own) > nowUs) return false;
    return state.kind !== "token-bucket" || isPaid(owed, policy, leastShare, nowUs);
  }
}
