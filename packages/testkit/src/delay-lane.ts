type Item = { readonly kind: "bytes"; readonly bytes: Buffer } | { readonly kind: "end" };

/** One direction of a connection: what goes in comes out in order, later by the delay of the moment, and not while held. */
export class DelayLane {
  readonly #deliver: (item: Item) => void;
  readonly #delayMs: () => number;
  readonly #waiting: { readonly item: Item; readonly dueAt: number }[] = [];
  #timer: NodeJS.Timeout | undefined;
  #held = false;

  constructor(deliver: (item: Item) => void, delayMs: () => number) {
    this.#deliver = deliver;
    this.#delayMs = delayMs;
  }

  push(item: Item): void {
    const delayMs = this.#delayMs();
    if (delayMs === 0 && !this.#held && this.#waiting.length === 0) {
      this.#deliver(item);
      return;
    }
    const last = this.#waiting.at(-1)?.dueAt ?? 0;
    this.#waiting.push({ item, dueAt: Math.max(last, performance.now() + delayMs) });
    this.#schedule();
  }

  /** Keeps everything back until {@link release}. */
  hold(): void {
    this.#held = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  release(): void {
    this.#held = false;
    this.#schedule();
  }

  /** Forgets what waits. */
  clear(): void {
    this.#waiting.length = 0;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #schedule(): void {
    const next = this.#waiting[0];
    if (next === undefined || this.#held || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => this.#deliverDue(), Math.max(0, next.dueAt - performance.now()));
  }

  #deliverDue(): void {
    this.#timer = undefined;
    // Timers may fire a fraction of a millisecond early.
    const now = performance.now() + 0.5;
    while (!this.#held) {
      const next = this.#waiting[0];
      if (next === undefined || next.dueAt > now) break;
      this.#waiting.shift();
      this.#deliver(next.item);
    }
    this.#schedule();
  }
}
