/** Slots that are looked through for a key, in a row. */
const WINDOW = 16;
const FEWEST_SLOTS = 1024;

/**
 * When keys were last decided for, as far as there is room: eight bytes a key, nothing for the garbage collector to walk. When
 * the table is full the oldest of a few keys gives way. One key in some hundreds may be taken for another one.
 */
export class RecentKeys {
  readonly #mostSlots: number;
  #hashes: Uint32Array = new Uint32Array(0);
  /** Whole milliseconds, modulo 2^32. */
  #times: Uint32Array = new Uint32Array(0);
  #used = 0;

  /** @param mostKeys how many keys there is room for, at least. */
  constructor(mostKeys: number) {
    this.#mostSlots = Math.max(FEWEST_SLOTS, 2 ** Math.ceil(Math.log2(2 * mostKeys)));
  }

  /** Remembers that a key was decided for; nothing where it never was (minus infinity). */
  note(key: string, nowMs: number): void {
    if (nowMs === Number.NEGATIVE_INFINITY) return;
    if (this.#used * 2 >= this.#hashes.length && this.#hashes.length < this.#mostSlots) this.#grow();
    this.#put(hashOf(key), nowMs >>> 0, nowMs);
  }

  /** When a key was decided for, to the millisecond; minus infinity when nothing is known of it. */
  lastMs(key: string, nowMs: number): number {
    const mask = this.#hashes.length - 1;
    if (mask < 0) return Number.NEGATIVE_INFINITY;
    const hash = hashOf(key);
    for (let i = 0; i < WINDOW; i++) {
      const slot = (hash + i) & mask;
      if (this.#hashes[slot] === hash) return nowMs - ageMs(this.#times[slot] as number, nowMs);
    }
    return Number.NEGATIVE_INFINITY;
  }

  #put(hash: number, time: number, nowMs: number): void {
    const mask = this.#hashes.length - 1;
    let place = hash & mask;
    let oldestMs = -1;
    for (let i = 0; i < WINDOW; i++) {
      const slot = (hash + i) & mask;
      const other = this.#hashes[slot];
      if (other === hash || other === 0) {
        if (other === 0) this.#used++;
        place = slot;
        break;
      }
      const age = ageMs(this.#times[slot] as number, nowMs);
      if (age > oldestMs) {
        oldestMs = age;
        place = slot;
      }
    }
    this.#hashes[place] = hash;
    this.#times[place] = time;
  }

  #grow(): void {
    const hashes = this.#hashes;
    const times = this.#times;
    const slots = Math.max(FEWEST_SLOTS, hashes.length * 2);
    this.#hashes = new Uint32Array(slots);
    this.#times = new Uint32Array(slots);
    this.#used = 0;
    for (let i = 0; i < hashes.length; i++)
      if (hashes[i] !== 0) this.#put(hashes[i] as number, times[i] as number, times[i] as number);
  }
}

function ageMs(time: number, nowMs: number): number {
  return ((nowMs >>> 0) - time) >>> 0;
}

/** FNV-1a over UTF-16 code units, stirred so that its low bits depend on all of them; never 0. */
function hashOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0 || 1;
}
