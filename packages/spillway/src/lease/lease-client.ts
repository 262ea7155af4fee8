import type { BucketState } from "../algorithms/bucket.ts";
import type { Clock, Timer } from "../clock.ts";
import type { Decision } from "../decision.ts";
import type { SpillwayError } from "../errors.ts";
import type { GuardedCall, NodeGuard } from "../failover/guarded-store.ts";
import type { PolicySet } from "../policy-set.ts";
import type { Counters } from "../stats.ts";
import { ArrivalQueue, Caller } from "./caller.ts";
import { type Errand, type Lane, NOBODY } from "./lane.ts";
import { LaneLease } from "./lane-lease.ts";
import type { Lanes } from "./lanes.ts";
import type { Instant, ShelfCounts } from "./shelf.ts";
import { type SettleContext, StoreCall } from "./store-call.ts";

/** Keys that travel in one call, and how many when more callers wait than the allowed calls would carry so. */
const KEYS_PER_CALL = 32;
const MOST_KEYS_PER_CALL = 256;
/** Looking through all lanes for silent ones pauses this long. */
const SETTLE_PAUSE_MS = 4;

export interface LeaseClientOptions {
  readonly clock: Clock;
  readonly deadlineMs: number;
  readonly lanes: Lanes;
  /** Counts a decision that is given to a caller. */
  readonly counters: Counters;
  /** Which keys can travel together. */
  groupOf(key: string): number;
  /** The part of the store that a group lives on. */
  guardOf(group: number): NodeGuard;
  /** The drain time of a set's leases; `undefined` for a set that is never leased. */
  drainMsOf(set: PolicySet): number | undefined;
  /** Decides without the store. */
  fallBack(lane: Lane, costs: readonly number[]): Decision;
  /** Decides from leased tokens, or from what the store has just refused, if that is enough. */
  decideLocally(lane: Lane, costs: readonly number[]): Decision | undefined;
  onBucketFault(error: SpillwayError): void;
  onAnswered(lane: Lane): void;
  /** How the store said that the buckets of a lane stand, at `storeUs` on its clock. */
  onStates(lane: Lane, states: readonly BucketState[], storeUs: number): void;
}

/** Lanes of one node that want a call. */
interface Outbox {
  readonly guard: NodeGuard;
  lanes: Lane[];
}

/**
 * Takes callers to the store and leased tokens back from it: one call under way for each key, all who came meanwhile in the
 * next one, in order; keys that need the store in one turn of the event loop travel together. Nobody waits past the deadline.
 */
export class LeaseClient {
  readonly counts: ShelfCounts & { prefetches: number; waits: number } = {
    leased: 0,
    spent: 0,
    returned: 0,
    expired: 0,
    prefetches: 0,
    waits: 0,
  };
  readonly #options: LeaseClientOptions;
  readonly #outboxes = new Map<NodeGuard, Outbox>();
  readonly #arrivals = new ArrivalQueue();
  /** Lanes with leased tokens or with something to report. */
  readonly #unsettled = new Set<Lane>();
  #deadline: Timer | undefined;
  #settleTimer: Timer | undefined;
  #flushing = false;
  /** Calls under way. */
  #calls = 0;
  /** Called when nothing is left to wait for. */
  #closing: (() => void) | undefined;

  constructor(options: LeaseClientOptions) {
    this.#options = options;
  }

  /** Asks the store for a decision. `resolve` is called once, within the deadline. */
  ask(lane: Lane, costs: readonly number[], resolve: (decision: Decision) => void): Caller {
    const { clock, counters, deadlineMs } = this.#options;
    const nowMs = clock.monotonicMs();
    const caller = new Caller(lane, costs, nowMs, counters, resolve);
    this.#noteDemand(lane, costs, nowMs);
    if (lane.lease !== undefined) this.counts.waits++;
    lane.append(caller);
    this.#arrivals.push(caller);
    this.#post(lane);
    this.#deadline ??= clock.startTimer(this.#expire, deadlineMs, true);
    return caller;
  }

  /** Wants a call for the sake of the lease. */
  run(lane: Lane, errand: Errand): void {
    lane.errand = errand;
    if (errand === "prefetch") this.counts.prefetches++;
    this.#post(lane);
  }

  /** A key that is asked for twice within one drain time begins to count its demand. */
  #noteDemand(lane: Lane, costs: readonly number[], nowMs: number): void {
    if (lane.lease === undefined) {
      const drainMs = this.#options.drainMsOf(lane.set);
      if (drainMs === undefined) return;
      const isBusy = nowMs - this.#lastAskedMs(lane, nowMs) < drainMs;
      lane.lastAskedMs = nowMs;
      if (!isBusy) return;
      lane.lease = new LaneLease(lane.set, drainMs, nowMs, this.counts);
    }
    lane.lease.noteAsked(costs);
  }

  #lastAskedMs(lane: Lane, nowMs: number): number {
    return Math.max(lane.lastAskedMs, this.#options.lanes.decidedMs(lane, nowMs));
  }

  #post(lane: Lane): void {
    if (lane.posted || lane.inFlight) return;
    lane.posted = true;
    this.#options.lanes.enter(lane);
    const guard = this.#options.guardOf(this.#options.groupOf(lane.keyOf(0)));
    const outbox = this.#outboxes.get(guard);
    if (outbox === undefined) this.#outboxes.set(guard, { guard, lanes: [lane] });
    else outbox.lanes.push(lane);
    this.#scheduleFlush();
  }

  #scheduleFlush(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    this.#options.clock.afterTurn(this.#flush);
  }

  readonly #flush = (): void => {
    this.#flushing = false;
    for (const outbox of this.#outboxes.values()) this.#flushOne(outbox);
    if (this.#closing !== undefined) this.#settleAll();
  };

  #flushOne(outbox: Outbox): void {
    const { guard } = outbox;
    outbox.lanes = outbox.lanes.filter((lane) => this.#wantsCall(lane));
    for (let free = guard.freeFlights; free > 0 && outbox.lanes.length > 0; free = guard.freeFlights) {
      const size = Math.max(KEYS_PER_CALL, Math.ceil(outbox.lanes.length / free));
      this.#send(guard, outbox.lanes.splice(0, Math.min(size, MOST_KEYS_PER_CALL)));
    }
    if (!guard.isOpen) return;
    // Those, too, whom the one call on trial had no room for.
    const { lanes } = outbox;
    outbox.lanes = [];
    for (const lane of lanes) this.#giveUp(lane);
  }

  /** There is no store to ask: callers are decided for, errands forgotten. */
  #giveUp(lane: Lane): void {
    const { waiting } = lane;
    lane.waiting = NOBODY;
    lane.posted = false;
    lane.errand = undefined;
    for (const caller of waiting) this.#fallBack(caller);
    this.#options.lanes.leave(lane);
  }

  /** Whether there is still a reason to call for a lane; forgets callers who went away. */
  #wantsCall(lane: Lane): boolean {
    if (lane.errand !== undefined || lane.waiting.some(stillWaits)) return true;
    lane.waiting = NOBODY;
    lane.posted = false;
    this.#options.lanes.leave(lane);
    return false;
  }

  /** One flight: a call for each group of keys that can travel together. */
  #send(guard: NodeGuard, lanes: readonly Lane[]): void {
    const sent = this.#now();
    const calls = this.#callsOf(lanes).map((together) => new StoreCall(together, sent, guard.isInDoubt));
    this.#calls += calls.length;
    const oldestMs = Math.min(...calls.map((call) => call.oldestMs));
    guard.send(
      calls.map((storeCall) => this.#guarded(storeCall)),
      oldestMs,
    );
  }

  /**
   * Lanes that can travel in one call: of one group, and no bucket twice. A key has two lanes when its policies have changed; in
   * one call the bucket would be charged for one of them only. Lanes of several keys can share buckets with others, but a bucket
   * has room for one lane's report.
   */
  #callsOf(lanes: readonly Lane[]): Lane[][] {
    const calls: Lane[][] = [];
    const groups = new Map<number, Lane[]>();
    for (const lane of lanes) {
      const group = this.#options.groupOf(lane.keyOf(0));
      const alone = lane.superseded || (lane.keys !== undefined && lane.lease !== undefined);
      const together = alone ? undefined : groups.get(group);
      if (together !== undefined) together.push(lane);
      else {
        const call = [lane];
        calls.push(call);
        if (!alone) groups.set(group, call);
      }
    }
    return calls;
  }

  #guarded(storeCall: StoreCall): GuardedCall {
    const abandon = (): void => {
      storeCall.abandon(this.#fallBack);
      this.#landed(storeCall);
    };
    return {
      call: storeCall.call,
      onReply: (reply, roundTripMs) => {
        storeCall.settle(reply, this.#contextOf(roundTripMs));
        this.#landed(storeCall);
      },
      onMiss: abandon,
      onLate: (reply, roundTripMs) => {
        storeCall.adoptLeases(reply, roundTripMs, true);
        this.#watch(storeCall.lanes);
      },
      onFault: abandon,
    };
  }

  /** The lanes of a call may be called for again: who came meanwhile is served from what it brought, or sent. */
  #landed(storeCall: StoreCall): void {
    for (const lane of storeCall.lanes) {
      lane.inFlight = false;
      if (lane.waiting.length > 0) this.#serveWaiting(lane);
      this.giveBackIfBlocked(lane);
      if (lane.waiting.length > 0 || lane.errand !== undefined) this.#post(lane);
      else if (lane.lease?.isUnsettled !== true) this.#options.lanes.leave(lane);
    }
    this.#calls--;
    this.#watch(storeCall.lanes);
    if (this.#arrivals.oldest() === undefined) this.#stopDeadline();
    this.#scheduleFlush();
  }

  /** What is held of a key that is blocked goes back at once: it must not be spent. */
  giveBackIfBlocked(lane: Lane): void {
    if (lane.denial?.isBlocked === true && lane.lease?.isUnsettled === true && !lane.inFlight) this.run(lane, "settle");
  }

  #serveWaiting(lane: Lane): void {
    let served = 0;
    for (const caller of lane.waiting) {
      if (!caller.settled) {
        const decision = this.#options.decideLocally(lane, caller.costs);
        if (decision === undefined) break;
        caller.settle(decision);
      }
      served++;
    }
    if (served > 0) lane.waiting = served === lane.waiting.length ? NOBODY : lane.waiting.slice(served);
  }

  #contextOf(roundTripMs: number): SettleContext {
    const { deadlineMs, onBucketFault, onAnswered, onStates } = this.#options;
    const now = this.#now();
    return {
      now,
      roundTripMs,
      deadlineMs,
      fallBack: this.#fallBack,
      onBucketFault,
      onAnswered,
      onStates,
    };
  }

  #now(): Instant {
    const { clock } = this.#options;
    return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
  }

  readonly #fallBack = (caller: Caller): void => {
    if (!caller.settled) caller.settle(this.#options.fallBack(caller.lane, caller.costs));
  };

  /** Decides for every caller that has waited long enough, and sets the timer for the next. */
  readonly #expire = (): void => {
    const { clock, deadlineMs } = this.#options;
    const nowMs = clock.monotonicMs();
    this.#deadline = undefined;
    let oldest = this.#arrivals.oldest();
    while (oldest !== undefined && nowMs - oldest.arrivedMs >= deadlineMs) {
      this.#fallBack(oldest);
      oldest = this.#arrivals.oldest();
    }
    if (oldest !== undefined)
      this.#deadline = clock.startTimer(this.#expire, Math.max(1, deadlineMs - (nowMs - oldest.arrivedMs)), true);
  };

  #stopDeadline(): void {
    this.#deadline?.cancel();
    this.#deadline = undefined;
  }

  /** Sees to it that lanes which hold something settle it when nobody comes any more. */
  #watch(lanes: readonly Lane[]): void {
    for (const lane of lanes) if (lane.lease?.isUnsettled === true) this.#unsettled.add(lane);
    if (this.#unsettled.size > 0 && this.#settleTimer === undefined && this.#closing === undefined)
      this.#startSettleTimer();
  }

  #startSettleTimer(): void {
    const { clock } = this.#options;
    let dueMs = Number.POSITIVE_INFINITY;
    for (const { lease } of this.#unsettled) dueMs = Math.min(dueMs, lease?.settleDueMs ?? dueMs);
    const delayMs = Math.max(SETTLE_PAUSE_MS, dueMs - clock.monotonicMs());
    this.#settleTimer = clock.startTimer(this.#settleSilent, delayMs, false);
  }

  readonly #settleSilent = (): void => {
    const nowMs = this.#options.clock.monotonicMs();
    this.#settleTimer = undefined;
    for (const lane of this.#unsettled) {
      const { lease } = lane;
      if (lease?.isUnsettled !== true) {
        this.#unsettled.delete(lane);
        if (!lane.posted && !lane.inFlight) this.#options.lanes.leave(lane);
      } else if (lease.settleDueMs <= nowMs && !lane.inFlight && lane.waiting.length === 0) {
        this.#unsettled.delete(lane);
        this.run(lane, "settle");
      }
    }
    if (this.#unsettled.size > 0) this.#startSettleTimer();
  };

  /**
   * Answers everybody who still waits and gives back every leased token; waits for the replies as long as for a decision.
   */
  async close(): Promise<void> {
    this.#stopDeadline();
    this.#settleTimer?.cancel();
    for (let caller = this.#arrivals.oldest(); caller !== undefined; caller = this.#arrivals.oldest())
      this.#fallBack(caller);
    const { clock, deadlineMs } = this.#options;
    await new Promise<void>((resolve) => {
      const limit = clock.startTimer(resolve, deadlineMs, true);
      this.#closing = () => {
        limit.cancel();
        resolve();
      };
      this.#settleAll();
    });
  }

  /** While closing: gives back what a call brought, until nothing is under way. */
  #settleAll(): void {
    for (const lane of this.#unsettled) {
      if (lane.lease?.isUnsettled === true && !lane.inFlight) this.run(lane, "settle");
      if (!lane.inFlight) this.#unsettled.delete(lane);
    }
    if (this.#calls === 0 && !this.#flushing) this.#closing?.();
  }
}

function stillWaits(caller: Caller): boolean {
  return !caller.settled;
}
