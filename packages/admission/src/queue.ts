/** Who came first leaves first. Each costs the same, however many there are. */
export class Queue<T> {
  #arrived: T[] = [];
  /** The older part, who came first at its end. */
  #leaving: T[] = [];

  get isEmpty(): boolean {
    return this.#arrived.length === 0 && this.#leaving.length === 0;
  }

  add(item: T): void {
    this.#arrived.push(item);
  }

  /** Takes out who came first; `undefined` when there is nobody. */
  take(): T | undefined {
    if (this.#leaving.length === 0) [this.#leaving, this.#arrived] = [this.#arrived.reverse(), this.#leaving];
    return this.#leaving.pop();
  }
}
