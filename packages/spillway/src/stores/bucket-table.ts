import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { BucketState } from "../algorithms/bucket.ts";

/** How many times as much room a full table gets: what has room for a million keys stands still for 0.3 s when it gets that. */
const GROWTH = 8;

/** Longer keys are kept as a hash: who may choose their key must not choose how much memory it takes. In UTF-16 code units. */
const LONGEST_PLAIN = 200;
/** Makes of a hash a text that is too long for a key that is kept as it is. */
const HASHED = "#".repeat(LONGEST_PLAIN);

/** Buckets by key, up to a number of them; the least recently used make room. */
export class BucketTable {
  readonly #mostKeys: number;
  #buckets: LRUCache<string, BucketState>;

  /** @param firstKeys for how many it takes room at once, 28 bytes each. */
  constructor(mostKeys: number, firstKeys: number) {
    this.#mostKeys = mostKeys;
    this.#buckets = new LRUCache({ max: Math.min(firstKeys, mostKeys) });
  }

  /** For how many keys there is room at present. */
  get room(): number {
    return this.#buckets.max;
  }

  get(key: string): BucketState | undefined {
    return this.#buckets.get(shortOf(key));
  }

  /** As `get`, and does not count as use. */
  peek(key: string): BucketState | undefined {
    return this.#buckets.peek(shortOf(key));
  }

  /** Of a key that has none. */
  add(key: string, state: BucketState): void {
    if (this.#buckets.size === this.room && this.room < this.#mostKeys) this.#grow();
    this.#buckets.set(shortOf(key), state);
  }

  /** The keys as they are kept. */
  keptKeys(): Iterable<string> {
    return this.#buckets.keys();
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

/** The same for equal keys only. */
function shortOf(key: string): string {
  if (key.length <= LONGEST_PLAIN) return key;
  return HASHED + createHash("sha256").update(key, "utf16le").digest("base64url");
}
