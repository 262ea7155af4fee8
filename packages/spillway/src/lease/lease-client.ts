import type { Clock, Timer } from "../clock.ts";
import type { Decision } from "../decision.ts";
import type { SpillwayError } from "../errors.ts";
import type { NodeGuard } from "../failover/guarded-store.ts";
import { ArrivalQueue, Caller } from "./caller.ts";
import type { Lane } from "./lane.ts";
import { type SettleContext, StoreCall } from "./store-call.ts";

/** Captured at import: fake timers of a test runner must not keep callers from the store. */
const nextTurn: (run: () => void) => void = setImmediate;

/** Keys that travel in one call, and how many when more callers wait than the allowed calls would carry so. */
const KEYS_PER_CALL = 32;
const MOST_KEYS_PER_CALL = 256;

export interface LeaseClientOptions {
  readonly clock: Clock;
  readonly deadlineMs: number;
  /** Which part of the store a key lives on, and which keys can travel together. */
  groupOf(key: string): number;
  guardOf(group: number): NodeGuard;
  /** Decides without the store. */
  fallBack(lane: Lane, costs: readonly number[]): Decision;
  onBucketFault(error: SpillwayError): void;
}

/** Lanes of one node that have callers to send. */
interface Outbox {
  readonly guard: NodeGuard;
  lanes: Lane[];
}

/**
 * Takes callers to the store: one call under way for each key, all who came meanwhile in the next one, in order; keys that
 * need the store in one turn of the event loop travel together. Nobody waits past the deadline.
 */
export class LeaseClient {
  readonly #options: LeaseClientOptions;
  readonly #outboxes = new Map<NodeGuard, Outbox>();
  readonly #arrivals = new ArrivalQueue();
  #deadline: Timer | undefined;
  #flushing = false;

  constructor(options: LeaseClientOptions) {
    this.#options = options;
  }

  /** Asks the store for a decision. `resolve` is called once, within the deadline. */
  ask(lane: Lane, costs: readonly number[], resolve: (decision: Decision) => void): Caller {
    const { clock } = this.#options;
    const caller = new Caller(lane, costs, clock.monotonicMs(), clock.wallMs(), resolve);
    lane.waiting.push(caller);
    this.#arrivals.push(caller);
    if (!lane.inFlight && lane.waiting.length === 1) this.#post(lane);
    this.#deadline ??= clock.startTimer(this.#expire, this.#options.deadlineMs, true);
    return caller;
  }

  #post(lane: Lane): void {
    const guard = this.#options.guardOf(this.#options.groupOf(lane.key));
    let outbox = this.#outboxes.get(guard);
    if (outbox === undefined) {
      outbox = { guard, lanes: [] };
      this.#outboxes.set(guard, outbox);
    }
    outbox.lanes.push(lane);
    if (this.#flushing) return;
    this.#flushing = true;
    nextTurn(this.#flush);
  }

  readonly #flush = (): void => {
    this.#flushing = false;
    for (const outbox of this.#outboxes.values()) this.#flushOne(outbox);
  };

  #flushOne(outbox: Outbox): void {
    const { guard } = outbox;
    outbox.lanes = outbox.lanes.filter(isWaiting);
    if (guard.isOpen) {
      const { lanes } = outbox;
      outbox.lanes = [];
      for (const lane of lanes) {
        for (const caller of lane.waiting) this.#fallBack(caller);
        lane.waiting = [];
      }
      return;
    }
    for (let free = guard.freeFlights; free > 0 && outbox.lanes.length > 0; free = guard.freeFlights) {
      const size = Math.ceil(outbox.lanes.length / free);
      this.#send(guard, outbox.lanes.splice(0, Math.min(Math.max(size, KEYS_PER_CALL), MOST_KEYS_PER_CALL)));
    }
  }

  /** One flight: a call for each group of keys that can travel together. */
  #send(guard: NodeGuard, lanes: readonly Lane[]): void {
    const groups = new Map<number, Lane[]>();
    for (const lane of lanes) {
      const group = this.#options.groupOf(lane.key);
      const together = groups.get(group);
      if (together === undefined) groups.set(group, [lane]);
      else together.push(lane);
    }
    const calls = [...groups.values()].map((together) => new StoreCall(together));
    const oldestMs = Math.min(...calls.map((call) => call.oldestMs()));
    guard.send(
      calls.map((storeCall) => ({
        call: storeCall.call,
        onReply: (reply) => {
          storeCall.settle(reply, this.#context());
          this.#landed(storeCall);
        },
        onMiss: () => {
          storeCall.abandon(this.#fallBack);
          this.#landed(storeCall);
        },
        onLate: () => {},
        onFault: () => {
          storeCall.abandon(this.#fallBack);
          this.#landed(storeCall);
        },
      })),
      oldestMs === Number.POSITIVE_INFINITY ? this.#options.clock.monotonicMs() : oldestMs,
    );
  }

  #landed(storeCall: StoreCall): void {
    for (const lane of storeCall.release()) this.#post(lane);
    if (this.#arrivals.oldest() === undefined) this.#stopDeadline();
    if (!this.#flushing) {
      this.#flushing = true;
      nextTurn(this.#flush);
    }
  }

  #context(): SettleContext {
    const { clock, deadlineMs, onBucketFault } = this.#options;
    const nowMs = clock.monotonicMs();
    const nowWallMs = clock.wallMs();
    return {
      nowMs,
      isLate: ({ arrivedMs, arrivedWallMs }) =>
        nowMs - arrivedMs > deadlineMs || nowWallMs - arrivedWallMs > deadlineMs,
      fallBack: this.#fallBack,
      onBucketFault,
    };
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

  /** Answers everybody who still waits. */
  close(): void {
    this.#stopDeadline();
    for (let caller = this.#arrivals.oldest(); caller !== undefined; caller = this.#arrivals.oldest())
      this.#fallBack(caller);
  }

  #stopDeadline(): void {
    this.#deadline?.cancel();
    this.#deadline = undefined;
  }
}

/** Whether anybody of the lane still wants an answer; forgets those who do not. */
function isWaiting(lane: Lane): boolean {
  if (!lane.waiting.every((caller) => caller.settled)) return true;
  lane.waiting = [];
  return false;
}
