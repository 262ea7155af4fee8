import { RollingCounts } from "./rolling-counts.ts";

/**
 * The breaker in front of one origin. The limiter's own (`spillway/src/failover`) asks a store that has a cheap probe, opens
 * after three silent calls, and knows one trial; an HTTP origin has no probe, is called by many at once, and is judged by a
 * share of failures. So this one counts in a window, lets a number of real calls try, and numbers its states. Time and chance
 * are arguments.
 */
export interface BreakerSettings {
  readonly windowMs: number;
  /** The share of failures among the calls of the window that opens it, above 0, at most 1. */
  readonly failureRatio: number;
  /** Calls in the window, or under way without any answer, below which it stays closed. */
  readonly minimumCalls: number;
  /** How long it stays open; up to a tenth is added by chance. */
  readonly openMs: number;
  /** Calls that are let through at a time to find out, and so many must do well. */
  readonly probes: number;
  /** How long one such call may take before it counts as failed. */
  readonly probeTimeoutMs: number;
  /** How long none of the calls under way may be answered before it opens, for an origin that is quick otherwise. */
  readonly silenceMs: number;
}

export interface ClosedState {
  readonly kind: "closed";
}

/** No call goes through before `untilMs`. */
export interface OpenState {
  readonly kind: "open";
  readonly untilMs: number;
  /** `"silent"`: calls are under way that nobody answers; the first answer closes it. */
  readonly reason: "failing" | "silent";
}

/** A few calls go through and decide. */
export interface HalfOpenState {
  readonly kind: "half-open";
  readonly running: ReadonlySet<Ticket>;
  readonly succeeded: number;
}

export type BreakerState = ClosedState | OpenState | HalfOpenState;

/** One call that was let through. It must be settled once, whatever becomes of it. */
export interface Ticket {
  readonly generation: number;
  readonly startedMs: number;
}

/**
 * `"answered"`: the origin works, also when it refused by a limit. `"failed"`: an error of the server, of the network, or out
 * of time. `"withdrawn"`: the caller went away, which says nothing.
 */
export type CallResult = "answered" | "failed" | "withdrawn";

/** Silences are measured in medians of past calls, so that a slow origin is not taken for a dead one. */
const SILENT_MEDIANS = 4;

export class CircuitBreaker {
  readonly #settings: BreakerSettings;
  #state: BreakerState = { kind: "closed" };
  /** Grows with each change of state: what a call of an earlier state reports is not taken for news of this one. */
  #generation = 0;
  #window: RollingCounts;
  #underWay = 0;
  /** Since when the calls under way have had no answer. */
  #quietSinceMs = 0;

  constructor(settings: BreakerSettings) {
    this.#settings = settings;
    this.#window = new RollingCounts(settings.windowMs);
  }

  get state(): BreakerState {
    return this.#state;
  }

  /** Calls let through and not settled. */
  get underWay(): number {
    return this.#underWay;
  }

  /** How long no call can go through, as far as is known; 0 when one may. */
  closedForMs(nowMs: number): number {
    return this.#state.kind === "open" ? Math.max(0, this.#state.untilMs - nowMs) : 0;
  }

  /**
   * Lets a call through, or not.
   * @param medianMs how long calls take that do well; `undefined` when not known.
   * @param chance from 0 up to 1.
   */
  start(nowMs: number, medianMs: number | undefined, chance: number): Ticket | undefined {
    if (this.#state.kind === "closed" && this.#isSilent(nowMs, medianMs)) this.#open(nowMs, "silent", chance);
    if (this.#state.kind === "open" && nowMs >= this.#state.untilMs)
      this.#enter({ kind: "half-open", running: new Set(), succeeded: 0 });
    if (this.#state.kind === "half-open" && this.#probeOverdue(this.#state, nowMs))
      this.#open(nowMs, "failing", chance);
    if (this.#state.kind === "open") return undefined;
    const ticket = { generation: this.#generation, startedMs: nowMs };
    if (this.#state.kind === "half-open") {
      const { running, succeeded } = this.#state;
      if (running.size >= this.#settings.probes) return undefined;
      this.#state = { kind: "half-open", running: new Set([...running, ticket]), succeeded };
    }
    if (this.#underWay++ === 0) this.#quietSinceMs = nowMs;
    return ticket;
  }

  /** The end of a call that was let through. @param chance from 0 up to 1. */
  settle(ticket: Ticket, result: CallResult, nowMs: number, chance: number): void {
    this.#underWay--;
    if (result === "answered") this.#quietSinceMs = nowMs;
    const state = this.#state;
    if (state.kind === "open") {
      if (state.reason === "silent" && result === "answered") this.#close();
      return;
    }
    if (ticket.generation !== this.#generation) return;
    if (state.kind === "half-open") this.#settleProbe(state, ticket, result, nowMs, chance);
    else if (result !== "withdrawn") this.#count(result === "failed", nowMs, chance);
  }

  #settleProbe(state: HalfOpenState, ticket: Ticket, result: CallResult, nowMs: number, chance: number): void {
    const running = new Set([...state.running].filter((one) => one !== ticket));
    const succeeded = state.succeeded + (result === "answered" ? 1 : 0);
    if (result === "failed") this.#open(nowMs, "failing", chance);
    else if (succeeded >= this.#settings.probes) this.#close();
    else this.#state = { kind: "half-open", running, succeeded };
  }

  #count(failed: boolean, nowMs: number, chance: number): void {
    this.#window.add(nowMs, failed);
    const { minimumCalls, failureRatio } = this.#settings;
    const calls = this.#window.all(nowMs);
    const tooMany = calls >= minimumCalls && this.#window.apart(nowMs) >= failureRatio * calls;
    // A call that did well is no reason to open, even if it is the one that makes enough calls to judge by.
    if (failed && tooMany) this.#open(nowMs, "failing", chance);
  }

  #isSilent(nowMs: number, medianMs = 0): boolean {
    const { minimumCalls, silenceMs } = this.#settings;
    const patienceMs = Math.max(silenceMs, SILENT_MEDIANS * medianMs);
    return this.#underWay >= minimumCalls && nowMs - this.#quietSinceMs >= patienceMs;
  }

  #probeOverdue({ running }: HalfOpenState, nowMs: number): boolean {
    return [...running].some(({ startedMs }) => nowMs - startedMs >= this.#settings.probeTimeoutMs);
  }

  #open(nowMs: number, reason: OpenState["reason"], chance: number): void {
    this.#enter({ kind: "open", untilMs: nowMs + this.#settings.openMs * (1 + chance / 10), reason });
  }

  #close(): void {
    this.#window = new RollingCounts(this.#settings.windowMs);
    this.#enter({ kind: "closed" });
  }

  #enter(state: BreakerState): void {
    this.#state = state;
    this.#generation++;
  }
}
