import { algorithmOf } from "../../packages/spillway/src/algorithms/bucket.ts";
import type { BucketAddress } from "../../packages/spillway/src/stores/store.ts";
import { type CallPlan, PurseHolder } from "./lease-holders.ts";
import { LimiterHolder, type LimiterTwin } from "./lease-limiter.ts";
import type { ShelfMaker } from "./lease-purse.ts";
import type { HolderSetup, StepKind } from "./lease-setups.ts";
import type { LeaseWorld } from "./lease-world.ts";

export type Holder = PurseHolder | LimiterHolder;

/** Broken twins of what holders do. */
export interface HolderTwins {
  readonly shelf?: ShelfMaker;
  /** Spends what it leased for as long as it asked for, though the window ends before. */
  readonly outlivesWindows?: boolean;
  readonly limiter?: LimiterTwin;
}

/** Longer than any bucket takes from its deepest debt to full, and than any lease lives. */
const LONG_REST_US = 4_000_000;

/** Carries out the steps of a run; each says what it came to. */
export class LeaseSteps {
  readonly #world: LeaseWorld;
  readonly #twins: HolderTwins;
  readonly #holders: Holder[] = [];
  #deployed = false;

  constructor(world: LeaseWorld, twins: HolderTwins) {
    this.#world = world;
    this.#twins = twins;
    const deploys = world.setup.weights.deploy > 0;
    for (const setup of world.setup.holders) this.#join(this.#newHolder(setup, deploys ? 0 : world.random.whole(0, 1)));
  }

  /** One step. Its randomness is the world's, restarted for it. What it came to is told. */
  async run(kind: StepKind): Promise<void> {
    const world = this.#world;
    const said = await this.#steps[kind]();
    world.tell?.(said ?? kind);
    await world.settleDown();
    for (let bucket = 0; bucket < world.setup.buckets.length; bucket++) {
      world.check(bucket);
      world.checkWait(bucket, 1 + ((world.nowUs + bucket) % world.addressOf(bucket, 0).policy.capacity));
    }
    world.rethrow();
  }

  /** What must hold when all has come to rest: everybody answered, nothing held, no timer left. */
  async end(): Promise<void> {
    const world = this.#world;
    for (const holder of this.#holders)
      if (holder.clock.isAsleep && holder instanceof PurseHolder) holder.clock.wake(false, true);
    const limiters = this.#holders.filter((holder) => holder instanceof LimiterHolder);
    for (const limiter of limiters) limiter.clock.wake(false, true);
    for (let bucket = 0; bucket < world.setup.buckets.length; bucket++) world.touch(bucket);
    await world.pass(LONG_REST_US);
    for (let bucket = 0; bucket < world.setup.buckets.length; bucket++) world.checkFull(bucket);
    for (const limiter of limiters) {
      limiter.requireAnswered();
      if (limiter.isHealthy && limiter.pendingTimers > 0)
        throw new Error(`${limiter.pendingTimers} timers of an idle limiter`);
    }
    for (const limiter of limiters) await limiter.close();
    for (let bucket = 0; bucket < world.setup.buckets.length; bucket++) world.check(bucket);
    world.rethrow();
  }

  #newHolder(setup: HolderSetup, config: number): Holder {
    if (setup.kind === "limiter") return new LimiterHolder(this.#world, setup, config, this.#twins.limiter);
    return new PurseHolder(this.#world, setup, config, this.#twins);
  }

  #join(holder: Holder): void {
    this.#holders.push(holder);
    this.#world.holders.push(holder);
  }

  #any(): Holder {
    return this.#world.random.pick(this.#holders);
  }

  #cost(holder: Holder): number {
    const { random } = this.#world;
    const address = this.#world.addressOf(holder.setup.buckets[0] as number, holder.config);
    const burst = address.policy.capacity;
    return random.chance(0.5)
      ? 1
      : random.chance(0.8)
        ? random.whole(1, Math.ceil(burst / 2))
        : random.whole(0, burst + 1);
  }

  /** What is on the shelf now, for who wants all of it. */
  #remaining(bucket: number, config: number): number {
    const address = this.#world.addressOf(bucket, config);
    const state = this.#world.store.stateAt(address, this.#world.storeUs);
    return algorithmOf(address.policy.shape).remaining(state, address.policy.shape);
  }

  #call(plan: CallPlan): string {
    const holder = this.#any();
    if (holder instanceof LimiterHolder) {
      for (const cost of plan.asks.length > 0 ? plan.asks : [1]) holder.ask(cost);
      return `${this.#name(holder)} is asked for ${plan.asks.join(", ") || "nothing"}`;
    }
    holder.call(plan);
    const parts = [
      plan.reports && "reports",
      plan.wishes && "wishes",
      plan.asks.length > 0 && `asks ${plan.asks.join(", ")}`,
    ];
    return `${this.#name(holder)} ${parts.filter(Boolean).join(", ")}`;
  }

  #name(holder: Holder): string {
    return `${holder.setup.kind} ${this.#holders.indexOf(holder)}`;
  }

  /** Everybody spends all they hold, and one takes what is on the shelf. */
  #takeEverything(): void {
    for (const holder of this.#holders) {
      if (holder instanceof LimiterHolder) holder.spendAll(1);
      else holder.spend(holder.spendable);
    }
    this.#takeShelves();
  }

  #takeShelves(): void {
    const takers = this.#holders.filter((holder) => holder instanceof PurseHolder && !holder.clock.isAsleep);
    const taker = takers[0];
    if (!(taker instanceof PurseHolder)) return;
    const least = Math.min(...taker.setup.buckets.map((bucket) => this.#remaining(bucket, taker.config)));
    if (least > 0) taker.call({ asks: [least], wishes: false, reports: false, atOnce: true });
  }

  #deathOf(holder: Holder): number | undefined {
    if (holder instanceof PurseHolder) return holder.nextDeathUs();
    return undefined;
  }

  /** Until a lease, or the escrow that counts it, is about to die. */
  async #waitForDeath(offUs: number): Promise<string> {
    const world = this.#world;
    const deaths = this.#holders.map((holder) => this.#deathOf(holder)).filter((us) => us !== undefined);
    if (deaths.length === 0 || world.random.chance(0.3)) {
      const address = world.addressOf(world.random.whole(0, world.setup.buckets.length - 1), 0);
      const state = world.store.stateAt(address, world.storeUs);
      if (state.kind === "token-bucket") {
        const { older, newer } = state;
        const escrow = older.tokens > 0 && world.random.chance(0.7) ? older : newer;
        if (escrow.tokens > 0) deaths.push(world.nowUs + escrow.deathUs - world.storeUs);
      } else if ("startUs" in state) deaths.push(world.nowUs + state.startUs + fullUsOf(address) - world.storeUs);
    }
    if (deaths.length === 0) return await this.#wait(world.random.whole(1, 3000));
    return await this.#wait(Math.max(0, world.random.pick(deaths) + offUs - world.nowUs));
  }

  async #wait(us: number): Promise<string> {
    await this.#world.pass(us);
    return `${us} us pass`;
  }

  readonly #steps: Readonly<Record<StepKind, () => Promise<string | undefined> | string | undefined>> = {
    wait: () => {
      const { random } = this.#world;
      const fullUs = fullUsOf(this.#world.addressOf(0, 0));
      return this.#wait(random.whole(1, random.pick([50, 1000, fullUs / 4, fullUs / 4, fullUs])));
    },
    waitForDeath: () => this.#waitForDeath(this.#world.random.whole(-1, 1)),
    waitForExpiry: () => {
      const { random } = this.#world;
      const world = this.#world;
      const address = world.addressOf(random.whole(0, world.setup.buckets.length - 1), 0);
      const diesMs = world.store.deathMsOf(address);
      const us = diesMs === undefined ? 1 : (diesMs + random.whole(0, 1)) * 1000 - world.storeUs;
      return this.#wait(Math.max(0, us + random.whole(-1, 1)));
    },
    take: () => {
      const { random } = this.#world;
      const holder = this.#holders[0] as Holder;
      const asks = Array.from({ length: random.whole(1, 3) }, () => this.#cost(holder));
      return this.#call({ asks, wishes: random.chance(0.3), reports: random.chance(0.5) });
    },
    takeAll: () => {
      this.#takeShelves();
      return "one takes what is on the shelf";
    },
    lease: () => this.#call({ asks: [], wishes: true, reports: this.#world.random.chance(0.3) }),
    report: () => this.#call({ asks: [], wishes: false, reports: true }),
    spend: () => {
      const holder = this.#any();
      if (holder instanceof LimiterHolder) holder.ask(1);
      else holder.spend(this.#world.random.whole(0, holder.spendable));
      return `${this.#name(holder)} spends some`;
    },
    spendAll: () => {
      const holder = this.#any();
      if (holder instanceof LimiterHolder) holder.spendAll(1);
      else holder.spend(holder.spendable);
      return `${this.#name(holder)} spends all`;
    },
    burst: () => {
      const holder = this.#any();
      const [count, cost] = [this.#world.random.whole(2, 8), this.#cost(holder)];
      if (holder instanceof LimiterHolder) {
        for (let n = 0; n < count; n++) holder.ask(cost);
        if (this.#world.random.chance(0.2)) holder.askInVain(cost);
      }
      if (holder instanceof PurseHolder) holder.call({ asks: Array(count).fill(cost), wishes: true, reports: true });
      return `${this.#name(holder)} is asked ${count} times for ${cost} at once`;
    },
    stream: async () => {
      const { random } = this.#world;
      const holder = this.#any();
      const address = this.#world.addressOf(holder.setup.buckets[0] as number, holder.config);
      const [fullUs, burst] = [fullUsOf(address), address.policy.capacity];
      // From less than comes in to several times that.
      const gapUs = (fullUs / burst) * random.pick([0.1, 0.5, 1, 2]);
      const count = random.whole(3, holder instanceof LimiterHolder ? 30 : 6);
      const cost = random.chance(0.8) ? 1 : this.#cost(holder);
      for (let n = 0; n < count; n++) {
        await this.#world.pass(random.whole(0, gapUs));
        if (holder instanceof LimiterHolder) holder.ask(cost);
        else if (holder.spendable >= cost) holder.spend(cost);
        else holder.call({ asks: [cost], wishes: true, reports: true });
      }
      return `${this.#name(holder)} is asked ${count} times for ${cost} within ${Math.round(count * gapUs)} us`;
    },
    lastMoment: async () => {
      const said = await this.#waitForDeath(-1);
      this.#takeEverything();
      return `${said}, then everybody spends all and one takes all`;
    },
    reportLate: async () => {
      const holder = this.#any();
      if (holder instanceof LimiterHolder) return;
      holder.spend(holder.spendable);
      const said = await this.#waitForDeath(this.#world.random.whole(-1, 2000));
      holder.call({ asks: [], wishes: false, reports: true });
      this.#takeShelves();
      return `${this.#name(holder)} spends all, ${said}, it reports, one takes all`;
    },
    crash: () => this.#replace((holder) => holder instanceof LimiterHolder && holder.crash()),
    leave: () => this.#replace((holder) => (holder instanceof LimiterHolder ? holder.close() : undefined)),
    sleep: () => {
      const holder = this.#any();
      if (holder instanceof LimiterHolder) holder.sleep();
      else holder.clock.sleep();
      return `${this.#name(holder)} sleeps`;
    },
    wake: () => {
      const holder = this.#any();
      const { random } = this.#world;
      holder.clock.wake(holder.setup.trouble === "suspends" && random.chance(0.7), random.chance(0.5));
      return `${this.#name(holder)} wakes`;
    },
    stepWall: () => {
      const holder = this.#any();
      if (holder.setup.trouble !== "steps") return;
      const ms = this.#world.random.pick([-3_600_000, -100, -10, -1, 1, 10, 100, 3_600_000]);
      holder.clock.stepWall(ms);
      return `the wall clock of ${this.#name(holder)} steps ${ms} ms`;
    },
    storeClockBack: () => {
      const { random } = this.#world;
      const us = random.whole(1, random.pick([100, 5000, 50_000, 10_000_000]));
      this.#world.setStoreClockBack(us);
      return `the store's clock goes back ${us} us`;
    },
    refund: () => {
      const { random } = this.#world;
      const holder = this.#any();
      if (holder instanceof LimiterHolder) {
        holder.refund();
        return;
      }
      const bucket = holder.setup.buckets[0] as number;
      const admitted = Math.floor(
        (this.#world.meters[bucket]?.level ?? 0) / (this.#world.meters[bucket]?.unitsPerToken ?? 1),
      );
      const tokens = random.whole(0, admitted);
      this.#world.giveBack(bucket, tokens);
      this.#world.store.adjust([{ ...this.#world.addressOf(bucket, holder.config), tokens }], this.#world.storeUs);
      return `${tokens} are refunded`;
    },
    penalize: () => {
      const holder = this.#any();
      const bucket = holder.setup.buckets[0] as number;
      const tokens = -this.#world.random.whole(1, 30);
      this.#world.store.adjust([{ ...this.#world.addressOf(bucket, holder.config), tokens }], this.#world.storeUs);
      return `a penalty of ${-tokens}`;
    },
    reset: () => {
      const holder = this.#any();
      const addresses = holder.setup.buckets.map((bucket) => this.#world.addressOf(bucket, holder.config));
      this.#world.store.reset(addresses, this.#world.storeUs);
      for (const bucket of holder.setup.buckets) this.#world.forget(bucket);
      return "reset";
    },
    reconfigure: () => {
      const holder = this.#any();
      holder.config = 1 - holder.config;
      return `${this.#name(holder)} has its ${holder.config === 0 ? "old" : "new"} policies`;
    },
    deploy: () => {
      for (const holder of this.#holders) holder.config = 1;
      for (let bucket = 0; bucket < this.#world.setup.buckets.length; bucket++)
        if (!this.#deployed) this.#world.deploy(bucket);
      this.#deployed = true;
      return "all have the new policies";
    },
    lose: async () => {
      const bucket = this.#world.random.whole(0, this.#world.setup.buckets.length - 1);
      // Ids are told apart by the microsecond in which a lease was opened, and a server needs many for one call.
      await this.#world.pass(1000);
      this.#world.lose(bucket);
      return `bucket ${bucket} is lost`;
    },
    comeBackWhenTold: () => this.#comeBack(),
  };

  /** A refused caller who comes back alone when it was told to is admitted. */
  async #comeBack(): Promise<string> {
    const world = this.#world;
    const bucket = world.random.whole(0, world.setup.buckets.length - 1);
    const address = world.addressOf(bucket, 0);
    const cost = world.random.whole(1, address.policy.capacity);
    world.checkWait(bucket, cost);
    return `${cost} would be told to come back`;
  }

  /** A holder goes and another takes its place. */
  async #replace(goes: (holder: Holder) => unknown): Promise<string> {
    const index = this.#world.random.whole(0, this.#holders.length - 1);
    const holder = this.#holders[index] as Holder;
    if (holder instanceof LimiterHolder && holder.clock.isAsleep) holder.clock.wake(false, true);
    await goes(holder);
    const next = this.#newHolder(holder.setup, holder.config);
    this.#holders[index] = next;
    this.#world.holders[index] = next;
    return `${this.#name(next)} takes the place of one that left or died`;
  }
}

/** From empty to full, or how long a window lasts. */
function fullUsOf({ policy: { shape } }: BucketAddress): number {
  return shape.kind === "token-bucket" ? shape.fullUs : shape.periodUs;
}
