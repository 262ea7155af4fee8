import type { Clock, Timer } from "../clock.ts";
import { byGroup } from "../stores/by-group.ts";
import type { Adjustment, Store } from "../stores/store.ts";

/** Reports of one call. */
const REPORTS_PER_CALL = 32;
/** Reports that are put in order in one turn of the event loop. */
const MOST_AT_ONCE = 1024;
/** So many calls are under way at most: the callers' own are more urgent. */
const MOST_CALLS = 4;
/** A report that is not answered is made again, so often: at once, and then after this time more and more. */
const MOST_REPEATS = 3;
const REPEAT_PAUSE_MS = 250;

/**
 * Tells the store, once it is back, what went in without it. A report that may not have arrived is made again: soon, while others
 * still hold back, and else when the store is back the next time. Told twice, it can only take too much.
 */
export class Repayments {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #answerWithinMs: number;
  readonly #most: number;
  readonly #canTell: (key: string) => boolean;
  readonly #due: Adjustment[] = [];
  /** Told, perhaps in vain. */
  readonly #lost: Adjustment[] = [];
  #repeatTimer: Timer | undefined;
  #scheduled = false;
  #sending = 0;
  #repeats = 0;

  /**
   * @param answerWithinMs what is not answered by then may be lost. Shorter than others hold back.
   * @param most how many reports are kept while the store cannot be told.
   * @param canTell whether the part of the store that a key lives on is not left alone: if it is, calls make it no better.
   */
  constructor(store: Store, clock: Clock, answerWithinMs: number, most: number, canTell: (key: string) => boolean) {
    this.#store = store;
    this.#clock = clock;
    this.#answerWithinMs = answerWithinMs;
    this.#most = most;
    this.#canTell = canTell;
  }

  /** Tokens, above 0, that went in for a bucket without the store. */
  add(bucket: Omit<Adjustment, "tokens">, tokens: number): void {
    if (this.#due.length + this.#lost.length < this.#most) this.#due.push({ ...bucket, tokens: -tokens });
    this.#repeats = 0;
    this.#schedule();
  }

  /** Tells what is still to be told, soon. */
  send(): void {
    this.#repeats = 0;
    this.#takeBack();
    this.#schedule();
  }

  /** Tells it all at once and once only; resolves when that is done, whether or not it has arrived. */
  async sendNow(): Promise<void> {
    this.#repeats = MOST_REPEATS;
    this.#repeatTimer?.cancel();
    this.#takeBack();
    await this.#sendAll(this.#due.splice(0), () => true);
  }

  #schedule(): void {
    if (this.#scheduled || this.#due.length === 0 || this.#sending >= MOST_CALLS) return;
    this.#scheduled = true;
    this.#clock.afterTurn(() => {
      this.#scheduled = false;
      void this.#sendSome();
    });
  }

  async #sendSome(): Promise<void> {
    this.#sending++;
    const sent = this.#sendAll(this.#due.splice(0, MOST_AT_ONCE), this.#canTell);
    this.#schedule();
    const haveArrived = await sent;
    this.#sending--;
    this.#schedule();
    if (haveArrived || this.#repeatTimer !== undefined || this.#repeats >= MOST_REPEATS) return;
    this.#repeatTimer = this.#clock.startTimer(this.#repeat, REPEAT_PAUSE_MS * this.#repeats++, false);
  }

  readonly #repeat = (): void => {
    this.#repeatTimer = undefined;
    this.#takeBack();
    this.#schedule();
  };

  #takeBack(): void {
    for (const report of this.#lost.splice(0)) this.#due.push(report);
  }

  /** One call after another. Whether all have arrived. */
  async #sendAll(due: readonly Adjustment[], canTell: (key: string) => boolean): Promise<boolean> {
    let haveArrived = true;
    for (const group of byGroup(due, this.#store)) {
      for (let i = 0; i < group.length; i += REPORTS_PER_CALL) {
        const reports = group.slice(i, i + REPORTS_PER_CALL);
        // They are of one group, so of one part of the store.
        if (canTell((reports[0] as Adjustment).key) && (await this.#arrives(reports))) continue;
        this.#lost.push(...reports);
        haveArrived = false;
      }
    }
    return haveArrived;
  }

  #arrives(reports: readonly Adjustment[]): Promise<boolean> {
    return new Promise((resolve) => {
      const limit = this.#clock.startTimer(() => resolve(false), this.#answerWithinMs, false);
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
