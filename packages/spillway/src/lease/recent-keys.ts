import { hashOf } from "./key-hash.ts";

/** Slots that are looked through for a key, in a row. */
const WINDOW = 16;
const FEWEST_SLOTS = 1024;

/**
 * When keys were last decided for, as far as there is room: eight bytes a key, nothing for the garbage collector to walk. When
 * the table is full the oldest of a few keys gives way. One key in some hundreds may be taken for another one.
 */
export class RecentKeys {
  readonly #mostSlots: number;
  /** Per slot the key's hash, 0 where there is none, and the time in whole milliseconds modulo 2^32. */
  #table: Uint32Array = new Uint32Array(0);
  #used = 0;

  /** @param mostKeys how many keys there is room for, at least. */
  constructor(mostKeys: number) {
    this.#mostSlots = Math.max(FEWEST_SLOTS, 2 ** Math.ceil(Math.log2(2 * mostKeys)));
  }

  /** Remembers that a key was decided for; nothing where it never was (minus infinity). */
  note(key: string, nowMs: number): void {
    if (nowMs === Number.NEGATIVE_INFINITY) return;
    const slots = this.#table.length / 2;
    if (this.#used * 2 >= slots && slots < this.#mostSlots) this.#grow();
    this.#put(hashOf(key), nowMs >>> 0, nowMs);
  }

  /** As if a key had never been decided for. */
  forget(key: string): void {
    const table = this.#table;
    if (table.length === 0) return;
    const mask = table.length / 2 - 1;
    const hash = hashOf(key);
    for (let i = 0; i < WINDOW; i++) {
      const at = 2 * ((hash + i) & mask);
      if (table[at] !== hash) continue;
      table[at] = 0;
      this.#used--;
    }
  }

  /** When a key was decided for, to the millisecond; minus infinity when nothing is known of it. */
  lastMs(key: string, nowMs: number): number {
    const table = this.#table;
    if (table.length === 0) return Number.NEGATIVE_INFINITY;
    const mask = table.length / 2 - 1;
    const hash = hashOf(key);
    for (let i = 0; i < WINDOW; i++) {
      const at = 2 * ((hash + i) & mask);
      if (table[at] === hash) return nowMs - ageMs(table[at + 1] as number, nowMs);
    }
    return Number.NEGATIVE_INFINITY;
  }

  #put(hash: number, time: number, nowMs: number): void {
    const table = this.#table;
    const mask = table.length / 2 - 1;
    let place = 0;
    let oldestMs = -1;
    for (let i = 0; i < WINDOW; i++) {
      const at = 2 * ((hash + i) & mask);
      const other = table[at];
      if (other === hash || other === 0) {
        if (other === 0) this.#used++;
        place = at;
        break;
      }
      const age = ageMs(table[at + 1] as number, nowMs);
      if (age > oldestMs) {
        oldestMs = age;
        place = at;
      }
    }
    table[place] = hash;
    table[place + 1] = time;
  }

  #grow(): void {
    const before = this.#table;
    this.#table = new Uint32Array(Math.max(2 * FEWEST_SLOTS, 2 * before.length));
    this.#used = 0;
    for (let at = 0; at < before.length; at += 2) {
      const time = before[at + 1] as number;
      if (before[at] !== 0) this.#put(before[at] as number, time, time);
    }
  }
}

function ageMs(time: number, nowMs: number): number {
  return ((nowMs >>> 0) - time) >>> 0;
}
