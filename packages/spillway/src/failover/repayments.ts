import type { Clock } from "../clock.ts";
import { byGroup } from "../stores/by-group.ts";
import type { Adjustment, Store } from "../stores/store.ts";

/** Reports of one call. */
const REPORTS_PER_CALL = 32;
/** A report that is not answered within this time is made again, so often. */
const ANSWER_WITHIN_MS = 250;
const MOST_REPEATS = 3;

/**
 * Tells the store, once it is back, what went in without it. A report that may not have arrived is made again: soon, while others
 * still hold back, and else when the store is back the next time. Told twice, it can only take too much.
 */
export class Repayments {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #most: number;
  #due: Adjustment[] = [];
  #scheduled = false;
  #repeats = 0;

  /** @param most how many reports are kept while the store cannot be told. */
  constructor(store: Store, clock: Clock, most: number) {
    this.#store = store;
    this.#clock = clock;
    this.#most = most;
  }

  /** Tokens, above 0, that went in for a bucket without the store. */
  add(bucket: Omit<Adjustment, "tokens">, tokens: number): void {
    if (this.#due.length < this.#most) this.#due.push({ ...bucket, tokens: -tokens });
    this.send();
  }

  /** Tells what is still to be told, soon. */
  send(): void {
    this.#repeats = 0;
    this.#schedule();
  }

  /** Tells it all at once and once only; resolves when that is done, whether or not it has arrived. */
  async sendNow(): Promise<void> {
    this.#repeats = MOST_REPEATS;
    await this.#sendAll(this.#due.splice(0));
  }

  #schedule(): void {
    if (this.#scheduled || this.#due.length === 0) return;
    this.#scheduled = true;
    this.#clock.afterTurn(() => {
      this.#scheduled = false;
      void this.#sendAll(this.#due.splice(0));
    });
  }

  /** One call after another: the callers' own calls are more urgent. */
  async #sendAll(due: readonly Adjustment[]): Promise<void> {
    let isLost = false;
    for (const group of byGroup(due, this.#store)) {
      for (let i = 0; i < group.length; i += REPORTS_PER_CALL) {
        const reports = group.slice(i, i + REPORTS_PER_CALL);
        if (await this.#arrives(reports)) continue;
        this.#due.push(...reports);
        isLost = true;
      }
    }
    if (!isLost || this.#repeats >= MOST_REPEATS) return;
    this.#repeats++;
    this.#clock.startTimer(() => this.#schedule(), ANSWER_WITHIN_MS, false);
  }

  #arrives(reports: readonly Adjustment[]): Promise<boolean> {
    return new Promise((resolve) => {
      const limit = this.#clock.startTimer(() => resolve(false), ANSWER_WITHIN_MS, false);
      const end = (arrived: boolean): void => {
        limit.cancel();
        resolve(arrived);
      };
      this.#tell(reports).then(
        () => end(true),
        () => end(false),
      );
    });
  }

  /** A store of somebody else's may throw where it should reject. */
  async #tell(reports: readonly Adjustment[]): Promise<unknown> {
    return await this.#store.adjust(reports);
  }
}
