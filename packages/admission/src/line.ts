import { DueHeap } from "./due-heap.ts";
import type { Deadline, Waiter } from "./waiter.ts";

/**
 * Those who wait, by arrival, by the end of their wait and by their deadline. It knows no clock: it is told what time it is.
 * `add` and `remove` are the only two that count, so that what comes in goes out of the counters once, whatever the reason.
 */
export class Line {
  #oldest: Waiter | undefined;
  #newest: Waiter | undefined;
  #items = 0;
  #cost = 0;
  readonly #due: DueHeap<Waiter> = new DueHeap();
  readonly #deadlines: DueHeap<Deadline> = new DueHeap();

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

  /**
   * When the next one has to leave; `Infinity` when nobody has to.
   * @param workMs what work takes, as it is known now.
   */
  nextDueMs(workMs: number): number {
    const dueMs = this.#due.first?.dueMs ?? Number.POSITIVE_INFINITY;
    return Math.min(dueMs, (this.#deadlines.first?.dueMs ?? Number.POSITIVE_INFINITY) - workMs);
  }

  add(waiter: Waiter): void {
    waiter.state = "waiting";
    waiter.older = this.#newest;
    if (this.#newest === undefined) this.#oldest = waiter;
    else this.#newest.newer = waiter;
    this.#newest = waiter;
    if (waiter.dueMs !== Number.POSITIVE_INFINITY) this.#due.add(waiter);
    if (waiter.ask.deadlineAtMs !== Number.POSITIVE_INFINITY) {
      waiter.deadline = { waiter, dueMs: waiter.ask.deadlineAtMs, heapIndex: -1 };
      this.#deadlines.add(waiter.deadline);
    }
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
    if (waiter.deadline !== undefined) this.#deadlines.remove(waiter.deadline);
    waiter.deadline = undefined;
    this.#items--;
    this.#cost -= waiter.ask.cost;
  }

  /**
   * Takes out one that has waited for as long as it may, or gives `undefined` when there is none. Who came later than now saw the clock go back;
   * how long it has waited nobody knows, so its time has come too.
   */
  takeDue(nowMs: number): Waiter | undefined {
    const first = this.#due.first;
    if (first === undefined || (first.dueMs > nowMs && first.arrivedMs <= nowMs)) return undefined;
    this.remove(first);
    return first;
  }

  /** Takes out one whose work would end after its deadline if it went in now, or gives `undefined` when there is none. */
  takeHopeless(nowMs: number, workMs: number): Waiter | undefined {
    const first = this.#deadlines.first;
    if (first === undefined || (first.dueMs - workMs > nowMs && first.waiter.arrivedMs <= nowMs)) return undefined;
    this.remove(first.waiter);
    return first.waiter;
  }
}
