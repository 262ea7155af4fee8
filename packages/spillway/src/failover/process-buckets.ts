import type { Clock } from "../clock.ts";
import type { Store } from "../stores/store.ts";
import type { BackstopBucket } from "./backstop.ts";
import { LetGoBuckets } from "./let-go-buckets.ts";
import { type ReplicaShares, replicaSharesOf } from "./replica-shares.ts";
import { ShareBuckets } from "./share-buckets.ts";
import { SpareBuckets } from "./spare-buckets.ts";

/** How many keys are looked at in one turn. */
const TIDIED_AT_ONCE = 2000;
const TIDY_PAUSE_MS = 30_000;

const known = new WeakMap<object, ProcessBuckets>();

/** The buckets of this process's shares of a store: limiters over the same store share them, as they share those in it. */
export function processBucketsOf(store: Store, clock: Clock, maxKeys: number): ProcessBuckets {
  const scope = store.scope ?? store;
  let found = known.get(scope);
  if (found === undefined) {
    found = new ProcessBuckets(replicaSharesOf(store, clock), clock, maxKeys);
    known.set(scope, found);
  }
  found.makeRoom(maxKeys);
  return found;
}

/** What this process has left of its shares of one store, and what it remembers of buckets that had to give way. */
export class ProcessBuckets {
  readonly shares: ReplicaShares;
  buckets: ShareBuckets;
  letGo: LetGoBuckets;
  readonly #clock: Clock;
  readonly #spare = new SpareBuckets();
  /** Keys still to be looked at in this round, and when the next one begins. */
  #untidied: string[] = [];
  #nextRoundMs = Number.NEGATIVE_INFINITY;
  #maxKeys: number;

  constructor(shares: ReplicaShares, clock: Clock, maxKeys: number) {
    this.shares = shares;
    this.#clock = clock;
    this.#maxKeys = maxKeys;
    this.letGo = this.#emptyLetGo();
    this.buckets = this.#emptyBuckets();
  }

  /** For a limiter that remembers more keys than those before it; not while there are buckets. */
  makeRoom(maxKeys: number): void {
    if (maxKeys <= this.#maxKeys || this.buckets.keys > 0 || !this.letGo.isEmpty) return;
    this.#maxKeys = maxKeys;
    const { age } = this.buckets;
    this.letGo = this.#emptyLetGo();
    this.buckets = this.#emptyBuckets();
    this.buckets.age = age + 1;
  }

  /** Lets go, bit by bit, of what is as if it had never been. To be called now and then while the store is away. */
  tidy(): void {
    const nowMs = this.#clock.monotonicMs();
    this.letGo.tidy(nowMs, TIDIED_AT_ONCE);
    if (this.#untidied.length === 0) {
      if (nowMs < this.#nextRoundMs) return;
      this.#nextRoundMs = nowMs + TIDY_PAUSE_MS;
      this.#untidied = this.buckets.keysNow();
    }
    const share = this.shares.leastInUse;
    const nowUs = Math.floor(nowMs * 1000);
    for (const key of this.#untidied.splice(-TIDIED_AT_ONCE))
      this.buckets.dropSpare(key, (bucket) => this.#spare.isSpare(bucket, share, nowUs));
  }

  #emptyLetGo(): LetGoBuckets {
    return new LetGoBuckets(this.#maxKeys, () => this.shares.leastInUse);
  }

  #emptyBuckets(): ShareBuckets {
    const letGo = (bucket: BackstopBucket): void => this.letGo.add(bucket, this.#clock.monotonicMs());
    return new ShareBuckets(this.#maxKeys, letGo);
  }
}
