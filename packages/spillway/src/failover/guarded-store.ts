import type { Clock, Timer } from "../clock.ts";
import { isSpillwayError, SpillwayError, thrownText } from "../errors.ts";
import type { BucketAddress, Store, TakeCall, TakeReply } from "../stores/store.ts";
import {
  admitsCall,
  type BreakerEvent,
  type BreakerState,
  longestUnnoticedMs,
  MOST_MISSES,
  newBreaker,
  nextBreaker,
} from "./circuit-breaker.ts";

/** How much longer than after a silent one the pause is at most after a probe that is refused. */
const REFUSED_PAUSE_MS = 50;

/**
 * A call and what becomes of it. Exactly one of `onReply`, `onMiss` and `onFault` comes; after a miss, `onLate` may. An
 * `onReply` that throws, since the reply is none, is followed by `onFault`.
 */
export interface GuardedCall {
  readonly call: TakeCall;
  onReply(reply: TakeReply, roundTripMs: number): void;
  onMiss(): void;
  onLate(reply: TakeReply, roundTripMs: number): void;
  onFault(error: SpillwayError): void;
}

/** Told of each change between "the store decides" and "the store is left alone". */
export interface GuardListener {
  onBreaker(state: BreakerState, before: BreakerState): void;
  /** The keys that this node was asked for live on another one now: nothing will be asked of it, so nothing can close it. */
  onMoved(): void;
  onMiss(): void;
  onFault(error: SpillwayError): void;
  onSent(calls: number): void;
  /** A probe was not answered. */
  onStillAway(): void;
}

/**
 * One node of a store behind a deadline and a circuit breaker. At most three flights (a call, or the calls of one turn to a
 * cluster node) are under way at once, and fewer while misses are fresh: so no more than three are ever missed before the
 * breaker opens.
 */
export class NodeGuard {
  readonly #store: Store;
  readonly #node: string;
  readonly #clock: Clock;
  readonly #deadlineMs: number;
  readonly #listener: GuardListener;
  #breaker: BreakerState;
  #flights = 0;
  #roundTripMs = 0;
  /** When the last call or probe was sent that showed the store to be away, by both clocks. */
  #failedSentMs = 0;
  #failedSentWallMs = 0;
  #awaySinceMs = 0;
  /** When the last call was sent that was answered in time. One clock stands still while a machine is suspended. */
  #answeredSentMs = Number.NEGATIVE_INFINITY;
  #answeredSentWallMs = Number.NEGATIVE_INFINITY;
  #probeAddress: BucketAddress | undefined;
  /** The next probe, or the end of one that is under way. */
  #probeTimer: Timer | undefined;
  #isProbing = false;
  /** Whether all count on a store that has answered a probe, though nothing else was asked of it here. */
  #isCountedOn = false;
  #closed = false;

  constructor(store: Store, node: string, clock: Clock, deadlineMs: number, listener: GuardListener) {
    this.#store = store;
    this.#node = node;
    this.#clock = clock;
    this.#deadlineMs = deadlineMs;
    this.#listener = listener;
    this.#breaker = newBreaker(clock.monotonicMs());
  }

  get state(): BreakerState {
    return this.#breaker;
  }

  /** An estimate from above of nearly all round trips. */
  get roundTripMs(): number {
    return this.#roundTripMs;
  }

  /** Since when it is known not to answer: when the call was sent that found it so. `undefined` while all is well. */
  get awaySinceMs(): number | undefined {
    if (this.#breaker.kind === "closed") return this.#breaker.misses > 0 ? this.#failedSentMs : undefined;
    return this.#awaySinceMs;
  }

  /** For how long the node may have been back by now, unnoticed: since the last call or probe was sent that failed. */
  get unnoticedMs(): number {
    return Math.max(this.#clock.monotonicMs() - this.#failedSentMs, this.#clock.wallMs() - this.#failedSentWallMs);
  }

  /**
   * For how long the node can have been away by now, for whichever process: since a call was sent that it answered in time. A probe
   * that is answered does not show that it serves anybody.
   */
  get silentMs(): number {
    return Math.max(this.#clock.monotonicMs() - this.#answeredSentMs, this.#clock.wallMs() - this.#answeredSentWallMs);
  }

  /**
   * Whether this process, kept from running, has not looked for the node as soon as others count on: it may have been back for longer
   * than they hold back.
   */
  get isOverdue(): boolean {
    const nowMs = this.#clock.monotonicMs();
    // Beside a call on trial shares are used no longer than it may take.
    if (this.#breaker.kind === "half-open") return nowMs - (this.#breaker.trialMs ?? nowMs) > 2 * this.#deadlineMs;
    if (this.#breaker.kind !== "open") return false;
    const openMs = nowMs - this.#breaker.openedMs;
    return this.unnoticedMs > longestUnnoticedMs(openMs, this.#deadlineMs);
  }

  #noteFailed(sentMs: number, sentWallMs: number): void {
    if (sentMs < this.#failedSentMs) return;
    this.#failedSentMs = sentMs;
    this.#failedSentWallMs = sentWallMs;
  }

  #noteAnswered(sentMs: number, sentWallMs: number): void {
    if (sentMs < this.#answeredSentMs) return;
    this.#answeredSentMs = sentMs;
    this.#answeredSentWallMs = sentWallMs;
  }

  /** Whether what was last asked of this node is asked of another one now. */
  get hasMoved(): boolean {
    return this.#probeAddress !== undefined && this.#isElsewhere(this.#probeAddress);
  }

  /** Whether decisions are to be made without the store. */
  get isOpen(): boolean {
    if (this.#breaker.kind === "closed" || this.#isCountedOn) return false;
    // What was sent before it opened must have landed first: else its outcome would be taken for that of the trial.
    return !admitsCall(this.#breaker) || this.#flights > 0;
  }

  /** Whether callers wait for it, who are not decided for yet. */
  get isAsked(): boolean {
    return this.#flights > 0;
  }

  /** Whether a call was missed and nothing was answered since. */
  get isInDoubt(): boolean {
    return this.#breaker.kind === "closed" && this.#breaker.misses > 0;
  }

  /** How many more flights may start now. */
  get freeFlights(): number {
    if (this.#closed || this.isOpen) return 0;
    if (this.#breaker.kind === "closed") return MOST_MISSES - this.#breaker.misses - this.#flights;
    return admitsCall(this.#breaker) && this.#flights === 0 ? 1 : 0;
  }

  /**
   * Every process must have found by now that the store answers. Shares are not to be used beside it any more: from now on callers
   * wait for the trial, as long as they would for any other call.
   */
  countOn(): void {
    this.#isCountedOn = this.#breaker.kind === "half-open";
  }

  /** Whether callers wait for it though it has only answered a probe yet. */
  get isCountedOn(): boolean {
    return this.#isCountedOn;
  }

  /** Sends calls as one flight. Only when `freeFlights` is above 0. `oldestMs` is when their oldest caller arrived. */
  send(calls: readonly GuardedCall[], oldestMs: number): void {
    if (this.#breaker.kind === "half-open") this.#on({ kind: "trial-started" });
    this.#flights++;
    this.#listener.onSent(calls.length);
    let open = calls.length;
    const landed = (): void => {
      if (--open === 0) this.#flights--;
    };
    for (const guarded of calls) this.#sendOne(guarded, oldestMs, landed);
  }

  #sendOne(guarded: GuardedCall, oldestMs: number, landed: () => void): void {
    this.#probeAddress = guarded.call.buckets[0];
    let missed = false;
    let settled = false;
    const sentMs = this.#clock.monotonicMs();
    const sentWallMs = this.#clock.wallMs();
    const leftMs = Math.max(1, this.#deadlineMs - (sentMs - oldestMs));
    const timer = this.#clock.startTimer(() => this.#clock.afterTurn(miss), leftMs, true);
    const miss = (): void => {
      if (settled) return;
      missed = true;
      this.#noteFailed(sentMs, sentWallMs);
      landed();
      this.#listener.onMiss();
      this.#on({ kind: "missed" });
      guarded.onMiss();
    };
    const replied = (reply: TakeReply): void => {
      settled = true;
      const tookMs = this.#clock.monotonicMs() - sentMs;
      if (missed) {
        this.#noteRoundTrip(tookMs);
        this.#probeAtOnce();
        guarded.onLate(reply, this.#roundTripMs);
        return;
      }
      timer.cancel();
      landed();
      this.#noteAnswered(sentMs, sentWallMs);
      this.#on({ kind: "answered" });
      // One that is over its time and yet not missed has waited for this process, not for the store.
      if (tookMs <= leftMs) this.#noteRoundTrip(tookMs);
      guarded.onReply(reply, this.#roundTripMs);
    };
    const failed = (cause: unknown): void => {
      settled = true;
      const error = asStoreError(cause);
      this.#listener.onFault(error);
      if (missed) return;
      timer.cancel();
      landed();
      this.#noteFailed(sentMs, sentWallMs);
      const fatal = error.code === "ERR_SPILLWAY_STORE_UNAVAILABLE";
      this.#on({ kind: "failed", fatal, reason: error.message });
      guarded.onFault(error);
    };
    // What a store must not answer is found out by who reads it.
    const unreadable = (cause: unknown): void => {
      const error = asReplyError(cause);
      this.#listener.onFault(error);
      if (!missed) guarded.onFault(error);
    };
    this.#take(guarded.call).then(replied, failed).catch(unreadable);
  }

  /** A store of somebody else's may throw where it should reject. */
  async #take(call: TakeCall): Promise<TakeReply> {
    return await this.#store.take(call);
  }

  /** A slow round trip counts at once and is forgotten slowly: an estimate from above of nearly all of them. */
  #noteRoundTrip(ms: number): void {
    this.#roundTripMs = Math.max(ms, this.#roundTripMs + (ms - this.#roundTripMs) / 50);
  }

  /** @param atMs when it counts as having happened; now if left out. */
  #on(event: BreakerEvent, atMs: number = this.#clock.monotonicMs()): void {
    const before = this.#breaker;
    const after = nextBreaker(before, event, atMs, Math.random());
    this.#breaker = after;
    if (after.kind !== "half-open") this.#isCountedOn = false;
    if (after.kind === "open" && (before.kind === "closed" || before.openedMs !== after.openedMs))
      this.#awaySinceMs = this.#failedSentMs;
    if (after.kind === "open" && after !== before) this.#scheduleProbe(after.nextProbeMs);
    // How long replies took while it was away says nothing of a store that is back.
    if (after.kind === "closed" && before.kind !== "closed") this.#roundTripMs = 0;
    if (after.kind !== before.kind) this.#listener.onBreaker(after, before);
  }

  #scheduleProbe(atMs: number): void {
    this.#probeTimer?.cancel();
    if (this.#closed) return;
    this.#probeTimer = this.#clock.startTimer(() => this.#probe(), atMs - this.#clock.monotonicMs(), false);
  }

  /** A late reply is the first sign of a store that answers again. */
  #probeAtOnce(): void {
    if (this.#breaker.kind !== "open" || this.#isProbing) return;
    this.#probeTimer?.cancel();
    this.#probe();
  }

  /** Asks what a real call asks, of a key that is in use, and takes nothing: it meets what a real call would meet. */
  #probe(): void {
    const address = this.#probeAddress;
    if (this.#closed || address === undefined) return;
    if (this.#isElsewhere(address)) {
      this.#listener.onMoved();
      return;
    }
    let over = false;
    const sentMs = this.#clock.monotonicMs();
    const sentWallMs = this.#clock.wallMs();
    const end = (event: BreakerEvent): void => {
      if (over || this.#closed) return;
      over = true;
      this.#isProbing = false;
      limit.cancel();
      if (event.kind === "probe-failed") this.#noteFailed(sentMs, sentWallMs);
      // Whoever answered for a node that has lost its keys is another one.
      if (event.kind === "probe-answered" && this.#isElsewhere(address)) this.#listener.onMoved();
      else this.#on(event, event.kind === "probe-failed" ? this.#failedMs(sentMs) : undefined);
      if (event.kind === "probe-failed") this.#listener.onStillAway();
    };
    const limit = this.#clock.startTimer(
      () => this.#clock.afterTurn(() => end({ kind: "probe-failed", reason: "no reply within the deadline" })),
      this.#deadlineMs,
      false,
    );
    this.#probeTimer = limit;
    this.#isProbing = true;
    this.#take({ buckets: [{ ...address, report: undefined }], runs: [] }).then(
      () => end({ kind: "probe-answered" }),
      (cause: unknown) => end({ kind: "probe-failed", reason: asStoreError(cause).message }),
    );
  }

  /** One that is refused at once, perhaps with its connection, counts as failed a little later, as if it had been waited for. */
  #failedMs(sentMs: number): number {
    return Math.min(sentMs + this.#deadlineMs, this.#clock.monotonicMs() + REFUSED_PAUSE_MS);
  }

  /** A store that knows no node at present, since it has lost them all, has not moved anything. */
  #isElsewhere({ key }: BucketAddress): boolean {
    const node = nodeOf(this.#store, this.#store.groupOf?.(key) ?? 0);
    return node !== "" && node !== this.#node;
  }

  close(): void {
    this.#closed = true;
    this.#probeTimer?.cancel();
  }
}

/** The part of a store that fails as one for keys of a group; empty for a store that fails as a whole. */
export function nodeOf(store: Store, group: number): string {
  return store.nodeOf?.(group) ?? "";
}

function asReplyError(cause: unknown): SpillwayError {
  const message = `The store's reply cannot be read: ${cause instanceof Error ? cause.message : thrownText(cause)}`;
  return new SpillwayError("ERR_SPILLWAY_STORE_REPLY", message, { cause });
}

/** What a store rejects with, as the error that the limiter speaks of. */
export function asStoreError(cause: unknown): SpillwayError {
  if (isSpillwayError(cause)) return cause;
  const message = cause instanceof Error ? cause.message : thrownText(cause);
  return new SpillwayError("ERR_SPILLWAY_STORE_FAILED", `The store failed: ${message}`, { cause });
}
