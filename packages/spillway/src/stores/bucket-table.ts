import { LRUCache } from "lru-cache";
import type { BucketState } from "../algorithms/bucket.ts";

/** A cache takes all of its room when it is made, 28 bytes a key. */
const FIRST_ROOM = 256;
const GROWTH = 8;

/** Buckets by key, up to a number of them; the least recently used make room. What is used takes room, not what may come. */
export class BucketTable {
  readonly #mostKeys: number;
  #buckets: LRUCache<string, BucketState>;

  constructor(mostKeys: number) {
    this.#mostKeys = mostKeys;
    this.#buckets = new LRUCache({ max: Math.min(FIRST_ROOM, mostKeys) });
  }

  /** For how many keys there is room at present. */
  get room(): number {
    return this.#buckets.max;
  }

  get(key: string): BucketState | undefined {
    return this.#buckets.get(key);
  }

  /** As `get`, and does not count as use. */
  peek(key: string): BucketState | undefined {
    return this.#buckets.peek(key);
  }

  /** Of a key that has none. */
  add(key: string, state: BucketState): void {
    if (this.#buckets.size === this.room && this.room < this.#mostKeys) this.#grow();
    this.#buckets.set(key, state);
  }

  clear(): void {
    this.#buckets.clear();
  }

  #grow(): void {
    const before = this.#buckets;
    this.#buckets = new LRUCache({ max: Math.min(GROWTH * this.room, this.#mostKeys) });
    for (const key of before.rkeys()) this.#buckets.set(key, before.peek(key) as BucketState);
  }
}
