import assert from "node:assert/strict";
import { blockedUs } from "../../packages/spillway/src/algorithms/block.ts";
import { algorithmOf } from "../../packages/spillway/src/algorithms/bucket.ts";
import { type Policy, resolvePolicy } from "../../packages/spillway/src/policy.ts";
import { refusedCosts } from "../../packages/spillway/src/stores/refused-costs.ts";
import type {
  BucketAddress,
  LeaseReport,
  PeekReply,
  Store,
  TakeCall,
  TakeReply,
} from "../../packages/spillway/src/stores/store.ts";
import { type ModelReply, ModelStore, told } from "./model-store.ts";
import type { BucketPlan, CostPlan, GapPlan, ReportPlan } from "./plans.ts";
import type { Setup } from "./setups.ts";
import type { RedisRecord } from "./timed-redis.ts";

/** A store and what only its test can do to it. */
export interface Driver {
  readonly store: Store;
  readonly prefix: string;
  /** Whether its buckets expire. */
  readonly expires: boolean;
  /** Its time now. Exact on a test clock, about right on a real one. */
  nowUs(): number;
  /** Lets time pass, or sets the clock back where that can be done. */
  move(us: number): Promise<void> | void;
  records?(keys: readonly string[]): Promise<Map<string, RedisRecord>>;
  spoil?(address: BucketAddress, bytes: Buffer | "list"): Promise<void>;
}

/** Beyond this, a time in microseconds would lose its last digit. */
const LATEST_US = 8e15;
const EARLIEST_US = 1e15;
/** Twelve days: so that deaths stay below 2^53 too. */
const LONGEST_LEASE_US = 1e12;

interface KnownLease {
  readonly address: BucketAddress;
  readonly id: number;
}

/** A store beside its model: plans become calls, and each reply is held against the model's. */
export class World {
  readonly driver: Driver;
  readonly model: ModelStore;
  readonly #policies: readonly (readonly Policy[])[];
  readonly #leases: KnownLease[] = [];

  constructor(driver: Driver, setup: Setup) {
    this.driver = driver;
    this.model = new ModelStore(driver.prefix, driver.expires);
    this.#policies = setup.map((configs) => configs.map((options) => resolvePolicy(options, options.name)));
  }

  get store(): Store {
    return this.driver.store;
  }

  addressOf({ key, name, config }: BucketPlan): BucketAddress {
    return { key: `key-${key}`, policy: this.#policies[name]?.[config] as Policy };
  }

  /** Lets the planned time pass for a bucket. Returns how much it was. */
  async pass(plan: GapPlan, address: BucketAddress): Promise<number> {
    const nowUs = this.driver.nowUs();
    const us = this.#gapUs(plan, address, nowUs);
    const inRange = nowUs + us < LATEST_US && nowUs + us > EARLIEST_US;
    const movedUs = inRange ? us : us % 1000;
    if (movedUs !== 0) await this.driver.move(movedUs);
    return movedUs;
  }

  #gapUs(plan: GapPlan, address: BucketAddress, nowUs: number): number {
    const { shape } = address.policy;
    switch (plan.until) {
      case "pass":
        return plan.us;
      case "back":
        return -plan.us;
      case "part of full":
        return Math.round(plan.part * (shape.kind === "token-bucket" ? shape.fullUs : shape.periodUs));
      case "ticks":
        return Math.max(0, plan.ticks * (shape.kind === "token-bucket" ? shape.tickUs : shape.periodUs) + plan.offUs);
      case "key expires": {
        const deathMs = this.model.deathMsOf(address);
        return deathMs === undefined || !this.driver.expires ? 0 : Math.max(0, (deathMs + plan.offMs) * 1000 - nowUs);
      }
      default: {
        const state = this.model.stateAt(address, nowUs);
        if (state === undefined) return 0;
        if (plan.until === "cost fits") {
          const waitUs = algorithmOf(shape).waitUs(state, shape, this.costOf(plan.cost, address), nowUs);
          const us = Math.max(waitUs, blockedUs(state, nowUs));
          return Number.isFinite(us) ? Math.max(0, us + plan.offUs) : 1;
        }
        // What is on lease of a window ends with it.
        if (state.kind === "fixed-window" || state.kind === "sliding-window-counter")
          return Math.max(0, state.startUs + (shape as { periodUs: number }).periodUs - nowUs + plan.offUs);
        if (state.kind !== "token-bucket") return 0;
        const escrow = state.older.tokens > 0 ? state.older : state.newer;
        return escrow.tokens > 0 ? Math.max(0, escrow.deathUs - nowUs + plan.offUs) : 1;
      }
    }
  }

  costOf(plan: CostPlan, address: BucketAddress): number {
    if (plan.of === "tokens") return plan.tokens;
    const { shape } = address.policy;
    const state = this.model.stateAt(address, this.driver.nowUs());
    const isFull = plan.of === "capacity" || state === undefined;
    const tokens = isFull ? algorithmOf(shape).capacity(shape) : algorithmOf(shape).remaining(state, shape);
    return Math.max(0, tokens + plan.off);
  }

  /** @param timed the bucket that the life is a part of the time to full of. */
  reportOf(plan: ReportPlan, address: BucketAddress, timed: BucketAddress = address): LeaseReport {
    const { wish, life, demand, weight, settlements } = plan;
    const { shape } = timed.policy;
    const fullUs = shape.kind === "token-bucket" ? shape.fullUs : shape.periodUs;
    const known = this.#leases.filter((lease) => this.model.keyOf(lease.address) === this.model.keyOf(address));
    return {
      wish: this.costOf(wish, address),
      lifeUs: "us" in life ? life.us : Math.min(Math.ceil(life.partOfFull * fullUs), LONGEST_LEASE_US),
      demand,
      weight,
      settlements: settlements.map((settlement) => ({
        id:
          (settlement.known && known[known.length - 1 - (settlement.pick % (known.length || 1))]?.id) ||
          settlement.pick,
        settled: this.costOf(settlement.settled, address),
        returned: settlement.returned,
      })),
    };
  }

  async take(call: TakeCall): Promise<TakeReply> {
    const reply = await this.store.take(call);
    this.#compare(reply, this.model.take(call, reply.nowUs), call.buckets, refusedCosts(call, reply.served));
    for (const [index, reading] of reply.buckets.entries()) {
      const { key, policy } = call.buckets[index] as BucketAddress;
      if (reading.kind === "state" && reading.lease !== undefined && reading.lease.tokens > 0)
        this.#leases.push({ address: { key, policy }, id: reading.lease.id });
    }
    return reply;
  }

  async peek(addresses: readonly BucketAddress[]): Promise<void> {
    const reply = await this.store.peek(addresses);
    this.#compare(reply, this.model.peek(addresses, reply.nowUs), addresses);
  }

  async adjust(address: BucketAddress, tokens: number): Promise<void> {
    const adjustments = [{ ...address, tokens }];
    const reply = await this.store.adjust(adjustments);
    this.#compare(reply, this.model.adjust(adjustments, reply.nowUs), adjustments);
  }

  async block(address: BucketAddress, durationUs: number): Promise<void> {
    const reply = await this.store.block([address], durationUs);
    this.#compare(reply, this.model.block([address], durationUs, reply.nowUs), [address]);
  }

  /** A reset tells no time, but where the clock stands still a peek after it does. */
  async reset(address: BucketAddress): Promise<void> {
    await this.store.reset([address]);
    const { nowUs } = await this.store.peek([address]);
    this.model.reset([address], nowUs);
  }

  #compare(
    reply: PeekReply | TakeReply,
    expected: ModelReply,
    addresses: readonly BucketAddress[],
    costs: readonly (readonly number[])[] = [],
  ): void {
    const tell = (reading: Parameters<typeof told>[0], i: number): ReturnType<typeof told> =>
      told(reading, (addresses[i] as BucketAddress).policy.shape, costs[i] ?? []);
    const served = "served" in reply ? reply.served : undefined;
    assert.deepEqual(
      { buckets: reply.buckets.map(tell), served },
      { buckets: expected.buckets.map(tell), served: expected.served },
    );
  }

  /** Holds every stored value and its life against the model's, number by number. */
  async compareStored(): Promise<void> {
    if (this.driver.records === undefined) return;
    const expected = this.model.records();
    const records = await this.driver.records([...expected.keys()]);
    for (const [key, wanted] of expected) assert.deepEqual(records.get(key), wanted, `what ${key} holds`);
  }
}
