import type { Settlement } from "../stores/store.ts";
import { clockToleranceMs, spendLifeMs } from "./lease-budget.ts";

/** A reading of both clocks: each alone can be wrong about a machine that slept. */
export interface Instant {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** Tokens of one lease. */
interface Parcel {
  readonly id: number;
  /** Counted from when the call that granted the newest of them was sent; over when either clock says so, or both disagree. */
  overMonotonicMs: number;
  overWallMs: number;
  clockOffsetMs: number;
  clockToleranceMs: number;
  left: number;
  /** Spent and not yet reported. */
  spent: number;
  /** Too old to spend; goes back with the next report. */
  stale: number;
}

/** What a shelf has seen, for `stats()`. */
export interface ShelfCounts {
  leased: number;
  spent: number;
  returned: number;
  expired: number;
}

/** The leased tokens of one bucket in this process, oldest first. */
export class Shelf {
  readonly #counts: ShelfCounts;
  #parcels: Parcel[] = [];
  /** Where the next token is taken from; it may be empty by now. */
  #front: Parcel | undefined;
  #held = 0;
  /** Nothing grows old while both clocks read less than this, and as long as they are this far apart. Worked out by `#look`. */
  #freshUntilMonotonicMs = Number.NEGATIVE_INFINITY;
  #freshUntilWallMs = Number.NEGATIVE_INFINITY;
  #leastOffsetMs = Number.POSITIVE_INFINITY;
  #mostOffsetMs = Number.NEGATIVE_INFINITY;

  constructor(counts: ShelfCounts) {
    this.#counts = counts;
  }

  /** Tokens that could be spent when last looked at. */
  get held(): number {
    return this.#held;
  }

  /** Whether there is anything to report or to give back. */
  get isUnsettled(): boolean {
    return this.#parcels.length > 0;
  }

  /** Sets aside what is too old, and says what can be spent now. */
  spendable(monotonicMs: number, wallMs: number): number {
    if (!this.#isFresh(monotonicMs, wallMs)) this.#look(monotonicMs, wallMs);
    return this.#held;
  }

  /**
   * Spends one token where nothing has grown old and the oldest lease has one, which is the rule. Otherwise changes nothing:
   * `spendable` can tell.
   */
  spendOne(monotonicMs: number, wallMs: number): boolean {
    const front = this.#front;
    if (front === undefined || front.left === 0 || !this.#isFresh(monotonicMs, wallMs)) return false;
    front.left--;
    front.spent++;
    this.#held--;
    this.#counts.spent++;
    return true;
  }

  #isFresh(monotonicMs: number, wallMs: number): boolean {
    const offsetMs = wallMs - monotonicMs;
    return (
      monotonicMs < this.#freshUntilMonotonicMs &&
      wallMs < this.#freshUntilWallMs &&
      offsetMs >= this.#leastOffsetMs &&
      offsetMs <= this.#mostOffsetMs
    );
  }

  /** Sets aside what is too old, and works out until when there is no need to look again. */
  #look(monotonicMs: number, wallMs: number): void {
    this.#front = undefined;
    this.#freshUntilMonotonicMs = Number.POSITIVE_INFINITY;
    this.#freshUntilWallMs = Number.POSITIVE_INFINITY;
    this.#leastOffsetMs = Number.NEGATIVE_INFINITY;
    this.#mostOffsetMs = Number.POSITIVE_INFINITY;
    for (const parcel of this.#parcels) {
      if (parcel.left > 0 && isOver(parcel, monotonicMs, wallMs)) {
        parcel.stale += parcel.left;
        this.#counts.expired += parcel.left;
        this.#held -= parcel.left;
        parcel.left = 0;
      }
      if (parcel.left === 0) continue;
      this.#front ??= parcel;
      this.#freshUntilMonotonicMs = Math.min(this.#freshUntilMonotonicMs, parcel.overMonotonicMs);
      this.#freshUntilWallMs = Math.min(this.#freshUntilWallMs, parcel.overWallMs);
      this.#leastOffsetMs = Math.max(this.#leastOffsetMs, parcel.clockOffsetMs - parcel.clockToleranceMs);
      this.#mostOffsetMs = Math.min(this.#mostOffsetMs, parcel.clockOffsetMs + parcel.clockToleranceMs);
    }
  }

  /** Spends tokens that `spendable` has just said are there. */
  spend(cost: number): void {
    let due = cost;
    for (let i = 0; due > 0; i++) {
      const parcel = this.#parcels[i] as Parcel;
      const taken = Math.min(parcel.left, due);
      parcel.left -= taken;
      parcel.spent += taken;
      due -= taken;
      this.#front = parcel;
    }
    this.#held -= cost;
    this.#counts.spent += cost;
  }

  /**
   * Takes a grant. Tokens that join a lease share its end in the store, which a grant never brings nearer; those without a life
   * go back with the next report, and leave the others as they are.
   */
  add(id: number, tokens: number, lifeMs: number, sent: Instant): void {
    this.#counts.leased += tokens;
    let parcel = this.#parcels.at(-1);
    if (parcel?.id !== id) {
      parcel = { id, left: 0, spent: 0, stale: 0, ...UNDATED };
      this.#parcels.push(parcel);
    }
    if (lifeMs <= 0) {
      parcel.stale += tokens;
      this.#counts.expired += tokens;
      return;
    }
    this.#held += tokens;
    parcel.left += tokens;
    parcel.overMonotonicMs = sent.monotonicMs + spendLifeMs(lifeMs);
    parcel.overWallMs = sent.wallMs + spendLifeMs(lifeMs);
    parcel.clockOffsetMs = sent.wallMs - sent.monotonicMs;
    parcel.clockToleranceMs = clockToleranceMs(lifeMs);
    this.#freshUntilMonotonicMs = Number.NEGATIVE_INFINITY;
  }

  /**
   * What is to be reported now; it is reported once, whether or not the report arrives.
   * @param giveBack whether what is left goes back too.
   */
  takeSettlements(monotonicMs: number, wallMs: number, giveBack: boolean): Settlement[] {
    this.spendable(monotonicMs, wallMs);
    const settlements: Settlement[] = [];
    for (const parcel of this.#parcels) {
      const returned = parcel.stale + (giveBack ? parcel.left : 0);
      const settled = parcel.spent + returned;
      if (settled > 0) settlements.push({ id: parcel.id, settled, returned });
      if (giveBack) {
        this.#held -= parcel.left;
        parcel.left = 0;
      }
      this.#counts.returned += returned;
      parcel.spent = 0;
      parcel.stale = 0;
    }
    this.#parcels = this.#parcels.filter(({ left }) => left > 0);
    this.#freshUntilMonotonicMs = Number.NEGATIVE_INFINITY;
    return settlements;
  }
}

const UNDATED = { overMonotonicMs: 0, overWallMs: 0, clockOffsetMs: 0, clockToleranceMs: 0 };

function isOver(parcel: Parcel, monotonicMs: number, wallMs: number): boolean {
  const parted = wallMs - monotonicMs - parcel.clockOffsetMs;
  return (
    monotonicMs >= parcel.overMonotonicMs ||
    wallMs >= parcel.overWallMs ||
    parted > parcel.clockToleranceMs ||
    parted < -parcel.clockToleranceMs
  );
}
