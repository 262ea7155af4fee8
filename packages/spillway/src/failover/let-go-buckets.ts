import { algorithmOf } from "../algorithms/bucket.ts";
import { hashOf } from "../lease/key-hash.ts";
import type { Policy } from "../policy.ts";
import type { BackstopBucket } from "./backstop.ts";
import { type Debt, Debts, tokensOf } from "./debts.ts";
import { fullAgainUs, lowerTo } from "./full-again.ts";
import { FullAgainTimes } from "./full-again-times.ts";
import { advanceOwed } from "./owed.ts";
import { SharesOfPolicies } from "./policy-share.ts";

/** Of how many keys more than those with buckets it is known when they will be full again. */
const TIMES_PER_KEY = 8;

/** Tokens that the store is to be told of. */
export interface Owing {
  readonly key: string;
  readonly policy: Policy;
  readonly tokens: number;
}

/**
 * What is remembered of buckets whose keys had to give way to others while the store is away: when they would be full again, so
 * that nobody is let in earlier for it, and what the store has to be told. All of it is reckoned by the least share that this
 * process may come to have.
 */
export class LetGoBuckets {
  readonly #leastShare: () => number;
  readonly #times: FullAgainTimes;
  readonly #debts: Debts;
  readonly #own = new SharesOfPolicies();
  readonly #least = new SharesOfPolicies();
  /** The least share that was ever heard of since the first bucket was let go. */
  #share: number | undefined;

  /** @param leastShare from 0 to 1, as things stand. */
  constructor(maxKeys: number, leastShare: () => number) {
    this.#leastShare = leastShare;
    this.#times = new FullAgainTimes(TIMES_PER_KEY * maxKeys);
    this.#debts = new Debts(maxKeys);
  }

  /** Whether anything is remembered. */
  get isEmpty(): boolean {
    return this.#share === undefined;
  }

  add(bucket: BackstopBucket, nowMs: number): void {
    const { policy, mode, state, share, owed } = bucket;
    const isShared = mode === "backstop";
    const own = this.#own.of(policy, share);
    const least = this.#least.of(policy, this.#shareAt(nowMs));
    // A millisecond covers what rounding takes from a bucket at each of its decisions.
    const fullMs = isShared ? fullAgainUs(state, own, least) / 1000 + 1 : Number.NEGATIVE_INFINITY;
    this.#times.note(idOf(bucket), fullMs, nowMs);
    if (owed.admitted === 0) return;
    const isWindow = state.kind !== "token-bucket";
    if (isWindow)
      owed.admitted = Math.min(owed.admitted, own.capacity - algorithmOf(own.shape).remaining(state, own.shape));
    const isRefilled = !isWindow && isShared;
    const untilMs = isWindow && isShared ? fullMs : Number.POSITIVE_INFINITY;
    const debt = { key: bucket.key, policy, owed, untilMs: isRefilled ? undefined : untilMs };
    this.#debts.add(debt, (oldest) => tokensOf(oldest, this.#shareAt(nowMs), 0, nowMs));
  }

  /** To be called when the share of this process may have changed; a share that shrinks unseen is seen too late. */
  watchShare(nowMs: number): void {
    if (!this.isEmpty) this.#shareAt(nowMs);
  }

  /**
   * Takes from a bucket that has just been opened what one of its key had used that was let go, and has it owe the same. One that
   * nothing is known of may have been full again when this process had a smaller share: it has no more than that of the burst.
   */
  reopen(bucket: BackstopBucket, nowMs: number): void {
    if (this.isEmpty) return;
    const { key, policy, state, share } = bucket;
    const debt = this.#debts.reclaim(key, policy);
    const leastShare = this.#shareAt(nowMs);
    const nowUs = Math.floor(nowMs * 1000);
    if (debt !== undefined && nowMs < (debt.untilMs ?? Number.POSITIVE_INFINITY)) bucket.owed = debt.owed;
    if (bucket.mode !== "backstop") return;
    advanceOwed(bucket.owed, policy, leastShare, nowUs);
    const least = this.#least.of(policy, leastShare);
    lowerTo(state, this.#own.of(policy, share), least, this.#times.fullMs(idOf(bucket)) * 1000, nowUs);
  }

  /** Keys of which the store has to be told, in order of age. */
  debtors(): string[] {
    return this.#debts.keys();
  }

  /** What the store can be told now of what went in on the buckets of a key, if anything. It counts as told. */
  takeOwed(key: string, unnoticedMs: number, nowMs: number): Owing[] {
    const debts = this.#debts.take(key);
    if (debts.length === 0) return [];
    const share = this.#shareAt(nowMs);
    const owing = ({ policy }: Debt, tokens: number): Owing => ({ key, policy, tokens });
    return debts
      .map((debt) => owing(debt, tokensOf(debt, share, unnoticedMs, nowMs)))
      .filter(({ tokens }) => tokens > 0);
  }

  /** Forgets what is as if it had never been; looks at the debts of `most` keys. */
  tidy(nowMs: number, most: number): void {
    if (this.isEmpty) return;
    this.#debts.dropPaid(this.#shareAt(nowMs), nowMs, most);
    this.#times.clearIfOver(nowMs);
  }

  /** The store decides again for all keys: what their shares had left does not matter any more. */
  forgetTimes(): void {
    this.#times.clear();
    this.#share = undefined;
  }

  /** Where it has shrunk, all that was reckoned by the one before takes longer. */
  #shareAt(nowMs: number): number {
    const before = this.#share;
    const now = this.#leastShare();
    if (before === undefined) this.#share = now;
    else if (now < before) {
      this.#times.stretch(before / now, nowMs);
      this.#share = now;
    }
    return this.#share as number;
  }
}

function idOf({ key, policy }: BackstopBucket): number {
  return hashOf(key, hashOf(policy.name));
}
