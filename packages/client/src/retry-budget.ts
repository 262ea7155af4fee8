/** Tokens are kept in millionths, so that ten deposits of a tenth make a whole one. */
const UNIT = 1_000_000;

/**
 * How many retries the calls of one origin may add to its load. Each first attempt pays in `ratio` of a retry; up to
 * `reserve` are saved, and there from the start. So retries never exceed `reserve + ratio x first attempts`.
 */
export class RetryBudget {
  readonly #deposit: number;
  readonly #most: number;
  #level: number;

  /** @param ratio from 0 to 1. @param reserve a whole number. */
  constructor(ratio: number, reserve: number) {
    this.#deposit = Math.floor(ratio * UNIT);
    // A reserve of none still lets one whole retry be saved up.
    this.#most = Math.max(1, reserve) * UNIT;
    this.#level = reserve * UNIT;
  }

  /** Retries that could be paid for now. */
  get left(): number {
    return this.#level / UNIT;
  }

  /** A first attempt is sent. */
  deposit(): void {
    this.#level = Math.min(this.#most, this.#level + this.#deposit);
  }

  /** Pays for one retry when it is decided, before its wait. @returns whether there was enough. */
  withdraw(): boolean {
    if (this.#level < UNIT) return false;
    this.#level -= UNIT;
    return true;
  }

  /** Pays back for a retry that was not sent. */
  refund(): void {
    this.#level = Math.min(this.#most, this.#level + UNIT);
  }
}
