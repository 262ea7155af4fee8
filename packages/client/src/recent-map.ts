/** A map that keeps the values asked for last. A forgotten one lives on with those who hold it. */
export class RecentMap<V> {
  readonly #most: number;
  readonly #values = new Map<string, V>();

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#values.size;
  }

  /** The value under `key`, made when there is none. */
  obtain(key: string, make: () => V): V {
    const known = this.#values.get(key);
    const value = known ?? make();
    if (known !== undefined) this.#values.delete(key);
    this.#values.set(key, value);
    if (this.#values.size > this.#most) this.#values.delete(this.#values.keys().next().value as string);
    return value;
  }

  values(): IterableIterator<V> {
    return this.#values.values();
  }
}
