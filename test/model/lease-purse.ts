import { type Instant, Shelf, type ShelfCounts } from "../../packages/spillway/src/lease/shelf.ts";
import type { Settlement } from "../../packages/spillway/src/stores/store.ts";
import type { HolderClock } from "./lease-clock.ts";
import type { LeaseRandom } from "./lease-random.ts";

/** When a call left: in true time, and by the clocks of its sender. */
export interface Sent {
  readonly us: number;
  readonly instant: Instant;
}

/** Leased tokens of one bucket in the hands of one holder. */
export interface Purse {
  /** Takes a grant. @param generation how often the bucket had been lost when the tokens were leased. */
  add(id: number, tokens: number, lifeUs: number, sent: Sent, generation: number): void;
  /** What can be spent now. */
  spendable(): number;
  /** Spends tokens that can be; tells how many of them were leased from each generation of the bucket. */
  spend(tokens: number): ReadonlyMap<number, number>;
  /** Reports some of what is spent or given back, each token once. */
  report(random: LeaseRandom): Settlement[];
  /** When the next tokens grow too old, in true time. */
  nextDeathUs(): number | undefined;
  /** Tokens of a generation that could be spent at once, as far as it can be told without touching them. */
  certain(generation: number): number;
}

interface Parcel {
  readonly id: number;
  readonly generation: number;
  readonly untilUs: number;
  left: number;
  spent: number;
}

/** A holder that obeys the protocol and nothing else: spends as late as it may, reports when and in what parts it likes. */
export class AdversePurse implements Purse {
  readonly #nowUs: () => number;
  readonly #lifePart: number;
  #parcels: Parcel[] = [];

  /** @param lifePart how much of its life it spends a token in; 1 is all of it. */
  constructor(nowUs: () => number, lifePart: number) {
    this.#nowUs = nowUs;
    this.#lifePart = lifePart;
  }

  add(id: number, tokens: number, lifeUs: number, sent: Sent, generation: number): void {
    const untilUs = sent.us + Math.floor(lifeUs * this.#lifePart);
    this.#parcels.push({ id, generation, untilUs, left: tokens, spent: 0 });
  }

  spendable(): number {
    const nowUs = this.#nowUs();
    return this.#parcels.reduce((sum, { left, untilUs }) => (nowUs < untilUs ? sum + left : sum), 0);
  }

  certain(generation: number): number {
    const nowUs = this.#nowUs();
    let tokens = 0;
    for (const parcel of this.#parcels)
      if (nowUs < parcel.untilUs && parcel.generation === generation) tokens += parcel.left;
    return tokens;
  }

  spend(tokens: number): ReadonlyMap<number, number> {
    const spent = new Map<number, number>();
    const nowUs = this.#nowUs();
    let due = tokens;
    for (const parcel of this.#parcels) {
      if (nowUs >= parcel.untilUs) continue;
      const taken = Math.min(due, parcel.left);
      parcel.left -= taken;
      parcel.spent += taken;
      due -= taken;
      spent.set(parcel.generation, (spent.get(parcel.generation) ?? 0) + taken);
    }
    return spent;
  }

  report(random: LeaseRandom): Settlement[] {
    const settlements: Settlement[] = [];
    const inParts = random.chance(0.3);
    for (const parcel of this.#parcels) {
      if (inParts && random.chance(0.4)) continue;
      const spent = inParts ? random.whole(0, parcel.spent) : parcel.spent;
      const givesBack = random.chance(0.5);
      const returned = givesBack ? (inParts ? random.whole(0, parcel.left) : parcel.left) : 0;
      parcel.spent -= spent;
      parcel.left -= returned;
      if (spent + returned > 0) settlements.push({ id: parcel.id, settled: spent + returned, returned });
    }
    this.#parcels = this.#parcels.filter(({ left, spent }) => left + spent > 0);
    return random.chance(0.2) ? settlements.reverse() : settlements;
  }

  nextDeathUs(): number | undefined {
    const nowUs = this.#nowUs();
    const deaths = this.#parcels
      .filter(({ left, untilUs }) => left > 0 && untilUs > nowUs)
      .map(({ untilUs }) => untilUs);
    return deaths.length === 0 ? undefined : Math.min(...deaths);
  }
}

/** How a shelf is made; a broken twin makes another. */
export type ShelfMaker = (counts: ShelfCounts, clock: HolderClock) => Shelf;

/** The tokens of a holder that keeps the shipped rules: a `Shelf`, read by the holder's own clocks. */
export class ShelfPurse implements Purse {
  readonly #clock: HolderClock;
  readonly #shelf: Shelf;
  readonly #nowUs: () => number;
  #deathUs: number | undefined;

  constructor(nowUs: () => number, clock: HolderClock, make: ShelfMaker = (counts) => new Shelf(counts)) {
    this.#nowUs = nowUs;
    this.#clock = clock;
    this.#shelf = make({ leased: 0, spent: 0, returned: 0, expired: 0 }, clock);
  }

  add(id: number, tokens: number, lifeUs: number, sent: Sent): void {
    this.#shelf.add(id, tokens, lifeUs / 1000, sent.instant);
    this.#deathUs = sent.us + Math.floor(lifeUs * 0.75);
  }

  spendable(): number {
    const { monotonicMs, wallMs } = this.#clock.instant;
    return this.#shelf.spendable(monotonicMs, wallMs);
  }

  certain(): number {
    return 0;
  }

  spend(tokens: number): ReadonlyMap<number, number> {
    if (tokens > 0) this.#shelf.spend(tokens);
    return new Map([[0, tokens]]);
  }

  report(random: LeaseRandom): Settlement[] {
    const { monotonicMs, wallMs } = this.#clock.instant;
    return this.#shelf.takeSettlements(monotonicMs, wallMs, random.chance(0.3));
  }

  nextDeathUs(): number | undefined {
    return this.#deathUs !== undefined && this.#deathUs > this.#nowUs() && this.#shelf.held > 0
      ? this.#deathUs
      : undefined;
  }
}
