import type { Clock } from "../clock.ts";
import { byGroup } from "../stores/by-group.ts";
import type { Adjustment, Store } from "../stores/store.ts";

/** Reports of one call, and how many are kept while the store cannot be told. */
const REPORTS_PER_CALL = 32;
const MOST_REPORTS = 100_000;

/**
 * Tells the store, once it is back, what went in without it. A report that may not have arrived is made again when the store
 * is back the next time: told twice, it can only take too much.
 */
export class Repayments {
  readonly #store: Store;
  readonly #clock: Clock;
  #due: Adjustment[] = [];
  #scheduled = false;

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Tokens, above 0, that went in for a bucket without the store. */
  add(bucket: Omit<Adjustment, "tokens">, tokens: number): void {
    if (this.#due.length < MOST_REPORTS) this.#due.push({ ...bucket, tokens: -tokens });
    this.send();
  }

  /** Tells what is still to be told, soon. */
  send(): void {
    if (this.#scheduled || this.#due.length === 0) return;
    this.#scheduled = true;
    this.#clock.afterTurn(() => {
      this.#scheduled = false;
      void this.#sendAll(this.#due.splice(0));
    });
  }

  /** One call after another: the callers' own calls are more urgent. */
  async #sendAll(due: readonly Adjustment[]): Promise<void> {
    for (const group of byGroup(due, this.#store)) {
      for (let i = 0; i < group.length; i += REPORTS_PER_CALL) {
        const reports = group.slice(i, i + REPORTS_PER_CALL);
        await this.#store.adjust(reports).catch(() => this.#due.push(...reports));
      }
    }
  }
}
