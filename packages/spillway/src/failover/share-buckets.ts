import { LRUCache } from "lru-cache";
import type { BackstopBucket } from "./backstop.ts";

/** One ask can be about so many keys, whose buckets must all be there. */
const FEWEST_KEYS = 16;

/** The buckets of this process's shares, of as many keys as are remembered. */
export class ShareBuckets {
  /** Another one means that buckets may have been let go. */
  age = 0;
  /** Of each key its buckets one behind the other, of different policies. */
  readonly #byKey: LRUCache<string, BackstopBucket>;

  /** @param onEvict told of each bucket whose key had to give way to another one. */
  constructor(maxKeys: number, onEvict: (bucket: BackstopBucket) => void) {
    const dispose = (first: BackstopBucket, _key: string, reason: string): void => {
      this.age++;
      if (reason !== "evict") return;
      for (let bucket: BackstopBucket | undefined = first; bucket !== undefined; bucket = bucket.next) onEvict(bucket);
    };
    this.#byKey = new LRUCache({ max: Math.max(FEWEST_KEYS, maxKeys), dispose, noDisposeOnSet: true });
  }

  /** How many keys have some. */
  get keys(): number {
    return this.#byKey.size;
  }

  /** Policies of one name are one bucket for a key, as in the store. */
  find(key: string, policy: string): BackstopBucket | undefined {
    if (this.#byKey.size === 0) return undefined;
    let bucket = this.#byKey.get(key);
    while (bucket !== undefined && bucket.policy.name !== policy) bucket = bucket.next;
    return bucket;
  }

  /** Whether it is still here. To ask does not make its key one that was used lately. */
  has(bucket: BackstopBucket): boolean {
    let there = this.#byKey.peek(bucket.key);
    while (there !== undefined && there !== bucket) there = there.next;
    return there !== undefined;
  }

  /** In the place of another one of its key and policy. */
  add(bucket: BackstopBucket): void {
    this.delete(bucket.key, bucket.policy.name);
    bucket.next = this.#byKey.get(bucket.key);
    this.#byKey.set(bucket.key, bucket);
  }

  delete(key: string, policy: string): void {
    const first = this.#byKey.get(key);
    if (first === undefined) return;
    const rest = chainOf(first).filter(({ policy: { name } }) => name !== policy);
    if (rest.length === 0) {
      this.#byKey.delete(key);
      return;
    }
    for (const [i, bucket] of rest.entries()) bucket.next = rest[i + 1];
    this.#byKey.set(key, rest[0] as BackstopBucket);
    this.age++;
  }

  /** The keys that have some now. */
  keysNow(): string[] {
    return [...this.#byKey.keys()];
  }

  /** Lets go of a key's buckets if nothing is lost with any of them. */
  dropSpare(key: string, isSpare: (bucket: BackstopBucket) => boolean): void {
    const first = this.#byKey.peek(key);
    if (first !== undefined && chainOf(first).every(isSpare)) this.#byKey.delete(key);
  }

  /** All there are now. */
  values(): BackstopBucket[] {
    const all: BackstopBucket[] = [];
    for (const first of this.#byKey.values())
      for (let bucket: BackstopBucket | undefined = first; bucket !== undefined; bucket = bucket.next) all.push(bucket);
    return all;
  }
}

function chainOf(first: BackstopBucket): BackstopBucket[] {
  const chain: BackstopBucket[] = [];
  for (let bucket: BackstopBucket | undefined = first; bucket !== undefined; bucket = bucket.next) chain.push(bucket);
  return chain;
}
