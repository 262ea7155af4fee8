import { algorithmOf, type BucketState } from "../../packages/spillway/src/algorithms/bucket.ts";
import { type LeasableWindowShape, leasedOfWindow } from "../../packages/spillway/src/algorithms/window-lease.ts";
import type { Policy } from "../../packages/spillway/src/policy.ts";
import type { BucketAddress, TakeBucket, TakeCall, TakeReply } from "../../packages/spillway/src/stores/store.ts";
import { Broken } from "./broken.ts";
import type { HolderClock } from "./lease-clock.ts";
import { gaugeOf, lifeOf, longestWaitUs, standingOf, unitsOn } from "./lease-gauges.ts";
import { type Gauge, Meter } from "./lease-meter.ts";
import type { LeaseRandom } from "./lease-random.ts";
import type { StoreRules } from "./lease-rules.ts";
import { hasTwoPeriods, type RunSetup } from "./lease-setups.ts";
import { LeaseStore, type Operation, shapeOf } from "./lease-store.ts";
import { describeOperation } from "./lease-story.ts";
import { TwoPeriodsGauge, type WindowGauge } from "./lease-window-meter.ts";
import { requireSound } from "./lease-written.ts";

/** The store's clock at the start: sixteen digits, as they are. */
const START_US = 1_791_187_200_123_456;
const KEY = "k";

interface Message {
  readonly atUs: number;
  readonly run: () => void;
}

/** Tokens that were leased and whose reply is still on its way to somebody who may spend them. */
interface Claim {
  readonly bucket: number;
  readonly tokens: number;
  readonly untilUs: number;
  readonly generation: number;
}

/** Whoever holds leased tokens of a bucket, for sure and spendable at once. */
export interface TokenHolder {
  readonly clock: HolderClock;
  certain(bucket: number): number;
}

export interface WorldOptions {
  readonly rules: StoreRules;
  readonly tell?: ((event: string) => void) | undefined;
  readonly onOperation?: ((operation: Operation, store: LeaseStore) => void) | undefined;
}

/** How a call is answered. */
export interface Delivery {
  /** How much of its life the receiver may spend a lease in; 0 when it can be any or none. */
  readonly lifePart: number;
  onReply(reply: TakeReply): void;
}

/** One store, its clock, the way to it, and a meter on each bucket: what every holder of a run shares. */
export class LeaseWorld {
  readonly setup: RunSetup;
  readonly store: LeaseStore;
  readonly holders: TokenHolder[] = [];
  readonly meters: Gauge[];
  /** Tells a story of the run; nobody listens in most. */
  readonly tell: ((event: string) => void) | undefined;
  /** The policies that are in use, by bucket. */
  readonly #configs: (readonly Policy[])[];
  /** True time since the start. */
  nowUs = 0;
  /** Of the current step. */
  readonly random: LeaseRandom;
  readonly rules: StoreRules;
  /** How often each bucket was lost. */
  readonly generations: number[];
  longestLifeUs = 0;
  /** Whether a bucket's bound was reached. */
  isFull = false;
  /** Leased tokens that were spent. */
  spent = 0;
  calls = 0;
  #storeOffsetUs = START_US;
  #isStoreClockBack = false;
  /** Whether each call takes a microsecond of the server's time. */
  readonly #isBusyServer: boolean;
  /** Of leases of windows. */
  readonly #windowLeaseIds = new Set<number>();
  readonly #messages: Message[] = [];
  readonly #claims = new Set<Claim>();
  /** Tokens above the burst that a doubled delivery may cost, in meter units. */
  readonly #allowances: number[];
  #isWatchful = false;
  #failure: unknown;

  constructor(setup: RunSetup, random: LeaseRandom, { rules, tell, onOperation }: WorldOptions) {
    this.setup = setup;
    this.random = random;
    this.rules = rules;
    this.tell = tell;
    this.#configs = setup.buckets.map(({ configs }) => configs);
    this.meters = setup.buckets.map(({ configs }) => gaugeOf(configs, setup.weights.storeClockBack === 0));
    this.#isBusyServer = setup.buckets.some(hasTwoPeriods);
    this.generations = setup.buckets.map(() => 0);
    this.#allowances = setup.buckets.map(() => 0);
    this.store = new LeaseStore(rules, {
      onWrite: (address, state) => {
        requireSound(address, state, (setup.buckets[0]?.configs.length ?? 1) > 1);
        this.#noteWindow(address, state);
        if ("lease" in state && state.lease !== undefined) this.#windowLeaseIds.add(state.lease.id);
      },
      onOperation: (operation, store) => {
        this.tell?.(describeOperation(operation, this.storeUs - this.nowUs));
        onOperation?.(operation, store);
      },
    });
  }

  get storeUs(): number {
    return this.nowUs + this.#storeOffsetUs;
  }

  setStoreClockBack(us: number): void {
    this.#storeOffsetUs -= us;
    this.#isStoreClockBack = true;
    this.#avoidKnownId();
    for (const meter of this.meters) if ("stretch" in meter) (meter as WindowGauge).stretch(us);
  }

  addressOf(bucket: number, config: number): BucketAddress {
    const { configs } = this.setup.buckets[bucket] as RunSetup["buckets"][number];
    return { key: KEY, policy: configs[config % configs.length] as Policy };
  }

  /** Index of the bucket that an address means. */
  bucketOf({ policy }: BucketAddress): number {
    return this.setup.buckets.findIndex(({ configs }) => configs[0]?.name === policy.name);
  }

  /** Leased tokens are spent. */
  admit(bucket: number, tokens: number): void {
    if (tokens > 0) this.tell?.(`${tokens} leased tokens of bucket ${bucket} are spent`);
    this.spent += tokens;
    const meter = this.meters[bucket] as Gauge;
    meter.passTo(this.nowUs);
    meter.admit(tokens);
    this.check(bucket);
  }

  /** A refund of what was admitted before. */
  giveBack(bucket: number, tokens: number): void {
    const meter = this.meters[bucket] as Gauge;
    meter.passTo(this.nowUs);
    meter.giveBack(tokens);
  }

  /** After a reset the bound holds anew. */
  forget(bucket: number): void {
    (this.meters[bucket] as Gauge).clear();
  }

  /** The bucket is lost with the server that had it: the price is a fresh burst, and what is out on lease. */
  lose(bucket: number): void {
    this.store.lose(this.addressOf(bucket, 0));
    this.generations[bucket] = (this.generations[bucket] as number) + 1;
    this.forget(bucket);
  }

  /**
   * All go over to the new policy of a bucket for good. From then on the new bound holds, or the escrow at the change where
   * that is more.
   */
  deploy(bucket: number): void {
    const address = this.addressOf(bucket, 1);
    const shape = shapeOf(address);
    this.store.take({ buckets: [{ ...address, report: undefined }], runs: [] }, this.storeUs);
    const { older, newer } = this.store.bucketAt(address, this.storeUs);
    this.#configs[bucket] = [address.policy];
    this.meters[bucket] = new Meter([shape], this.nowUs, older.tokens + newer.tokens);
  }

  /** Keeps what went wrong where nobody could catch it. */
  fail(error: unknown): void {
    this.#failure ??= error;
  }

  /** Throws what went wrong out of sight. */
  rethrow(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Sends a call, which fares as the weather has it. */
  send(call: TakeCall, { lifePart, onReply }: Delivery, atOnce = false): void {
    const { random } = this;
    const { lostRequest, lostReply, doubled, slow, slowUs } = this.setup.weather;
    for (const { report } of call.buckets) this.longestLifeUs = Math.max(this.longestLifeUs, report?.lifeUs ?? 0);
    const sentUs = this.nowUs;
    const delayUs = (): number => (!atOnce && random.chance(slow) ? random.whole(0, slowUs) : 0);
    const [there, again, back] = [delayUs(), 1 + delayUs(), delayUs()];
    if (!atOnce && random.chance(lostRequest)) return;
    const isDoubled = random.chance(doubled);
    const isLost = !atOnce && random.chance(lostReply);
    this.#at(sentUs + there, () => {
      const reply = this.#execute(call);
      if (isDoubled) this.#at(this.nowUs + again, () => this.#executeAgain(call));
      if (isLost) return;
      const claims = lifePart > 0 ? this.#claimsOf(call, reply, sentUs, lifePart) : [];
      for (const claim of claims) this.#claims.add(claim);
      this.#at(this.nowUs + back, () => {
        for (const claim of claims) this.#claims.delete(claim);
        onReply(reply);
      });
    });
  }

  /** What happens at once happens now; the rest when its time has come. */
  #at(atUs: number, run: () => void): void {
    if (atUs <= this.nowUs) run();
    else this.#messages.push({ atUs, run });
  }

  #execute(call: TakeCall): TakeReply {
    this.calls++;
    // The id of a window's lease is its microsecond, and an aligned window may end in the one in which it began.
    if (this.#isBusyServer) this.nowUs++;
    const reply = this.store.take(call, this.storeUs);
    for (const [i, reading] of reply.buckets.entries()) {
      const { policy, ...address } = call.buckets[i] as TakeBucket;
      const gauge = this.meters[this.bucketOf({ ...address, policy })];
      if (gauge instanceof TwoPeriodsGauge && reading.kind === "state")
        gauge.granted(reading.lease?.tokens ?? 0, policy.periodUs);
    }
    for (const [run, { charges }] of call.runs.entries())
      for (const { bucket, cost } of charges) {
        const meter = this.meters[this.bucketOf(call.buckets[bucket] as BucketAddress)] as Gauge;
        meter.passTo(this.nowUs);
        meter.admit((reply.served[run] as number) * cost);
      }
    return reply;
  }

  /** What a second delivery serves or leases, nobody gets; what it settles, it settles once too often. */
  #executeAgain(call: TakeCall): void {
    for (const { report, ...address } of call.buckets) {
      const bucket = this.bucketOf(address);
      const settled = report?.settlements.reduce((sum, settlement) => sum + settlement.settled, 0) ?? 0;
      (this.#allowances[bucket] as number) += settled * (this.meters[bucket] as Gauge).unitsPerToken;
    }
    this.store.take(call, this.storeUs);
  }

  #claimsOf(call: TakeCall, reply: TakeReply, sentUs: number, lifePart: number): Claim[] {
    return call.buckets.flatMap((address, i) => {
      const reading = reply.buckets[i];
      const tokens = reading?.kind === "state" ? (reading.lease?.tokens ?? 0) : 0;
      if (tokens <= 0) return [];
      const bucket = this.bucketOf(address);
      const lifeUs = reading?.kind === "state" ? lifeOf(reading.state, address, reply.nowUs) : 0;
      const untilUs = sentUs + Math.floor(lifeUs * lifePart);
      return [{ bucket, tokens, untilUs, generation: this.generations[bucket] as number }];
    });
  }

  /** Lets time pass. Messages arrive and timers run when they are due. */
  async pass(us: number): Promise<void> {
    const untilUs = this.nowUs + us;
    await this.settleDown();
    for (;;) {
      let next: Message | undefined;
      for (const message of this.#messages) if (next === undefined || message.atUs < next.atUs) next = message;
      let clock: HolderClock | undefined;
      let atUs = next?.atUs ?? Number.POSITIVE_INFINITY;
      for (const holder of this.holders) {
        const dueUs = holder.clock.nextDueUs;
        if (dueUs < atUs) [clock, atUs] = [holder.clock, dueUs];
      }
      if (atUs > untilUs) break;
      this.nowUs = Math.max(this.nowUs, atUs);
      this.#avoidKnownId();
      if (clock !== undefined) clock.runDueTimer();
      else if (next !== undefined) {
        this.#messages.splice(this.#messages.indexOf(next), 1);
        next.run();
      }
      await this.settleDown();
    }
    this.nowUs = Math.max(this.nowUs, untilUs);
    this.#avoidKnownId();
    await this.settleDown();
  }

  /** Decision 0014 excepts leases that begin in one microsecond of a clock which was set back between. */
  #avoidKnownId(): void {
    while (this.#isStoreClockBack && this.#windowLeaseIds.has(this.storeUs)) this.nowUs++;
  }

  /** Promises settle, turns of event loops end. */
  async settleDown(): Promise<void> {
    if (!this.#isWatchful) return;
    for (let more = true; more; ) {
      for (let hop = 0; hop < 8; hop++) await undefined;
      more = false;
      for (const { clock } of this.holders) if (clock.endTurn()) more = true;
    }
  }

  /** From now on there is code with promises among the holders. */
  watchPromises(): void {
    this.#isWatchful = true;
  }

  /** The bound, and that it cannot be passed in the next instant either: by whatever is held, and whatever the shelf has. */
  check(bucket: number): void {
    const meter = this.meters[bucket] as Gauge;
    meter.passTo(this.nowUs);
    const allowance = this.#allowances[bucket] as number;
    if (meter.level === meter.capacity) this.isFull = true;
    if (meter.level > meter.capacity + allowance)
      throw new Broken(this.#over("admitted", bucket, meter.level - meter.capacity));
    let held = 0;
    for (const holder of this.holders) held += holder.certain(bucket);
    for (const claim of this.#claims) {
      const isCurrent = claim.generation === this.generations[bucket];
      if (claim.bucket === bucket && claim.untilUs > this.nowUs && isCurrent) held += claim.tokens;
    }
    for (const policy of this.#configs[bucket] as readonly Policy[]) {
      const state = this.store.stateAt({ key: KEY, policy }, this.storeUs);
      const { level, capacity } = standingOf(meter, state, this.nowUs - this.storeUs);
      const within = level + unitsOn(state, policy, meter) + held * meter.unitsPerToken;
      if (within > capacity + allowance)
        throw new Broken(this.#over("admitted, held and on the shelf", bucket, within - capacity));
    }
  }

  #over(what: string, bucket: number, units: number): string {
    const over = (units - (this.#allowances[bucket] as number)) / (this.meters[bucket] as Gauge).unitsPerToken;
    return `${over} tokens over in bucket ${bucket} at ${this.nowUs} us: ${what}`;
  }

  /** A gauge of a window has to know when the window ends. */
  #noteWindow(address: BucketAddress, state: BucketState): void {
    if (!("startUs" in state)) return;
    const gauge = this.meters[this.bucketOf(address)] as WindowGauge;
    gauge.passTo(this.nowUs);
    const shape = address.policy.shape as LeasableWindowShape;
    const startUs = this.nowUs + state.startUs - this.storeUs;
    const diesUs = this.nowUs + ((this.store.deathMsOf(address) as number) + 1) * 1000 - this.storeUs;
    gauge.wrote({ startUs, endUs: startUs + shape.periodUs, diesUs, leased: leasedOfWindow(state) });
  }

  /** Has the store look at a bucket: the time of a clock that was set back counts from then on. */
  touch(bucket: number): void {
    this.store.take({ buckets: [{ ...this.addressOf(bucket, 0), report: undefined }], runs: [] }, this.storeUs);
  }

  /** A bucket that was left alone long enough is as if unused: nothing that was lost or forgotten is missing. */
  checkFull(bucket: number): void {
    const { configs } = this.setup.buckets[bucket] as RunSetup["buckets"][number];
    // A probe of a holder with a smaller burst cuts the level of a larger one at any time.
    const policy = configs.reduce((least, other) => (other.capacity < least.capacity ? other : least));
    const address = { key: KEY, policy };
    const { shape } = policy;
    if (shape.kind !== "token-bucket") {
      for (const each of configs) this.#checkFresh(bucket, each);
      return;
    }
    const { level, older, newer } = this.store.bucketAt(address, this.storeUs);
    if (level !== shape.burst * shape.unitsPerToken || older.tokens + newer.tokens > 0)
      throw new Broken(`bucket ${bucket} at rest: level ${level}, ${older.tokens} and ${newer.tokens} on lease`);
  }

  #checkFresh(bucket: number, policy: Policy): void {
    const { shape } = policy;
    const state = this.store.stateAt({ key: KEY, policy }, this.storeUs);
    if (algorithmOf(shape).remaining(state, shape) !== algorithmOf(shape).capacity(shape) || "lease" in state)
      throw new Broken(`bucket ${bucket} at rest: ${JSON.stringify(state)}`);
  }

  /** Whoever is refused is told a wait that is true, and not longer than time to full and the longest lease. */
  checkWait(bucket: number, cost: number): void {
    const address = { key: KEY, policy: this.addressOf(bucket, 0).policy };
    const { shape, capacity } = address.policy;
    const state = this.store.stateAt(address, this.storeUs);
    const waitUs = this.rules.waitUs(state, shape, cost, this.storeUs);
    if (waitUs > longestWaitUs(state, shape, this.longestLifeUs))
      throw new Broken(`a wait of ${waitUs} us for ${cost} of ${capacity}`);
    this.rules.advance(state, shape, this.storeUs + waitUs, shape);
    if (!algorithmOf(shape).fits(state, shape, cost))
      throw new Broken(`${cost} do not fit after the ${waitUs} us that were told`);
  }
}
