/** Keys whose hashes end alike share a set of so many slots. */
const SLOTS = 16;
const FIRST_SETS = 64;
/** Of what is never full again. */
const NEVER = 2 ** 32 - 1;

/**
 * When buckets that are kept no more will be full again: eight bytes each, nothing for the garbage collector to walk. It never
 * tells an earlier time than was noted. Where there is no room, the buckets of a set that would be full soonest share one time,
 * which counts for every bucket of that set that nothing else is known of. A bucket may be taken for another one of its set,
 * one in some thousands when the table is full: that tells a later time, too.
 */
export class FullAgainTimes {
  readonly #mostSets: number;
  /** Times are counted from here. */
  #originMs = 0;
  /** The latest that was noted. */
  #latest = 0;
  #sets = 0;
  /** Per slot a hash, and the time in whole milliseconds; a slot whose time is over is free. */
  #table = new Uint32Array(0);
  /** Per set the latest time of those that there was no room for. */
  #others = new Uint32Array(0);

  /** @param mostBuckets how many there is room for, about. */
  constructor(mostBuckets: number) {
    this.#mostSets = Math.max(1, 2 ** Math.ceil(Math.log2((2 * mostBuckets) / SLOTS)));
  }

  /** @param fullMs when it will be full, `Infinity` for never; the latest of those that were noted counts. */
  note(hash: number, fullMs: number, nowMs: number): void {
    if (fullMs <= nowMs) return;
    if (this.#sets === 0) this.#open(nowMs);
    const time = this.#timeOf(fullMs);
    const now = this.#elapsed(nowMs);
    this.#latest = Math.max(this.#latest, time);
    while (!this.#put(hash, time, now)) {
      if (this.#sets === this.#mostSets) {
        this.#forgetSoonest(hash, time);
        return;
      }
      this.#grow(now);
    }
  }

  /** When a bucket will be full again; a time that is over when nothing is known. */
  fullMs(hash: number): number {
    if (this.#sets === 0) return Number.NEGATIVE_INFINITY;
    const set = hash & (this.#sets - 1);
    const slot = this.#slotOf(hash, set);
    const time = Math.max(slot < 0 ? 0 : (this.#table[slot + 1] as number), this.#others[set] as number);
    return time === NEVER ? Number.POSITIVE_INFINITY : this.#originMs + time;
  }

  /** All fill more slowly from now on, so that the rest takes so many times as long. */
  stretch(times: number, nowMs: number): void {
    const now = this.#elapsed(nowMs);
    const later = (time: number): number =>
      time <= now || time === NEVER ? time : Math.min(NEVER, Math.ceil(now + (time - now) * times + 1));
    this.#latest = later(this.#latest);
    for (let at = 1; at < this.#table.length; at += 2) this.#table[at] = later(this.#table[at] as number);
    for (let set = 0; set < this.#others.length; set++) this.#others[set] = later(this.#others[set] as number);
  }

  /** Gives the room back when all of them are full. */
  clearIfOver(nowMs: number): void {
    if (this.#sets > 0 && this.#latest <= this.#elapsed(nowMs)) this.clear();
  }

  clear(): void {
    this.#sets = 0;
    this.#latest = 0;
    this.#table = new Uint32Array(0);
    this.#others = new Uint32Array(0);
  }

  #open(nowMs: number): void {
    this.#originMs = Math.floor(nowMs);
    this.#resize(Math.min(FIRST_SETS, this.#mostSets));
  }

  #resize(sets: number): void {
    this.#sets = sets;
    this.#table = new Uint32Array(2 * SLOTS * sets);
    this.#others = new Uint32Array(sets);
  }

  #timeOf(ms: number): number {
    return Math.min(NEVER, Math.max(0, Math.ceil(ms - this.#originMs)));
  }

  #elapsed(nowMs: number): number {
    return Math.min(NEVER - 1, Math.max(0, Math.floor(nowMs - this.#originMs)));
  }

  /** Where the slot of a hash begins in the table; below 0 when there is none. */
  #slotOf(hash: number, set: number): number {
    const from = 2 * SLOTS * set;
    for (let at = from; at < from + 2 * SLOTS; at += 2) if (this.#table[at] === hash) return at;
    return -1;
  }

  /** Whether there was room. */
  #put(hash: number, time: number, now: number): boolean {
    const table = this.#table;
    const from = 2 * SLOTS * (hash & (this.#sets - 1));
    let free = -1;
    for (let at = from; at < from + 2 * SLOTS; at += 2) {
      if (table[at] === hash) {
        table[at + 1] = Math.max(table[at + 1] as number, time);
        return true;
      }
      if (free < 0 && (table[at + 1] as number) <= now) free = at;
    }
    if (free < 0) return false;
    table[free] = hash;
    table[free + 1] = time;
    return true;
  }

  /** Makes room in a set whose slots are all in use, or lets the new one share where it would be full first. */
  #forgetSoonest(hash: number, time: number): void {
    const table = this.#table;
    const set = hash & (this.#sets - 1);
    const from = 2 * SLOTS * set;
    let soonest = from;
    for (let at = from; at < from + 2 * SLOTS; at += 2)
      if ((table[at + 1] as number) < (table[soonest + 1] as number)) soonest = at;
    const shared = Math.min(time, table[soonest + 1] as number);
    this.#others[set] = Math.max(this.#others[set] as number, shared);
    if (shared === time) return;
    table[soonest] = hash;
    table[soonest + 1] = time;
  }

  /** Only while no set has had more than it has room for: twice as many sets hold all that these do. */
  #grow(now: number): void {
    const before = this.#table;
    this.#resize(2 * this.#sets);
    for (let at = 0; at < before.length; at += 2)
      if ((before[at + 1] as number) > now) this.#put(before[at] as number, before[at + 1] as number, now);
  }
}
