import { randomUUID } from "node:crypto";
import type { Clock, Timer } from "../clock.ts";
import { WHOLE } from "../stores/share-ledger.ts";
import type { Allotment, Beat, Store } from "../stores/store.ts";
import { DemandMeter } from "./demand-meter.ts";
import { type HeldShares, leastInUse, shareInUse } from "./share-mix.ts";

/** Not heard of for so long, a process counts no more, and others may have got its share. */
const LIFE_MS = 30_000;
/** A process speaks so often while it makes decisions: often at first and when something has moved. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 1000;
const PAUSE_GROWTH = 8;
/** While there is work it looks so often how much. */
const LOOK_PAUSE_MS = 100;
/** At first and at last for one that others hold a share of still; there can be few, as much as is worth that. */
const FIRST_OWED_PAUSE_MS = 50;
const LAST_OWED_PAUSE_MS = 500;
/** What was given up is told so soon, if it is worth something. */
const GIVEN_UP_PAUSE_MS = 50;
/**
 * Demand has moved when it is worth so much more or less of the limits than was last told; that is told at most so often, unless
 * the work was over meanwhile. The next beat follows soon: of several that move together, the first is offered too much.
 */
const MOVED = WHOLE / 20;
const SHORTEST_MOVE_MS = 1000;
const MOVED_PAUSE_MS = 50;
/** A process that has nothing to do any more lets go of its share, and says so until it is answered, so many times. */
const MOST_FAREWELLS = 4;
/** A timer that fires later than this was kept from it by other work. */
const LATE_MS = 50;
/** Demand is told in decisions per so many seconds, so that it is whole and yet fine. */
const DEMAND_SECONDS = 1000;
const MOST_DEMAND = 1e12;

/** One limiter of this process. */
export interface ShareUser {
  /** Decisions made since the start, however. */
  decided(): number;
  /** Whether some wait for the store, who are not decided for yet. */
  readonly hasCallersWaiting: boolean;
  /** How many processes there are at least. */
  readonly replicas: number;
  phase(): Phase;
  /** Since when the store has been away for a key that is decided for by its share, or held to it; else `undefined`. */
  awaySinceMs(key: string): number | undefined;
}

/**
 * `away`: a part of the store does not answer. `returning`: it does again, and shares are in use still that must not be changed
 * one by one.
 */
export type Phase = "ready" | "away" | "returning";

/** What the store last allotted, and when it was asked for that. */
interface Held extends HeldShares {
  readonly sentMs: number;
  readonly sentWallMs: number;
}

/** The beat that is waited for. */
interface SentBeat {
  readonly beat: Beat;
  readonly sentMs: number;
  readonly sentWallMs: number;
}

const known = new WeakMap<object, ReplicaShares>();

/** The shares of this process among all that use a store: limiters over the same store are one process. */
export function replicaSharesOf(store: Store, clock: Clock): ReplicaShares {
  const scope = store.scope ?? store;
  let shares = known.get(scope);
  if (shares === undefined) {
    shares = new ReplicaShares(store, clock);
    known.set(scope, shares);
  }
  return shares;
}

/**
 * What part of each limit this process may use while the store is away. It tells the store now and then how much is asked of
 * it: with the work that it does anyway, and once or twice when that ends. An idle process says nothing.
 */
export class ReplicaShares {
  readonly #id = randomUUID();
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #users = new Set<ShareUser>();
  #held: Held | undefined;
  #counted = 1;
  /** Of all processes, as last told. */
  #allDemand = 0;
  #meter: DemandMeter | undefined;
  #beats = 0;
  #sent: SentBeat | undefined;
  #isAnswered = false;
  /** Beats in a row that only let go. */
  #farewells = 0;
  #nextLookMs = 0;
  #nextBeatMs = 0;
  #nextMoveMs = 0;
  #pauseMs = FIRST_PAUSE_MS;
  #owedPauseMs = FIRST_OWED_PAUSE_MS;
  /** The next look whether there is still work to do, or the beat that says what was given up. */
  #timer: Timer | undefined;
  #timerDueMs = 0;

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  join(user: ShareUser): void {
    this.#users.add(user);
    this.#meter?.shift(user.decided());
  }

  /** The last one to go gives the shares back, as far as the store hears of it. */
  async leave(user: ShareUser): Promise<void> {
    const isReady = this.#phase() === "ready";
    if (!this.#users.delete(user)) return;
    this.#meter?.shift(-user.decided());
    if (this.#users.size > 0) {
      // Those who are left may have waited for it to be ready.
      this.noteReady();
      return;
    }
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#beats === 0 || !isReady) return;
    this.#held = undefined;
    await this.#say({ ...this.#beatOf(0), leaves: true });
  }

  /** Whether the store is there for all limiters. */
  get isReady(): boolean {
    return this.#phase() === "ready";
  }

  /** Since when the share of a key is in use, by any limiter; `undefined` while none needs it. */
  awaySinceMs(key: string): number | undefined {
    let sinceMs: number | undefined;
    for (const user of this.#users) sinceMs = earlier(sinceMs, user.awaySinceMs(key));
    return sinceMs;
  }

  /** How many processes share the limits. */
  get replicas(): number {
    return Math.max(this.#least, this.#counted);
  }

  /**
   * The part of each limit that this process may use, from 0 to 1.
   * @param awaySinceMs since when it knows that the store is away.
   */
  inUse(awaySinceMs: number): number {
    // Whoever the store had forgotten, or never knew, takes itself for one of those that it has heard of.
    return this.allotted(awaySinceMs) ?? 1 / this.replicas;
  }

  /** The same as far as the store has allotted it; `undefined` for a process that it did not know when it went away. */
  allotted(awaySinceMs: number): number | undefined {
    const held = this.#held;
    const nowMs = this.#clock.monotonicMs();
    const awayMs = nowMs - awaySinceMs;
    if (held === undefined || this.#ageMs(held, nowMs) - awayMs >= LIFE_MS) return undefined;
    return shareInUse(held, nowMs - held.sentMs, awayMs);
  }

  /** The least that {@link inUse} can come to while nothing is heard of the store. */
  get leastInUse(): number {
    const even = 1 / this.replicas;
    return this.#held === undefined ? even : Math.min(even, leastInUse(this.#held));
  }

  /** By the clock that has gone further: the monotonic one may stand still while a machine is suspended. */
  #ageMs({ sentMs, sentWallMs }: SentBeat | Held, nowMs: number): number {
    return Math.max(nowMs - sentMs, this.#clock.wallMs() - sentWallMs);
  }

  get #least(): number {
    let least = 1;
    for (const { replicas } of this.#users) least = Math.max(least, replicas);
    return least;
  }

  get #decisions(): number {
    let decisions = 0;
    for (const user of this.#users) decisions += user.decided();
    return decisions;
  }

  get #hasCallersWaiting(): boolean {
    for (const user of this.#users) if (user.hasCallersWaiting) return true;
    return false;
  }

  #phase(): Phase {
    let phase: Phase = "ready";
    for (const user of this.#users) {
      const its = user.phase();
      if (its === "returning") return its;
      if (its === "away") phase = its;
    }
    return phase;
  }

  /** Called when a decision is asked of the store. */
  noteAtWork(): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs < this.#nextLookMs || this.#store.allotShares === undefined) return;
    this.#nextLookMs = nowMs + LOOK_PAUSE_MS;
    if (this.#meter !== undefined) this.#lookAtWork(this.#meter, nowMs);
    else {
      this.#meter = new DemandMeter(this.#decisions, nowMs);
      // A process that has only just begun may be gone before it counts.
      this.#nextLookMs = nowMs + FIRST_PAUSE_MS;
    }
    if (this.#nextBeatMs > nowMs) this.#nextLookMs = Math.min(this.#nextLookMs, this.#nextBeatMs);
  }

  #lookAtWork(meter: DemandMeter, nowMs: number): void {
    meter.read(this.#decisions, nowMs);
    if (nowMs >= this.#nextMoveMs && this.#hasMoved(meter)) {
      meter.forgetPast();
      this.#nextMoveMs = nowMs + SHORTEST_MOVE_MS;
      this.#pauseMs = MOVED_PAUSE_MS;
      this.#owedPauseMs = FIRST_OWED_PAUSE_MS;
      this.#nextBeatMs = nowMs;
    }
    // Work that has just begun has no rate yet.
    if (nowMs >= this.#nextBeatMs && meter.perSecond > 0 && this.#phase() !== "returning") this.#beat(meter, nowMs);
  }

  /** Whether the demand of now is due another share than the one that was last told. */
  #hasMoved(meter: DemandMeter): boolean {
    const told = this.#sent?.beat.demand ?? 0;
    // Where there was none, any is news.
    if (told > 0 && meter.isLikely(told / DEMAND_SECONDS)) return false;
    const others = Math.max(0, this.#allDemand - told);
    const due = (demand: number): number => (demand === 0 ? 0 : (WHOLE * demand) / (others + demand));
    return Math.abs(due(wholeDemand(meter.latePerSecond)) - due(told)) > MOVED;
  }

  #beat(meter: DemandMeter, nowMs: number): void {
    if (this.#held !== undefined && this.#ageMs(this.#held, nowMs) >= LIFE_MS) this.#held = undefined;
    this.#nextBeatMs = nowMs + this.#pauseMs;
    this.#pauseMs = Math.min(PAUSE_GROWTH * this.#pauseMs, LONGEST_PAUSE_MS);
    this.#farewells = 0;
    void this.#say(this.#beatOf(wholeDemand(meter.perSecond)));
    this.#startTimer(meter.nextLookMs);
  }

  #beatOf(demand: number): Beat {
    const { share = 0, even = 0 } = this.#held ?? {};
    const number = ++this.#beats;
    return { id: this.#id, number, lifeMs: LIFE_MS, share, even, demand, replicas: this.#least, leaves: false };
  }

  /** A beat that is lost is not told again: the next one says more. */
  async #say(beat: Beat): Promise<void> {
    const sent = { beat, sentMs: this.#clock.monotonicMs(), sentWallMs: this.#clock.wallMs() };
    this.#sent = sent;
    this.#isAnswered = false;
    try {
      const allotment = await this.#store.allotShares?.(beat);
      if (allotment !== undefined) this.#adopt(sent, allotment);
    } catch {
      // Nothing is taken over, which is always safe.
    }
  }

  /** Takes over what is offered. Once the next beat has left, the store counts on it that this answer is not used any more. */
  #adopt(sent: SentBeat, { replicas, share, even, due, demand }: Allotment): void {
    const nowMs = this.#clock.monotonicMs();
    if (this.#sent !== sent || sent.beat.leaves || this.#ageMs(sent, nowMs) >= LIFE_MS) return;
    this.#isAnswered = true;
    this.#held = { share, even, sentMs: sent.sentMs, sentWallMs: sent.sentWallMs };
    this.#counted = Math.max(1, replicas);
    this.#allDemand = demand;
    if (share < due - MOVED) {
      this.#beatWithin(this.#owedPauseMs);
      this.#owedPauseMs = Math.min(2 * this.#owedPauseMs, LAST_OWED_PAUSE_MS);
    }
    if (this.#hasHeardAll) return;
    // What was given up is free for others once the store hears that it is, so that is said soon, with or without work.
    const pauseMs = sent.beat.share - share > MOVED ? GIVEN_UP_PAUSE_MS : FIRST_PAUSE_MS;
    this.#beatWithin(pauseMs);
    this.#startTimer(pauseMs);
  }

  #beatWithin(ms: number): void {
    this.#nextBeatMs = Math.min(this.#nextBeatMs, this.#clock.monotonicMs() + ms);
    this.#nextLookMs = Math.min(this.#nextLookMs, this.#nextBeatMs);
  }

  /** Whether the store has been told of all that was given up. */
  get #hasHeardAll(): boolean {
    const { share = 0, even = 0 } = this.#sent?.beat ?? {};
    return share <= (this.#held?.share ?? 0) && even <= (this.#held?.even ?? 0);
  }

  #startTimer(delayMs: number): void {
    this.#timer?.cancel();
    this.#timerDueMs = this.#clock.monotonicMs() + delayMs;
    this.#timer = this.#clock.startTimer(this.#look, delayMs, false);
  }

  /** Looks whether there is still something to do, until the store has heard that there is not. */
  readonly #look = (): void => {
    this.#timer = undefined;
    const nowMs = this.#clock.monotonicMs();
    const meter = this.#meter;
    if (meter === undefined || this.#phase() !== "ready") return;
    if (nowMs - this.#timerDueMs > LATE_MS) {
      // The loop has stood still: what was asked meanwhile is not decided yet.
      this.#startTimer(FIRST_PAUSE_MS);
      return;
    }
    meter.read(this.#decisions, nowMs);
    if (meter.quietInMs > 0) {
      if (nowMs >= this.#nextBeatMs) this.#beat(meter, nowMs);
      else this.#startTimer(meter.nextLookMs);
      // The store may be about to be found away: that is not the end of the work.
    } else if (this.#hasCallersWaiting) this.#startTimer(LOOK_PAUSE_MS);
    else if (this.#farewells === 0 || !this.#isAnswered || !this.#hasHeardAll) this.#letGo(meter);
  };

  /** The store can be spoken to again, by one limiter at least: what was put off until then is due. */
  noteReady(): void {
    if (this.#beats === 0 || this.#timer !== undefined || this.#users.size === 0 || this.#phase() !== "ready") return;
    if (!this.#isAnswered || !this.#hasHeardAll) this.#farewells = 0;
    this.#startTimer(GIVEN_UP_PAUSE_MS);
  }

  /** Gives up the share and says so: there is no demand any more. The even one is kept as long as the process counts. */
  #letGo(meter: DemandMeter): void {
    meter.forgetAll();
    if (this.#held !== undefined) this.#held = { ...this.#held, share: 0 };
    this.#nextMoveMs = 0;
    if (this.#farewells >= MOST_FAREWELLS) return;
    this.#farewells++;
    void this.#say(this.#beatOf(0));
    this.#startTimer(FIRST_PAUSE_MS);
  }
}

function earlier(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || (other !== undefined && other < one) ? other : one;
}

function wholeDemand(perSecond: number): number {
  return Math.min(MOST_DEMAND, Math.round(perSecond * DEMAND_SECONDS));
}
