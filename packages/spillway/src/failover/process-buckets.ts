import type { Clock } from "../clock.ts";
import type { Store } from "../stores/store.ts";
import type { BackstopBucket } from "./backstop.ts";
import { LetGoBuckets } from "./let-go-buckets.ts";
import { type ReplicaShares, replicaSharesOf } from "./replica-shares.ts";
import { ShareBuckets } from "./share-buckets.ts";

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

  #emptyLetGo(): LetGoBuckets {
    return new LetGoBuckets(this.#maxKeys, () => this.shares.leastInUse);
  }

  #emptyBuckets(): ShareBuckets {
    const letGo = (bucket: BackstopBucket): void => this.letGo.add(bucket, this.#clock.monotonicMs());
    return new ShareBuckets(this.#maxKeys, letGo);
  }
}
