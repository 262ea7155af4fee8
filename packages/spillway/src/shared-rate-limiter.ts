import type { Clock } from "./clock.ts";
import { costsOf, requireKey, signalOf } from "./consume-options.ts";
import { allowed, refused } from "./decide.ts";
import type { AllowedDecision, Decision } from "./decision.ts";
import { type Duration, durationUs } from "./duration.ts";
import { invalidKey, limiterClosed, SpillwayError } from "./errors.ts";
import { DegradedLanes } from "./failover/degraded-lanes.ts";
import { asStoreError } from "./failover/guarded-store.ts";
import { NodeGuards } from "./failover/node-guards.ts";
import type { StateChange } from "./health.ts";
import { type AskPart, type JointAsk, JointAsks } from "./joint-ask.ts";
import { consumeApart, splitBySlot } from "./joint-decision.ts";
import { addressesOf, refundOf, requireDecision, statesOf, statusesOf } from "./key-buckets.ts";
import { Denial } from "./lease/denial.ts";
import { Lane } from "./lease/lane.ts";
import { Lanes } from "./lease/lanes.ts";
import { drainMs } from "./lease/lease-budget.ts";
import { LeaseClient } from "./lease/lease-client.ts";
import { type ResolvedOptions, resolveLimiterOptions } from "./limiter-options.ts";
import { onAbort } from "./on-abort.ts";
import { type PolicyView, viewsOf } from "./policy.ts";
import { type Cost, type PolicySet, resolveCosts } from "./policy-set.ts";
import type { ConsumeOptions, PeekResult, RateLimiter, RateLimiterOptions } from "./rate-limiter.ts";
import { Counters, type LimiterStats } from "./stats.ts";
import { byGroup } from "./stores/by-group.ts";
import type { Adjustment, Store } from "./stores/store.ts";

const MOST_NAMES = 100;
/** Ten years. */
const LONGEST_BLOCK_MS = 3650 * 86_400_000;

/** The limiter over a store: wires lanes, leases, guards and the backstop together. */
export class SharedRateLimiter implements RateLimiter {
  readonly policies: readonly PolicyView[] | undefined;
  readonly #options: ResolvedOptions;
  readonly #store: Store;
  readonly #clock: Clock;
  /** Where all keys have the same policies. */
  readonly #fixedSet: PolicySet | undefined;
  readonly #guards: NodeGuards;
  readonly #degraded: DegradedLanes;
  readonly #client: LeaseClient;
  readonly #lanes: Lanes;
  readonly #joint: JointAsks;
  readonly #counters: Counters;
  readonly #refunded = new WeakSet<Decision>();
  readonly #drains = new WeakMap<PolicySet, number | undefined>();
  /** Names of policies met that cannot be leased; a few are enough to tell. */
  readonly #tooSmall = new Set<string>();
  #closing: Promise<void> | undefined;

  constructor(options: RateLimiterOptions) {
    this.#options = resolveLimiterOptions(options);
    this.#fixedSet = typeof options.policies === "function" ? undefined : this.#options.policiesOf("");
    this.policies = this.#fixedSet === undefined ? undefined : viewsOf(this.#fixedSet.policies);
    const { store, clock, deadlineMs, maxKeys, onStateChange } = this.#options;
    this.#store = store;
    this.#clock = clock;
    this.#counters = new Counters(this.#options.dryRun);
    this.#joint = new JointAsks(this.#options.policiesOf, requireKey);
    this.#lanes = new Lanes(maxKeys);
    this.#guards = new NodeGuards(store, clock, deadlineMs, {
      onSent: () => this.#degraded.noteAtWork(),
      onAnswering: (...news) => this.#degraded.onAnswering(...news),
      onGone: (...news) => this.#degraded.onGone(...news),
      onStillAway: () => this.#degraded.onStillAway(),
      onStateChange: (change: StateChange) => {
        if (change.state === "back") this.#degraded.tellAll();
        return onStateChange(change);
      },
    });
    this.#degraded = new DegradedLanes({
      ...this.#options,
      counters: this.#counters,
      lanes: this.#lanes,
      guards: this.#guards,
      drainMsOf: (set) => this.#drainMsOf(set),
    });
    this.#client = new LeaseClient({
      clock,
      deadlineMs,
      lanes: this.#lanes,
      counters: this.#counters,
      groupOf: (key) => this.#guards.groupOf(key),
      guardOf: (group) => this.#guards.guardOf(group),
      fallBack: (lane, costs) => this.#degraded.decideAsked(lane, costs),
      drainMsOf: (set) => this.#drainMsOf(set),
      decideLocally: (lane, costs) => this.#decideLocally(lane, costs),
      onBucketFault: (error) => this.#guards.noteFault(error),
      onAnswered: (lane) => this.#degraded.onAnswered(lane),
      onStates: (lane, states, storeUs) => this.#degraded.noteStates(lane, states, storeUs),
    });
  }

  consume(asked: string | readonly AskPart[], options?: ConsumeOptions): Promise<Decision> {
    try {
      if (Array.isArray(asked)) return this.#consumeJoint(this.#joint.read(asked), signalOf(options));
      const lane = this.#laneOf(asked as string);
      const hit = options === undefined ? this.#hit(lane) : undefined;
      if (hit !== undefined) return Promise.resolve(hit);
      return this.#consume(lane, costsOf(options, lane.set), options?.signal);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #consume(lane: Lane, costs: readonly number[], signal: AbortSignal | undefined): Promise<Decision> {
    const decision = this.#decideNow(lane, costs);
    if (decision !== undefined) return Promise.resolve(this.#counters.decided(lane.told(decision)));
    if (this.#degraded.isReturning && this.#degraded.isHeld(lane)) return this.#askHeld(lane, costs, signal);
    return this.#ask(lane, costs, signal);
  }

  #consumeJoint(ask: JointAsk, signal: AbortSignal | undefined): Promise<Decision> {
    const apart = splitBySlot(ask, this.#joint, (key) => this.#guards.groupOf(key));
    if (apart === undefined) return this.#consume(this.#laneOfJoint(ask), ask.costs, signal);
    const decide = (part: JointAsk): Promise<Decision> => this.#consume(this.#laneOfJoint(part), part.costs, signal);
    return consumeApart(ask, apart, decide, (decision) => this.refund(decision));
  }

  #ask(lane: Lane, costs: readonly number[], signal: AbortSignal | undefined): Promise<Decision> {
    if (signal !== undefined) return this.#askUntil(lane, costs, signal);
    return new Promise((resolve) => {
      this.#client.ask(lane, costs, resolve);
    });
  }

  /** As `#ask`, where what the store admits has to have room in the share too. */
  async #askHeld(lane: Lane, costs: readonly number[], signal: AbortSignal | undefined): Promise<Decision> {
    const reserved = this.#degraded.reserve(lane, costs);
    const decision = await this.#ask(lane, costs, signal);
    this.#degraded.settle(reserved, costs, decision);
    return decision;
  }

  /** As `#ask`, for a caller who may give up. */
  #askUntil(lane: Lane, costs: readonly number[], signal: AbortSignal): Promise<Decision> {
    return new Promise((resolve, reject) => {
      const caller = this.#client.ask(lane, costs, (decision) => {
        takeBack();
        resolve(decision);
      });
      const takeBack = onAbort(signal, () => {
        caller.abandon();
        reject(signal.reason);
      });
    });
  }

  consumeNow(asked: string | readonly AskPart[], options?: ConsumeOptions): Decision | undefined {
    if (Array.isArray(asked)) return this.#consumeJointNow(this.#joint.read(asked), options);
    const lane = this.#laneOf(asked as string);
    const hit = options === undefined ? this.#hit(lane) : undefined;
    if (hit !== undefined) return hit;
    const decision = this.#decideNow(lane, costsOf(options, lane.set));
    return decision === undefined ? undefined : this.#counters.decided(decision);
  }

  #consumeJointNow(ask: JointAsk, options: ConsumeOptions | undefined): Decision | undefined {
    signalOf(options);
    // What must be taken in several steps is not taken at once.
    if (splitBySlot(ask, this.#joint, (key) => this.#guards.groupOf(key)) !== undefined) return undefined;
    const lane = this.#laneOfJoint(ask);
    const decision = this.#decideNow(lane, ask.costs);
    return decision === undefined ? undefined : this.#counters.decided(lane.told(decision));
  }

  /**
   * The commonest decision in a straight line: one token of the only policy of a key, from a lease in hand. Gives `undefined` for
   * any other, and then nothing was changed.
   */
  #hit(lane: Lane): Decision | undefined {
    const { lease } = lane;
    if (lease === undefined || !lease.mayHit || lane.denial !== undefined) return undefined;
    if (lane.waiting.length > 0 || this.#degraded.isReturning) return undefined;
    const clock = this.#clock;
    const status = lease.spendOne(clock.monotonicMs(), clock.wallMs());
    if (status === undefined) return undefined;
    if (lease.isLow && !lane.posted && !lane.inFlight) this.#client.run(lane, "prefetch");
    const decision: AllowedDecision = {
      allowed: true,
      key: lane.key,
      costs: lane.set.unitCosts,
      policy: status.policy,
      limit: status.limit,
      remaining: status.remaining,
      resetAfterMs: status.resetAfterMs,
      source: "lease",
      degraded: false,
      policies: [status],
    };
    this.#counters.hit(decision);
    return decision;
  }

  #decideNow(lane: Lane, costs: readonly number[]): Decision | undefined {
    if (!this.#degraded.isReturning || !this.#degraded.isHeld(lane)) return this.#decideFreely(lane, costs);
    const refusal = this.#degraded.hold(lane, costs);
    if (refusal !== undefined) return refusal;
    const decision = this.#decideFreely(lane, costs);
    if (decision?.allowed === true && !decision.degraded) this.#degraded.charge(lane, costs);
    return decision;
  }

  #decideFreely(lane: Lane, costs: readonly number[]): Decision | undefined {
    // Who waits goes first: a later caller takes no token from under them.
    const decision = lane.waiting.length === 0 ? this.#decideLocally(lane, costs) : undefined;
    if (decision !== undefined) {
      lane.lease?.noteAsked(costs);
      return decision;
    }
    if (this.#store.takeNow !== undefined) return this.#takeNow(lane, costs);
    if (this.#guards.guardOf(this.#guards.groupOf(lane.keyOf(0))).isOpen) return this.#degraded.decide(lane, costs);
    return undefined;
  }

  #decideLocally(lane: Lane, costs: readonly number[]): Decision | undefined {
    const spends = lane.denial?.isBlocked !== true && lane.lease?.covers(costs) === true;
    const decision = spends ? this.#spendLease(lane, costs) : undefined;
    if (decision !== undefined || lane.denial === undefined) return decision;
    const nowMs = this.#clock.monotonicMs();
    if (lane.denial.isOver(nowMs)) lane.denial = undefined;
    return lane.denial?.refuse(lane.key, costs, nowMs);
  }

  /** Decides from leased tokens if they are enough, and fetches more before they are gone. */
  #spendLease(lane: Lane, costs: readonly number[]): Decision | undefined {
    const { lease } = lane;
    const statuses = lease?.spend(costs, this.#clock.monotonicMs(), this.#clock.wallMs());
    if (lease === undefined || statuses === undefined) return undefined;
    if (lease.isLow && !lane.posted && !lane.inFlight) this.#client.run(lane, "prefetch");
    return allowed(lane.key, costs, statuses, "lease");
  }

  /** One drain time for all policies of a set; none when one of them is too small to lease. */
  #drainMsOf(set: PolicySet): number | undefined {
    if (this.#drains.has(set)) return this.#drains.get(set);
    const { maxDrainMs } = this.#options;
    let drain = maxDrainMs;
    for (const policy of maxDrainMs === undefined ? [] : set.policies) {
      const own = drainMs(policy, maxDrainMs as number);
      if (own === undefined && this.#tooSmall.size < MOST_NAMES) this.#tooSmall.add(policy.name);
      drain = own === undefined || drain === undefined ? undefined : Math.min(drain, own);
    }
    this.#drains.set(set, drain);
    return drain;
  }

  /** Asks a store that lives in this process. */
  #takeNow(lane: Lane, costs: readonly number[]): Decision {
    const { key, set } = lane;
    const charges = costs.map((cost, bucket) => ({ bucket, cost }));
    const buckets = set.policies.map((policy, i) => ({ key: lane.keyOf(i), policy, report: undefined }));
    const reply = (this.#store as Required<Store>).takeNow({ buckets, runs: [{ count: 1, charges }] });
    const admitted = reply.served[0] === 1;
    const statuses = statusesOf(set.policies, costs, reply);
    if (!admitted) return refused(key, costs, statuses, "store");
    return allowed(
      key,
      costs,
      statuses.map((status) => ({ ...status, retryAfterMs: 0 })),
      "store",
    );
  }

  async peek(key: string): Promise<PeekResult> {
    const { set } = this.#laneOf(key);
    const reply = await this.#inTime(this.#store.peek(addressesOf(key, set.policies)));
    return { key, policies: statusesOf(set.policies, set.unitCosts, reply) };
  }

  refund(decision: Decision): Promise<void> {
    return quietly(this.#refund(decision));
  }

  async #refund(decision: Decision): Promise<void> {
    requireDecision(decision);
    if (!decision.allowed || decision.waived !== undefined || decision.degraded || this.#refunded.has(decision)) return;
    this.#refunded.add(decision);
    await this.#adjust(refundOf(decision, (key) => this.#laneOf(key).set));
  }

  async #adjust(adjustments: readonly Adjustment[]): Promise<void> {
    await Promise.all(byGroup(adjustments, this.#store).map((group) => this.#inTime(this.#store.adjust(group))));
    for (const { key } of adjustments) {
      const lane = this.#laneOf(key);
      // They do not touch a block.
      if (lane.denial?.isBlocked !== true) lane.denial = undefined;
    }
  }

  penalize(key: string, cost?: Cost): Promise<void> {
    return quietly(this.#penalize(key, cost));
  }

  async #penalize(key: string, cost: Cost = 1): Promise<void> {
    const { set } = this.#laneOf(key);
    const costs = resolveCosts(cost, set);
    const adjustments = set.policies.map((policy, i) => ({ key, policy, tokens: -(costs[i] as number) }));
    await this.#adjust(adjustments.filter(({ tokens }) => tokens < 0));
  }

  block(key: string, duration: Duration): Promise<void> {
    return quietly(this.#block(key, duration));
  }

  async #block(key: string, duration: Duration): Promise<void> {
    const { set } = this.#laneOf(key);
    const us = durationUs(duration, "duration", 0, LONGEST_BLOCK_MS);
    const reply = await this.#inTime(this.#store.block(addressesOf(key, set.policies), us));
    const states = statesOf(reply);
    const lane = this.#laneOf(key);
    if (lane.set !== set) return;
    this.#degraded.noteStates(lane, states, reply.nowUs);
    lane.denial = undefined;
    // A store in this process is asked each time.
    if (us === 0 || this.#store.takeNow !== undefined) return;
    lane.denial = new Denial(set, states, reply.nowUs, this.#options.clock.monotonicMs(), 0);
    this.#lanes.keep(lane);
    this.#client.giveBackIfBlocked(lane);
  }

  reset(key: string): Promise<void> {
    return quietly(this.#reset(key));
  }

  async #reset(key: string): Promise<void> {
    const lane = this.#laneOf(key);
    await this.#inTime(this.#store.reset(addressesOf(key, lane.set.policies)));
    lane.denial = undefined;
    this.#degraded.forget(lane);
  }

  stats(): LimiterStats {
    const { allowed: admitted, refused: turnedAway, sources } = this.#counters;
    const { calls, misses, faults } = this.#guards.counts;
    return {
      allowed: admitted,
      refused: turnedAway,
      sources: { ...sources },
      storeCalls: calls,
      storeMisses: misses,
      storeFaults: faults,
      leases: { ...this.#client.counts, tooSmall: [...this.#tooSmall] },
      health: this.#guards.health(),
      replicas: this.#degraded.processes,
      share: this.#degraded.share,
      keys: Math.max(this.#lanes.size, this.#degraded.keys),
      store: this.#store.name,
    };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.all([this.#client.close(), this.#inTime(this.#degraded.close()).catch(() => {})]);
    this.#guards.close();
    if (this.#options.ownsStore) await this.#store.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #laneOf(key: string): Lane {
    if (this.#closing !== undefined) throw limiterClosed();
    if (typeof key !== "string") throw invalidKey("a string", key);
    const set = this.#fixedSet ?? this.#options.policiesOf(key);
    const known = this.#lanes.find(key, set);
    if (known !== undefined) return known;
    requireKey(key);
    return new Lane(key, set);
  }

  #laneOfJoint({ id, set, keys }: JointAsk): Lane {
    if (this.#closing !== undefined) throw limiterClosed();
    return this.#lanes.find(id, set) ?? new Lane(id, set, keys);
  }

  /** Waits for a reply no longer than the deadline. */
  #inTime<T>(reply: Promise<T>): Promise<T> {
    const { clock, deadlineMs } = this.#options;
    return new Promise((resolve, reject) => {
      const message = `The store did not answer within ${deadlineMs} ms.`;
      const fail = (): void => reject(new SpillwayError("ERR_SPILLWAY_STORE_TIMEOUT", message));
      const timer = clock.startTimer(fail, deadlineMs, true);
      void reply.then(resolve, (cause: unknown) => reject(asStoreError(cause))).finally(() => timer.cancel());
    });
  }
}

/** A promise that rejects for those who look, and never as an unhandled rejection. */
function quietly<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
