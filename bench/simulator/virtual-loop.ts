/** Something that happens at an instant of virtual time. */
interface Event {
  readonly atMs: number;
  readonly order: number;
  run: (() => void) | undefined;
}

/** An event loop whose time passes as fast as the events can be worked through. */
export class VirtualLoop {
  readonly #hops: number;
  #nowMs = 0;
  #order = 0;
  readonly #heap: Event[] = [];

  /** @param hops promises that a result crosses at most on its way from what causes it to whoever acts on it. */
  constructor(hops = 5) {
    this.#hops = hops;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Runs `run` at `atMs`; events of one instant run in the order in which they were scheduled. Returns what cancels it. */
  at(atMs: number, run: () => void): () => void {
    const event: Event = { atMs: Math.max(atMs, this.#nowMs), order: this.#order++, run };
    this.#push(event);
    return () => {
      event.run = undefined;
    };
  }

  after(delayMs: number, run: () => void): () => void {
    return this.at(this.#nowMs + delayMs, run);
  }

  /** Works through the events up to `untilMs`, letting promises settle after each. */
  async runUntil(untilMs: number): Promise<void> {
    for (let event = this.#heap[0]; event !== undefined && event.atMs <= untilMs; event = this.#heap[0]) {
      this.#pop();
      if (event.run === undefined) continue;
      this.#nowMs = event.atMs;
      event.run();
      for (let hop = 0; hop < this.#hops; hop++) await undefined;
    }
    this.#nowMs = untilMs;
  }

  #push(event: Event): void {
    const heap = this.#heap;
    let i = heap.push(event) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!isBefore(event, heap[parent] as Event)) break;
      heap[i] = heap[parent] as Event;
      i = parent;
    }
    heap[i] = event;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as Event;
    if (heap.length === 0) return;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Event, heap[child] as Event)) child++;
      if (!isBefore(heap[child] as Event, last)) break;
      heap[i] = heap[child] as Event;
      i = child;
    }
    heap[i] = last;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
