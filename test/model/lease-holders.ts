import { leaseLifeUs } from "../../packages/spillway/src/algorithms/window-lease.ts";
import { drainMs, escrowLifeMs } from "../../packages/spillway/src/lease/lease-budget.ts";
import type {
  AskRun,
  LeaseReport,
  Settlement,
  TakeBucket,
  TakeReply,
} from "../../packages/spillway/src/stores/store.ts";
import { HolderClock } from "./lease-clock.ts";
import { AdversePurse, type Purse, type Sent, type ShelfMaker, ShelfPurse } from "./lease-purse.ts";
import type { HolderSetup } from "./lease-setups.ts";
import type { LeaseWorld, TokenHolder } from "./lease-world.ts";

/** What a call is to do. */
export interface CallPlan {
  /** Costs of one ask each, the same on every bucket. */
  readonly asks: readonly number[];
  readonly wishes: boolean;
  readonly reports: boolean;
  /** Served at once, without weather. */
  readonly atOnce?: boolean;
}

/** A call as it was when it left. */
interface SentCall {
  readonly buckets: readonly TakeBucket[];
  readonly config: number;
  readonly sent: Sent;
  readonly generations: readonly number[];
}

/** A holder that keeps its tokens in purses and calls when it is told to: adverse, or with the shipped shelves. */
export class PurseHolder implements TokenHolder {
  readonly setup: HolderSetup;
  readonly clock: HolderClock;
  config: number;
  readonly #world: LeaseWorld;
  /** By policy, then by bucket. An adverse holder has the same ones under both policies; a limiter keeps a lane for each. */
  readonly #purses: readonly ReadonlyMap<number, Purse>[];
  readonly #inParts: boolean;
  readonly #outlivesWindows: boolean;

  constructor(
    world: LeaseWorld,
    setup: HolderSetup,
    config: number,
    { shelf: makeShelf, outlivesWindows = false }: { shelf?: ShelfMaker; outlivesWindows?: boolean },
  ) {
    this.#world = world;
    this.setup = setup;
    this.config = config;
    const { random } = world;
    this.clock = new HolderClock(() => world.nowUs, setup.rate, random.whole(0, 1e6), random.whole(0, 1e9));
    const nowUs = (): number => world.nowUs;
    const purse = (): Purse =>
      setup.kind === "adverse" ? new AdversePurse(nowUs, setup.lifePart) : new ShelfPurse(nowUs, this.clock, makeShelf);
    const purses = (): ReadonlyMap<number, Purse> => new Map(setup.buckets.map((bucket) => [bucket, purse()]));
    const first = purses();
    this.#purses = [first, setup.kind === "adverse" ? first : purses()];
    this.#inParts = setup.kind === "adverse";
    this.#outlivesWindows = outlivesWindows;
  }

  certain(bucket: number): number {
    return this.#purses[0]?.get(bucket)?.certain(this.#world.generations[bucket] as number) ?? 0;
  }

  nextDeathUs(): number | undefined {
    const deaths = this.setup.buckets
      .map((bucket) => this.#purse(bucket).nextDeathUs())
      .filter((us) => us !== undefined);
    return deaths.length === 0 ? undefined : Math.min(...deaths);
  }

  /** Tokens that it can spend of all its buckets together. */
  get spendable(): number {
    return Math.min(...this.setup.buckets.map((bucket) => this.#purse(bucket).spendable()));
  }

  /** Spends from every bucket or from none. */
  spend(tokens: number): void {
    if (this.clock.isAsleep || tokens > this.spendable) return;
    for (const bucket of this.setup.buckets) {
      const spent = this.#purse(bucket).spend(tokens);
      // What was leased before a bucket was lost is the stated price of the loss.
      this.#world.admit(bucket, spent.get(this.#world.generations[bucket] as number) ?? 0);
    }
  }

  /** Sends a call for all its buckets. */
  call({ asks, wishes, reports, atOnce = false }: CallPlan): void {
    if (this.clock.isAsleep) return;
    const sent: Sent = { us: this.#world.nowUs, instant: this.clock.instant };
    const buckets = this.setup.buckets.map((bucket): TakeBucket => {
      const address = this.#world.addressOf(bucket, this.config);
      return { ...address, report: wishes || reports ? this.#reportOf(bucket, wishes, reports) : undefined };
    });
    const runs = asks.map((cost): AskRun => ({ count: 1, charges: buckets.map((_, bucket) => ({ bucket, cost })) }));
    if (runs.length === 0 && !buckets.some(({ report }) => report !== undefined)) return;
    const generations = this.setup.buckets.map((bucket) => this.#world.generations[bucket] as number);
    const { config } = this;
    const onReply = (reply: TakeReply): void =>
      this.clock.whenAwake(() => this.#adopt({ buckets, config, sent, generations }, reply));
    const lifePart = this.setup.kind === "adverse" ? this.setup.lifePart : 0;
    this.#world.send({ buckets, runs }, { lifePart, onReply }, atOnce);
  }

  #reportOf(bucket: number, wishes: boolean, reports: boolean): LeaseReport {
    const { random } = this.#world;
    const { policy } = this.#world.addressOf(bucket, this.config);
    const burst = policy.capacity;
    const settlements: Settlement[] = reports ? this.#purse(bucket).report(random) : [];
    const usual = escrowLifeMs(drainMs(policy, 50) ?? (burst * policy.periodMs) / policy.limit / 2);
    const lifeUs = this.#inParts && random.chance(0.4) ? random.whole(500, 12_000) : Math.round(usual * 1000);
    return {
      wish: wishes ? random.whole(1, burst + 2) : 0,
      lifeUs,
      demand: random.whole(0, 3),
      // With a weight above all demand it may have half of what is there, or all where tokens are scarce.
      weight: random.pick([0, 3, 1000, 1000]),
      settlements,
    };
  }

  #adopt({ buckets, config, sent, generations }: SentCall, reply: TakeReply): void {
    for (const [i, reading] of reply.buckets.entries()) {
      const { report } = buckets[i] as TakeBucket;
      if (reading.kind !== "state" || reading.lease === undefined || report === undefined) continue;
      const { id, tokens } = reading.lease;
      const bucket = this.setup.buckets[i] as number;
      // A broken twin may grant less than nothing.
      if (tokens > 0) {
        const { policy } = buckets[i] as TakeBucket;
        const { lifeUs } = report;
        const life = this.#outlivesWindows ? lifeUs : leaseLifeUs(reading.state, policy.shape, lifeUs, reply.nowUs);
        this.#purse(bucket, config).add(id, tokens, life, sent, generations[i] as number);
      }
    }
  }

  #purse(bucket: number, config = this.config): Purse {
    return this.#purses[config]?.get(bucket) as Purse;
  }
}
