import type { Clock } from "../../clock.ts";

/** The processes at work, by what they say of themselves. */
export class ProcessSet {
  readonly #clock: Clock;
  /** When each was last heard of, the longest ago first. */
  readonly #heardMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes that one is at work, forgets those not heard of for `lifeMs`, and counts. */
  count(id: string, lifeMs: number): number {
    const nowMs = this.#clock.monotonicMs();
    this.#heardMs.delete(id);
    this.#heardMs.set(id, nowMs);
    for (const [other, heardMs] of this.#heardMs) {
      if (nowMs - heardMs < lifeMs) break;
      this.#heardMs.delete(other);
    }
    return this.#heardMs.size;
  }
}
