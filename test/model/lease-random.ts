/** Numbers that a seed repeats. One object for a whole run: each step restarts it, so that a step is the same wherever it stands. */
export class LeaseRandom {
  #state = 0;

  constructor(seed: number) {
    this.restart(seed);
  }

  restart(seed: number): void {
    this.#state = (seed ^ 0x9e3779b9) >>> 0;
  }

  /** From 0 up to 1 (the splitmix32 generator). */
  next(): number {
    this.#state = (this.#state + 0x9e3779b9) | 0;
    let mixed = this.#state ^ (this.#state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  }

  /** A whole number from `least` to `most`, both possible. */
  whole(least: number, most: number): number {
    return least + Math.floor(this.next() * (Math.floor(most) - least + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.whole(0, list.length - 1)] as T;
  }

  /** `count` keys of `weights`, each as often as its weight says. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>, count: number): K[] {
    const entries = Object.entries(weights) as [K, number][];
    const total = entries.reduce((sum, [, weight]) => sum + weight, 0);
    return Array.from({ length: count }, () => {
      let left = this.next() * total;
      for (const [key, weight] of entries) {
        left -= weight;
        if (left < 0) return key;
      }
      return (entries[0] as [K, number])[0];
    });
  }
}
