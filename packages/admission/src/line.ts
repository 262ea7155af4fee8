import { DueHeap } from "./due-heap.ts";
import type { Waiter } from "./waiter.ts";

/**
 * Those who wait, by arrival and by the instant at which each has to leave. It knows no clock: it is told what time it is.
 * `add` and `remove` are the only two that count, so that what comes in goes out of the counters once, whatever the reason.
 */
export class Line {
  #oldest: Waiter | undefined;
  #newest: Waiter | undefined;
  #items = 0;
  #cost = 0;
  readonly #due: DueHeap<Waiter> = new DueHeap();

  get items(): number {
    return this.#items;
  }

  /** Slots that those in the line ask for together. */
  get cost(): number {
    return this.#cost;
  }

  get oldest(): Waiter | undefined {
    return this.#oldest;
  }

  get newest(): Waiter | undefined {
    return this.#newest;
  }

  /** When the next one has to leave; `Infinity` when nobody has to. */
  get nextDueMs(): number {
    return this.#due.first?.dueMs ?? Number.POSITIVE_INFINITY;
  }

  add(waiter: Waiter): void {
    waiter.state = "waiting";
    waiter.older = this.#newest;
    if (this.#newest === undefined) this.#oldest = waiter;
    else this.#newest.newer = waiter;
    this.#newest = waiter;
    if (waiter.dueMs !== Number.POSITIVE_INFINITY) this.#due.add(waiter);
    this.#items++;
    this.#cost += waiter.ask.cost;
  }

  /** Does nothing for one who is not in the line. */
  remove(waiter: Waiter): void {
    if (waiter.state !== "waiting") return;
    waiter.state = "answered";
    const { older, newer } = waiter;
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    waiter.older = undefined;
    waiter.newer = undefined;
    this.#due.remove(waiter);
    this.#items--;
    this.#cost -= waiter.ask.cost;
  }

  /**
   * Takes out one whose time has come, or gives `undefined` when there is none. Who came later than now saw the clock go back;
   * how long it has waited nobody knows, so its time has come too.
   */
  takeDue(nowMs: number): Waiter | undefined {
    const first = this.#due.first;
    if (first === undefined || (first.dueMs > nowMs && first.arrivedMs <= nowMs)) return undefined;
    this.remove(first);
    return first;
  }
}
