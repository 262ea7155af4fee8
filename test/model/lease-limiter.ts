import assert from "node:assert/strict";
import type { Clock } from "../../packages/spillway/src/clock.ts";
import type { Decision } from "../../packages/spillway/src/decision.ts";
import type { PolicyOptions } from "../../packages/spillway/src/policy.ts";
import { SharedRateLimiter } from "../../packages/spillway/src/shared-rate-limiter.ts";
import type { BucketAddress, Store, TakeCall, TakeReply } from "../../packages/spillway/src/stores/store.ts";
import { Broken } from "./broken.ts";
import { HolderClock } from "./lease-clock.ts";
import type { HolderSetup } from "./lease-setups.ts";
import type { LeaseWorld, TokenHolder } from "./lease-world.ts";

/** What a broken twin changes about a limiter from outside. */
export interface LimiterTwin {
  /** Its wall clock shows what its monotonic clock does. */
  readonly monotonicOnly?: boolean;
  /** Makes what changes the calls of one limiter on their way out. */
  readonly call?: () => (call: TakeCall) => TakeCall;
}

interface Waiting {
  readonly askedMs: number;
  sleeps: number;
}

const GONE = new Error("gone");

/** The whole shipped client: a limiter of its own on clocks of its own. */
export class LimiterHolder implements TokenHolder {
  readonly setup: HolderSetup;
  readonly clock: HolderClock;
  config: number;
  readonly #world: LeaseWorld;
  readonly #limiter: SharedRateLimiter;
  readonly #waiting = new Set<Waiting>();
  readonly #admitted: Decision[] = [];
  #isAlive = true;
  #sleeps = 0;

  constructor(world: LeaseWorld, setup: HolderSetup, config: number, twin: LimiterTwin = {}) {
    this.#world = world;
    this.setup = setup;
    this.config = config;
    const { random } = world;
    this.clock = new HolderClock(() => world.nowUs, setup.rate, random.whole(0, 1e6), random.whole(1e12, 2e12));
    world.watchPromises();
    const sets = [0, 1].map((which): PolicyOptions[] =>
      setup.buckets.map((bucket) => {
        const { name, algorithm, limit, periodMs, capacity, shape } = world.addressOf(bucket, which).policy;
        if (shape.kind === "token-bucket") return { name, limit, period: periodMs, burst: capacity };
        if (shape.kind !== "fixed-window") return { name, algorithm, limit, period: periodMs };
        const windowStart = shape.aligned ? "aligned" : "first-request";
        return { name, algorithm, limit, period: periodMs, windowStart };
      }),
    );
    this.#limiter = new SharedRateLimiter({
      store: this.#port(twin),
      clock: twin.monotonicOnly === true ? monotonicOnly(this.clock) : this.clock,
      policies: () => sets[this.config % 2] as PolicyOptions[],
      deadlineMs: world.setup.deadlineMs,
      onStoreFailure: "closed",
      maxKeys: 2,
      onStateChange: () => {},
    });
  }

  certain(): number {
    return 0;
  }

  /** As `ask`, for somebody who goes away before there is an answer. */
  askInVain(cost: number): void {
    if (!this.#canAct || this.#limiter.consumeNow("k", { cost: 0 }) === undefined) return;
    const abort = new AbortController();
    const gone = this.#limiter.consume("k", { cost, signal: abort.signal }).then((decision) => this.#decided(decision));
    gone.catch((reason) => {
      if (reason !== GONE) this.#world.fail(reason);
    });
    abort.abort(GONE);
  }

  /** Asks; what is decided now or later is metered when it is decided, and what the store served when the store served it. */
  ask(cost: number): void {
    if (!this.#canAct) return;
    const decision = this.#limiter.consumeNow("k", { cost });
    if (decision !== undefined) {
      this.#decided(decision);
      return;
    }
    const waiting: Waiting = { askedMs: this.clock.monotonicMs(), sleeps: this.#sleeps };
    this.#waiting.add(waiting);
    void this.#limiter.consume("k", { cost }).then((later) => {
      this.#waiting.delete(waiting);
      const waitedMs = this.clock.monotonicMs() - waiting.askedMs;
      // The deadline's timer is followed by a turn of the event loop, which takes no time here.
      if (waiting.sleeps === this.#sleeps && waitedMs > this.#world.setup.deadlineMs + 1.01)
        this.#world.fail(new Broken(`a decision after ${waitedMs} ms`));
      this.#decided(later);
    });
  }

  /** Spends what it holds, as long as there is any. */
  spendAll(cost: number): void {
    for (let n = 0; n < 100 && this.#canAct; n++) {
      const decision = this.#limiter.consumeNow("k", { cost });
      if (decision !== undefined) this.#decided(decision);
      if (decision?.source !== "lease") return;
    }
  }

  refund(): void {
    const decision = this.#admitted.pop();
    if (decision !== undefined && this.#canAct) void this.#limiter.refund(decision).catch(() => {});
  }

  reset(): void {
    if (this.#canAct) void this.#limiter.reset("k").catch(() => {});
  }

  sleep(): void {
    this.#sleeps++;
    this.clock.sleep();
  }

  /** Nothing of it runs any more. */
  crash(): void {
    this.#isAlive = false;
    this.clock.sleep();
  }

  /** Gives back what it holds, within the deadline. */
  async close(): Promise<void> {
    if (!this.#canAct) return;
    this.#isAlive = false;
    let closed = false;
    void this.#limiter.close().then(() => {
      closed = true;
    });
    await this.#world.pass(Math.ceil(((this.#world.setup.deadlineMs + 2) * 1000) / this.setup.rate));
    if (!closed) throw new Broken("close() did not end within the deadline");
    this.requireAnswered();
  }

  /** Nobody is left waiting once the deadline has passed. */
  requireAnswered(): void {
    if (this.#waiting.size > 0) throw new Broken(`${this.#waiting.size} callers were never answered`);
  }

  /** Timers that keep an idle process busy. */
  get pendingTimers(): number {
    return this.clock.pendingTimers;
  }

  get isHealthy(): boolean {
    return !this.#limiter.stats().health.degraded;
  }

  get counts(): {
    readonly leased: number;
    readonly spent: number;
    readonly returned: number;
    readonly expired: number;
  } {
    return this.#limiter.stats().leases;
  }

  get #canAct(): boolean {
    return this.#isAlive && !this.clock.isAsleep;
  }

  #decided(decision: Decision): void {
    if (!decision.allowed || this.clock.isAsleep) return;
    if (decision.degraded && decision.costs.some((cost) => cost > 0))
      this.#world.fail(new Broken("a closed limiter admitted by itself"));
    this.#admitted.push(decision);
    if (decision.source === "store") return;
    try {
      for (const [i, bucket] of this.setup.buckets.entries()) this.#world.admit(bucket, decision.costs[i] as number);
    } catch (error) {
      this.#world.fail(error);
    }
  }

  #port({ call = () => (unchanged) => unchanged }: LimiterTwin): Store {
    const change = call();
    const world = this.#world;
    const onArrival = (run: () => void): void => this.clock.whenAwake(run);
    return {
      name: "world",
      take: (call) =>
        new Promise<TakeReply>((resolve, reject) => {
          const isFaulty = world.random.chance(world.setup.weather.faulty);
          const onReply = (reply: TakeReply): void =>
            onArrival(() => (isFaulty ? reject(new Error("the connection broke")) : resolve(reply)));
          world.send(change(call), { lifePart: 0, onReply });
        }),
      adjust: async (adjustments) => {
        for (const adjustment of adjustments) world.giveBack(world.bucketOf(adjustment), adjustment.tokens);
        return world.store.adjust(adjustments, world.storeUs);
      },
      reset: async (addresses: readonly BucketAddress[]) => {
        world.store.reset(addresses, world.storeUs);
        for (const address of addresses) world.forget(world.bucketOf(address));
      },
      block: () => assert.fail("nobody blocks here"),
      peek: () => assert.fail("nobody peeks here"),
      close: async () => {},
    };
  }
}

function monotonicOnly(clock: HolderClock): Clock {
  return {
    monotonicMs: () => clock.monotonicMs(),
    wallMs: () => clock.monotonicMs(),
    startTimer: (run, delayMs) => clock.startTimer(run, delayMs),
    afterTurn: (run) => clock.afterTurn(run),
  };
}
