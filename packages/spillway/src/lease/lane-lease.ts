import type { BucketState } from "../algorithms/bucket.ts";
import { escrowed } from "../algorithms/token-bucket.ts";
import { leaseLifeUs } from "../algorithms/window-lease.ts";
import { statusOf } from "../decide.ts";
import type { PolicyStatus } from "../decision.ts";
import type { Policy } from "../policy.ts";
import type { PolicySet } from "../policy-set.ts";
import type { BucketReading, LeaseReport } from "../stores/store.ts";
import { decayed } from "../stores/take.ts";
import { escrowLifeMs, feedsWish, settleAfterMs, watermarkOf, wishOf } from "./lease-budget.ts";
import { type Instant, Shelf, type ShelfCounts } from "./shelf.ts";

/** Nobody goes without leases for longer for the sake of one caller: windows and blocks tell waits of days, and may end early. */
const LONGEST_ABSTENTION_MS = 10_000;

/** Demand for one bucket in this process. */
interface Demand {
  /** Asked for since the last report. */
  asked: number;
  /** Decayed over two drain times. */
  weight: number;
}

/** How a bucket stood: what was in it and out on lease, when a call was sent that read it. */
export interface Standing {
  readonly tokens: number;
  readonly sentMs: number;
}

/** What a key that is asked for often keeps here: leased tokens for each of its policies, and how many are asked for. */
export class LaneLease {
  readonly #set: PolicySet;
  readonly #drainMs: number;
  readonly #shelves: readonly Shelf[];
  readonly #demands: readonly Demand[];
  #foldedMs: number;
  #lastSpentMs: number;
  /** No wish before this: somebody was refused a larger cost and waits for what we would take, or there was nothing to be had. */
  #abstainUntilMs = Number.NEGATIVE_INFINITY;
  /** Ask again when a shelf falls to this; negative when there is nothing to be had by asking early. */
  #watermarks: number[];
  /** How the store last said that each policy stands. */
  #views: readonly PolicyStatus[] | undefined;
  readonly #standings: (Standing | undefined)[];
  readonly #onlyShelf: Shelf | undefined;
  readonly #onlyDemand: Demand;
  #onlyView: PolicyStatus | undefined;
  #onlyWatermark = -1;

  constructor(set: PolicySet, drainMs: number, nowMs: number, counts: ShelfCounts) {
    this.#set = set;
    this.#drainMs = drainMs;
    this.#shelves = set.policies.map(() => new Shelf(counts));
    this.#demands = set.policies.map(() => ({ asked: 0, weight: 0 }));
    this.#watermarks = set.policies.map(() => -1);
    this.#standings = set.policies.map(() => undefined);
    this.#foldedMs = nowMs;
    this.#lastSpentMs = nowMs;
    this.#onlyShelf = this.#shelves.length === 1 ? this.#shelves[0] : undefined;
    this.#onlyDemand = this.#demands[0] as Demand;
  }

  get lifeMs(): number {
    return escrowLifeMs(this.#drainMs);
  }

  get isUnsettled(): boolean {
    return this.#shelves.some((shelf) => shelf.isUnsettled);
  }

  /** When a silent holder settles. */
  get settleDueMs(): number {
    return this.#lastSpentMs + settleAfterMs(this.#drainMs);
  }

  /** How policy `index` stood when the store last said so. */
  standing(index: number): Standing | undefined {
    return this.#standings[index];
  }

  /** Tokens of policy `index` in hand. */
  held(index: number): number {
    return (this.#shelves[index] as Shelf).held;
  }

  /** Whether what is held would do, were none of it too old. No clock has to be read where not. */
  covers(costs: readonly number[]): boolean {
    for (let i = 0; i < costs.length; i++) if ((this.#shelves[i] as Shelf).held < (costs[i] as number)) return false;
    return true;
  }

  /** The same for one token of the only policy. */
  get mayHit(): boolean {
    return this.#onlyShelf !== undefined && this.#onlyShelf.held > 0;
  }

  /** Spends the costs from all shelves, or from none when one is short. Returns how the policies then stand. */
  spend(costs: readonly number[], monotonicMs: number, wallMs: number): PolicyStatus[] | undefined {
    const views = this.#views;
    const shelves = this.#shelves;
    if (views === undefined) return undefined;
    for (let i = 0; i < costs.length; i++) {
      const cost = costs[i] as number;
      if (cost > 0 && (shelves[i] as Shelf).spendable(monotonicMs, wallMs) < cost) return undefined;
    }
    this.#lastSpentMs = monotonicMs;
    const first = spendOne(shelves[0] as Shelf, views[0] as PolicyStatus, costs[0] as number);
    const statuses = [first];
    for (let i = 1; i < costs.length; i++)
      statuses.push(spendOne(shelves[i] as Shelf, views[i] as PolicyStatus, costs[i] as number));
    return statuses;
  }

  /**
   * As `spend` and `noteAsked` for one token of the only policy, in the commonest case. `undefined` where it is another, and then
   * nothing was changed. The status is written out here too: a call for it costs a tenth of a hit.
   */
  spendOne(monotonicMs: number, wallMs: number): PolicyStatus | undefined {
    const shelf = this.#onlyShelf;
    const view = this.#onlyView;
    if (shelf === undefined || view === undefined || !shelf.spendOne(monotonicMs, wallMs)) return undefined;
    this.#lastSpentMs = monotonicMs;
    this.#onlyDemand.asked++;
    return {
      policy: view.policy,
      limit: view.limit,
      periodMs: view.periodMs,
      remaining: view.remaining + shelf.held,
      refillAfterMs: view.refillAfterMs,
      resetAfterMs: view.resetAfterMs,
      retryAfterMs: 0,
    };
  }

  /** Whether it is time to fetch more before a shelf runs dry. Asked for after a spend. */
  get isLow(): boolean {
    const only = this.#onlyShelf;
    if (only !== undefined && only.held > this.#onlyWatermark) return false;
    if (this.#lastSpentMs < this.#abstainUntilMs) return false;
    for (let i = 0; i < this.#shelves.length; i++)
      if ((this.#shelves[i] as Shelf).held <= (this.#watermarks[i] as number)) return true;
    return false;
  }

  /** Counts what callers ask for, served or not. */
  noteAsked(costs: readonly number[]): void {
    for (let i = 0; i < costs.length; i++) {
      const cost = costs[i] as number;
      if (feedsWish(cost, (this.#set.policies[i] as Policy).capacity)) (this.#demands[i] as Demand).asked += cost;
    }
  }

  /** Somebody was refused a cost above 1 and told to come back after `waitMs`; nobody waits for a cost that can never fit. */
  abstain(nowMs: number, waitMs: number): void {
    if (waitMs === Number.POSITIVE_INFINITY) return;
    this.#abstainUntilMs = Math.max(this.#abstainUntilMs, nowMs + Math.min(waitMs, LONGEST_ABSTENTION_MS));
  }

  /**
   * What to report of each bucket in a call that is sent now.
   * @param wishes whether to wish for tokens: only when callers are behind the call.
   * @param giveBack whether what is held goes back: a caller needs more than that, or nobody comes any more.
   */
  report(now: Instant, wishes: boolean, giveBack: boolean): LeaseReport[] {
    const { monotonicMs, wallMs } = now;
    const elapsedMs = Math.max(0, monotonicMs - this.#foldedMs);
    this.#foldedMs = monotonicMs;
    const lifeUs = Math.round(this.lifeMs * 1000);
    return this.#shelves.map((shelf, i) => {
      const demand = this.#demands[i] as Demand;
      // Tokens asked for during the time that is folded in have decayed a little themselves.
      const asked = demand.asked / (1 + elapsedMs / (2 * this.lifeMs));
      demand.weight = decayed(demand.weight, elapsedMs, this.lifeMs) + asked;
      demand.asked = 0;
      const settlements = shelf.takeSettlements(monotonicMs, wallMs, giveBack);
      const wish = wishes && monotonicMs >= this.#abstainUntilMs ? wishOf(demand.weight, shelf.held) : 0;
      return { wish, lifeUs, demand: asked, weight: demand.weight, settlements };
    });
  }

  /**
   * Takes what the store granted to `reports`; `sent` is when the call left.
   * @param isLate whether callers have been decided for without the reply. Tokens of a window then go back unspent: what this
   * process has of the window while the store is away was worked out before they were leased.
   */
  adopt(
    readings: readonly BucketReading[],
    reports: readonly LeaseReport[],
    storeUs: number,
    sent: Instant,
    roundTripMs: number,
    isLate = false,
  ): void {
    const views: PolicyStatus[] = [];
    for (const [i, reading] of readings.entries()) {
      if (reading.kind !== "state" || reading.lease === undefined) continue;
      const policy = this.#set.policies[i] as Policy;
      views.push(statusOf(policy, reading.state, 0, storeUs));
      this.#standings[i] = newer(this.#standings[i], reading.state, sent.monotonicMs);
      const { id, tokens, contended } = reading.lease;
      const { wish, weight, lifeUs } = reports[i] as LeaseReport;
      const isUnspendable = isLate && reading.state.kind !== "token-bucket";
      const lifeMs = isUnspendable ? 0 : leaseLifeUs(reading.state, policy.shape, lifeUs, storeUs) / 1000;
      if (tokens > 0) (this.#shelves[i] as Shelf).add(id, tokens, lifeMs, sent);
      // A counter that is asked for too much has a token every so often, and never tokens to lease: to wish costs more than it brings.
      if (reading.state.kind === "sliding-window-counter" && 4 * tokens < wish)
        this.abstain(sent.monotonicMs, this.#drainMs);
      const scarce = contended || tokens < wish;
      this.#watermarks[i] = scarce || tokens === 0 ? -1 : watermarkOf(weight, this.#drainMs, roundTripMs);
    }
    if (views.length === this.#shelves.length) {
      this.#views = views;
      this.#onlyView = views[0];
    }
    this.#onlyWatermark = this.#watermarks[0] as number;
    this.#lastSpentMs = Math.max(this.#lastSpentMs, sent.monotonicMs);
  }
}

/** A late reply tells of an earlier time. */
function newer(known: Standing | undefined, state: BucketState, sentMs: number): Standing | undefined {
  if (state.kind !== "token-bucket" || (known !== undefined && known.sentMs > sentMs)) return known;
  return { tokens: state.level / state.unitsPerToken + escrowed(state), sentMs };
}

/** Fields one by one: this runs for every lease hit, and a spread costs more than all the rest. */
function spendOne(shelf: Shelf, view: PolicyStatus, cost: number): PolicyStatus {
  shelf.spend(cost);
  return {
    policy: view.policy,
    limit: view.limit,
    periodMs: view.periodMs,
    remaining: view.remaining + shelf.held,
    refillAfterMs: view.refillAfterMs,
    resetAfterMs: view.resetAfterMs,
    retryAfterMs: 0,
  };
}
