import { randomUUID } from "node:crypto";
import type { Clock } from "../clock.ts";
import type { Store } from "../stores/store.ts";

/** One for all limiters of this process: together they are one replica. */
const PROCESS_ID = randomUUID();
/** A process says that it is at work so often while it makes decisions: often at first, when others may be starting too. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5000;
/** Not heard of for so long, it counts no more. */
const LIFE_MS = 15_000;

/** How many processes share the limits, as the store last said: each one's backstop is that part of them. */
export class ReplicaCount {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #least: number;
  #nextBeatMs: number | undefined;
  #pauseMs = FIRST_PAUSE_MS;
  #counted = 1;

  /** @param least what the user says there are at least; it stands for the others until the store has counted them. */
  constructor(store: Store, clock: Clock, least: number) {
    this.#store = store;
    this.#clock = clock;
    this.#least = least;
  }

  get count(): number {
    return Math.max(this.#least, this.#counted);
  }

  /** Called when a decision is asked of the store; an idle process says nothing. A beat that is lost is not told again. */
  noteAtWork(): void {
    const nowMs = this.#clock.monotonicMs();
    if (this.#nextBeatMs !== undefined && nowMs < this.#nextBeatMs) return;
    const isFirst = this.#nextBeatMs === undefined;
    this.#nextBeatMs = nowMs + this.#pauseMs;
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
    // A process that has only just begun may be gone before it counts.
    if (isFirst) return;
    this.#store.countReplicas?.(PROCESS_ID, LIFE_MS).then(
      (count) => {
        this.#counted = count;
      },
      () => {},
    );
  }
}
