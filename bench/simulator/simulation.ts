import { createRateLimiter, type Decision, type PolicyOptions, type RateLimiter } from "spillway";
import { AdmissionRecord, IdealBucket } from "./admission-record.ts";
import { type NetworkFaults, networkStore, type RoadFaults, SharedStore, type ShareModel } from "./network-store.ts";
import { OutageRecord, type OutageResult, type OutageSpan } from "./outage-record.ts";
import { type Random, seededRandom } from "./random.ts";
import { type VirtualClock, virtualClock } from "./virtual-clock.ts";
import { VirtualLoop } from "./virtual-loop.ts";
import {
  type Ideal,
  IdealWindow,
  type Record,
  type WindowAlgorithm,
  windowPolicy,
  windowRecord,
} from "./window-record.ts";
import { arrivalsOf, type Workload } from "./workloads.ts";

/** What can go wrong with replicas and the store, per second of the run, each a mean number of times. */
export interface Accidents {
  readonly crashes: number;
  readonly sleeps: number;
  readonly clockSteps: number;
  readonly stalls: number;
}

/** Times in which the store stands still, evenly spaced. */
export interface Stalls {
  readonly firstMs: number;
  readonly everyMs: number;
  readonly lastMs: number;
  /** Whether what reaches it meanwhile is lost, and not served late. */
  readonly isDeaf?: boolean;
}

export interface SimulationOptions {
  readonly workload: Workload;
  readonly replicas: number;
  readonly limitPerSecond: number;
  readonly burst: number;
  /** Windows of a second in place of a token bucket; the burst is of no account then. */
  readonly algorithm?: WindowAlgorithm;
  readonly seconds: number;
  readonly seed: number;
  readonly roundTripMs: number;
  /** `false` for exact mode. */
  readonly lease: false | { readonly maxDrainMs: number };
  readonly faults?: NetworkFaults;
  /** What goes wrong with beats and reports; as `faults` if left out. */
  readonly wordFaults?: NetworkFaults;
  readonly accidents?: Accidents;
  /** The store answers nobody meanwhile. Replicas then decide by their shares. */
  readonly outage?: OutageSpan;
  /** The store stands still again and again. What is asked of it meanwhile counts for nothing in `utilisation`. */
  readonly stalls?: Stalls;
  /** What each limiter is told by its option `replicas`. Defaults to 1: nothing. */
  readonly toldReplicas?: number;
  /** What goes wrong with calls around the end of the outage, instead of `faults`. */
  readonly returnFaults?: NetworkFaults;
}

/** What one run showed. `over` is in tokens above burst + rate x T in the worst window, or above what a window allows. */
export interface SimulationResult {
  readonly workload: string;
  readonly replicas: number;
  readonly mode: "lease" | "exact";
  readonly seed: number;
  readonly over: number;
  readonly utilisation: number;
  readonly callsPerDecision: number;
  readonly waitP99Ms: number;
  readonly jain: number;
  readonly decisions: number;
  readonly degraded: number;
  readonly outage?: OutageResult;
  /** Probes for each time that the store stood still, by all replicas together. */
  readonly probesPerStall?: number;
}

/** How long before and after the end of an outage `returnFaults` are at work. */
const RETURN_MS = 1500;
/** Each replica is at work for so long at first: enough for it to speak of that, and to be known to have come to an end of it. */
const HELLOS = { everyMs: 3, count: 100 };
const NO_FAULTS: NetworkFaults = { lostRequest: 0, lostReply: 0, doubled: 0 };

interface Replica {
  clock: VirtualClock;
  limiter: RateLimiter;
  alive: boolean;
  offered: number;
  admitted: number;
}

/**
 * Runs real limiters on a virtual clock against one simulated store.
 * @param shares what stands for the script that allots shares; a new one for each run.
 */
export async function simulate(options: SimulationOptions, shares: ShareModel): Promise<SimulationResult> {
  const { random } = Math;
  // The limiter spreads its probes by chance: for a seed to repeat its story, that must be the seed's.
  Math.random = seededRandom(options.seed + 1e6);
  try {
    return await new Simulation(options, shares).run();
  } finally {
    Math.random = random;
  }
}

class Simulation {
  readonly #options: SimulationOptions;
  readonly #random: Random;
  readonly #loop = new VirtualLoop();
  readonly #record: Record;
  readonly #ideal: Ideal;
  readonly #shared: SharedStore;
  readonly #storeClock: VirtualClock;
  readonly #policy: PolicyOptions;
  readonly #replicas: Replica[] = [];
  readonly #waitsMs: number[] = [];
  readonly #outage: OutageRecord | undefined;
  #decisions = 0;
  #degraded = 0;
  #stalls = 0;

  constructor(options: SimulationOptions, shares: ShareModel) {
    this.#options = options;
    this.#random = seededRandom(options.seed);
    this.#storeClock = virtualClock(this.#loop, 0, true);
    const { algorithm, limitPerSecond, burst } = options;
    this.#policy =
      algorithm === undefined
        ? { name: "shared", limit: limitPerSecond, period: "1s", burst }
        : windowPolicy(algorithm, limitPerSecond);
    this.#record =
      algorithm === undefined
        ? new AdmissionRecord(limitPerSecond, burst)
        : windowRecord(algorithm, limitPerSecond, this.#storeClock);
    this.#ideal =
      algorithm === undefined
        ? new IdealBucket(limitPerSecond, burst)
        : new IdealWindow(this.#policy, this.#storeClock);
    const { outage } = options;
    // A call that is lost may be served and then decided again by the share: only what callers are told counts there.
    this.#shared = new SharedStore(this.#storeClock, this.#mayBeAway ? undefined : this.#record, shares);
    this.#outage = outage === undefined ? undefined : new OutageRecord(outage, this.#record, this.#ideal);
    for (let i = 0; i < options.replicas; i++) this.#replicas.push(this.#newReplica());
  }

  async run(): Promise<SimulationResult> {
    const { workload, replicas, limitPerSecond, seconds, seed, lease } = this.#options;
    const endMs = seconds * 1000;
    this.#scheduleAccidents(endMs);
    if (this.#options.stalls !== undefined) this.#scheduleHellos();
    for (const { atMs, replica, cost } of arrivalsOf(workload, replicas, limitPerSecond, endMs, this.#random)) {
      await this.#loop.runUntil(atMs);
      this.#outage?.look(atMs);
      if (!this.#standsStill(atMs)) this.#ideal.offer(atMs, cost);
      this.#offer(this.#replicas[replica] as Replica, cost);
    }
    await this.#loop.runUntil(endMs + 1000);
    return {
      workload: workload.name,
      replicas,
      mode: lease === false ? "exact" : "lease",
      seed,
      over: this.#over,
      utilisation: this.#record.total / this.#ideal.admitted,
      callsPerDecision: this.#shared.calls / Math.max(1, this.#decisions),
      waitP99Ms: percentile(this.#waitsMs, this.#decisions, 0.99),
      jain: jainIndex(this.#replicas.filter(({ offered }) => offered > 20).map((r) => r.admitted / r.offered)),
      decisions: this.#decisions,
      degraded: this.#degraded,
      ...(this.#outage === undefined ? {} : { outage: this.#outage.result() }),
      ...(this.#stalls === 0 ? {} : { probesPerStall: this.#shared.probes / this.#stalls }),
    };
  }

  /** Whether the replicas decide by their shares at times. */
  get #mayBeAway(): boolean {
    return this.#options.outage !== undefined || this.#options.stalls !== undefined;
  }

  #standsStill(nowMs: number): boolean {
    const { stalls } = this.#options;
    if (stalls === undefined || nowMs < stalls.firstMs) return false;
    return (nowMs - stalls.firstMs) % stalls.everyMs < stalls.lastMs;
  }

  /** Where admissions are counted at the replicas, replies that were under way at one time may arrive together. */
  get #over(): number {
    const { limitPerSecond, roundTripMs } = this.#options;
    const underWay = this.#mayBeAway ? (limitPerSecond / 1000) * roundTripMs : 0;
    return Math.max(0, this.#record.over - underWay);
  }

  #newReplica(): Replica {
    const { roundTripMs, lease } = this.#options;
    const clock = virtualClock(this.#loop, Math.floor(this.#random() * 1e6));
    const spread = (): number => roundTripMs * (0.8 + 0.4 * this.#random());
    const store = networkStore(this.#loop, clock, this.#shared, spread, this.#roadFaults, this.#random);
    const limiter = createRateLimiter({
      store,
      clock,
      lease,
      onStoreFailure: this.#mayBeAway ? "backstop" : "closed",
      maxKeys: 10,
      replicas: this.#options.toldReplicas ?? 1,
      policies: this.#policy,
      onStateChange: () => {},
    });
    return { clock, limiter, alive: true, offered: 0, admitted: 0 };
  }

  get #roadFaults(): RoadFaults {
    const { faults = NO_FAULTS, wordFaults = faults, returnFaults = faults, outage } = this.#options;
    const { fromMs, toMs } = outage ?? { fromMs: Number.POSITIVE_INFINITY, toMs: Number.POSITIVE_INFINITY };
    const isReturn = (nowMs: number): boolean => nowMs >= fromMs && Math.abs(nowMs - toMs) < RETURN_MS;
    return {
      calls: (nowMs) => (isReturn(nowMs) ? returnFaults : faults),
      words: wordFaults,
    };
  }

  #offer(replica: Replica, cost: number): void {
    replica.clock.whenAwake(() => {
      if (!replica.alive) return;
      const startMs = this.#loop.nowMs;
      replica.offered += cost;
      const now = replica.limiter.consumeNow("key", { cost });
      if (now !== undefined) this.#decided(replica, now, cost, startMs);
      else void replica.limiter.consume("key", { cost }).then((later) => this.#decided(replica, later, cost, startMs));
    });
  }

  #decided(replica: Replica, decision: Decision, cost: number, startMs: number): void {
    this.#decisions++;
    if (decision.degraded) {
      this.#degraded++;
      this.#outage?.noteDegraded(this.#loop.nowMs);
    }
    const waitMs = this.#loop.nowMs - startMs;
    if (waitMs > 0) this.#waitsMs.push(waitMs);
    if (!decision.allowed || !replica.alive) return;
    replica.admitted += cost;
    // Without an outage, what the store served was recorded when it served it; a leased token is spent now.
    if (decision.source !== "store" || this.#mayBeAway) this.#record.admit(this.#loop.nowMs, cost);
  }

  #scheduleAccidents(endMs: number): void {
    const { accidents, outage } = this.#options;
    if (outage !== undefined) {
      this.#loop.at(outage.fromMs, () => {
        this.#shared.stalled = true;
      });
      this.#loop.at(outage.toMs, () => {
        this.#shared.stalled = false;
      });
    }
    this.#scheduleStalls(endMs);
    if (accidents === undefined) return;
    const plan = (perSecond: number, run: () => void): void => {
      for (let n = Math.round(perSecond * this.#options.seconds); n > 0; n--)
        this.#loop.at(this.#random() * endMs, run);
    };
    const anyIndex = (): number => Math.floor(this.#random() * this.#replicas.length);
    plan(accidents.crashes, () => {
      const index = anyIndex();
      (this.#replicas[index] as Replica).alive = false;
      this.#replicas[index] = this.#newReplica();
    });
    plan(accidents.sleeps, () => {
      const { clock } = this.#replicas[anyIndex()] as Replica;
      const stoodStill = this.#random() < 0.5;
      clock.sleep();
      this.#loop.after(20 + this.#random() * 1000, () => clock.wake(stoodStill));
    });
    // Backward only: a step forward may add what it skips, as the guarantee states.
    plan(accidents.clockSteps, () => this.#storeClock.step(-this.#random() * 2000));
    plan(accidents.stalls, () => {
      this.#shared.stalled = true;
      this.#loop.after(this.#random() * 300, () => {
        this.#shared.stalled = false;
      });
    });
  }

  /** Each replica is at work for a moment, so that the store has heard of all of them. */
  #scheduleHellos(): void {
    for (let i = 1; i <= HELLOS.count; i++)
      this.#loop.at(i * HELLOS.everyMs, () => {
        for (const { limiter } of this.#replicas) void limiter.consume("hello");
      });
  }

  #scheduleStalls(endMs: number): void {
    const { stalls } = this.#options;
    if (stalls === undefined) return;
    const shared = this.#shared;
    for (let atMs = stalls.firstMs; atMs < endMs; atMs += stalls.everyMs) {
      this.#stalls++;
      this.#loop.at(atMs, () => {
        if (stalls.isDeaf === true) shared.stalled = true;
        else shared.standStill();
      });
      this.#loop.at(atMs + stalls.lastMs, () => {
        shared.stalled = false;
        shared.wake();
      });
    }
  }
}

function percentile(sample: readonly number[], of: number, fraction: number): number {
  const sorted = [...sample].sort((a, b) => a - b);
  const rank = Math.floor(of * fraction) - (of - sorted.length);
  return rank < 0 ? 0 : (sorted[Math.min(rank, sorted.length - 1)] ?? 0);
}

/** Jain's fairness index: 1 when all are treated alike, 1/n when one gets everything. */
function jainIndex(ratios: readonly number[]): number {
  const sum = ratios.reduce((a, b) => a + b, 0);
  const squares = ratios.reduce((a, b) => a + b * b, 0);
  return squares === 0 ? 1 : (sum * sum) / (ratios.length * squares);
}
