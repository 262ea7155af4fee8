/** Demand is averaged over about this time; to find out whether it has moved, over the shorter one. */
const SMOOTHING_MS = 5000;
const ALERT_MS = 500;
/** Silence is the time in which so many decisions would have been asked for, within bounds. */
const QUIET_DECISIONS = 20;
const SHORTEST_QUIET_MS = 100;
const LONGEST_QUIET_MS = 5000;
/** Silence is looked for so often in that time, and not more often than this. */
const LOOKS = 4;
const SHORTEST_LOOK_MS = 50;
/** Where work begins again so soon after it was over, it comes in bursts: its pauses are given more time then, up to this many times. */
const SOON_MS = 600;
const MOST_PATIENCE = 8;
/** Counts that are within so many standard deviations of each other differ by chance. */
const DEVIATIONS = 3;

/** How much is asked of a process, from counts that are read now and then. Time is an argument. */
export class DemandMeter {
  #nowMs: number;
  #decisions: number;
  /** Since when it is averaged: until that is longer, over this time. */
  #sinceMs: number;
  /** When decisions were last found to have been made, and how long a silence after that ends the work. */
  #busyMs: number;
  #quietMs = LONGEST_QUIET_MS;
  #perSecond = 0;
  #latePerSecond = 0;
  #patience = 1;
  /** When the work was over, until it begins again. */
  #overMs: number | undefined;

  /** @param decisions the count so far. */
  constructor(decisions: number, nowMs: number) {
    this.#decisions = decisions;
    this.#nowMs = nowMs;
    this.#sinceMs = nowMs;
    this.#busyMs = nowMs;
  }

  /** Decisions a second, lately. */
  get perSecond(): number {
    return this.#perSecond;
  }

  /** The same over a shorter time, so less even. */
  get latePerSecond(): number {
    return this.#latePerSecond;
  }

  /** @param decisions the count at `nowMs`. */
  read(decisions: number, nowMs: number): void {
    const elapsedMs = nowMs - this.#nowMs;
    if (elapsedMs <= 0) return;
    if (this.#overMs !== undefined && decisions !== this.#decisions) this.#beginAgain(nowMs, nowMs - this.#overMs);
    else {
      const perSecond = ((decisions - this.#decisions) * 1000) / elapsedMs;
      this.#perSecond += (perSecond - this.#perSecond) * this.#weight(elapsedMs, nowMs, SMOOTHING_MS);
      this.#latePerSecond += (perSecond - this.#latePerSecond) * this.#weight(elapsedMs, nowMs, ALERT_MS);
    }
    if (decisions !== this.#decisions) {
      this.#busyMs = nowMs;
      this.#quietMs = Math.min(
        LONGEST_QUIET_MS,
        this.#patience * Math.max(SHORTEST_QUIET_MS, (1000 * QUIET_DECISIONS) / this.#perSecond),
      );
    }
    this.#decisions = decisions;
    this.#nowMs = nowMs;
  }

  /** Of what was read for the last `elapsedMs`. */
  #weight(elapsedMs: number, nowMs: number, smoothingMs: number): number {
    return Math.expm1(-elapsedMs / smoothingMs) / Math.expm1(-(nowMs - this.#sinceMs) / smoothingMs);
  }

  /** How much there was of it in the time before says nothing. */
  #beginAgain(nowMs: number, afterMs: number): void {
    this.#overMs = undefined;
    this.#sinceMs = nowMs;
    this.#patience = afterMs < SOON_MS ? Math.min(MOST_PATIENCE, 2 * this.#patience) : Math.max(1, this.#patience / 2);
  }

  /** Decisions that are none: another counter joined, or left. */
  shift(decisions: number): void {
    this.#decisions += decisions;
  }

  /** Demand has moved: what was long ago counts no more. */
  forgetPast(): void {
    this.#perSecond = this.#latePerSecond;
    this.#sinceMs = Math.max(this.#sinceMs, this.#nowMs - ALERT_MS);
  }

  /** The work is over. */
  forgetAll(): void {
    this.#overMs ??= this.#nowMs;
    this.#busyMs = Number.NEGATIVE_INFINITY;
    this.#perSecond = 0;
    this.#latePerSecond = 0;
  }

  /** How long after the last reading the work counts as over, if nothing comes; 0 when it does by now. */
  get quietInMs(): number {
    return Math.max(0, this.#quietMs - (this.#nowMs - this.#busyMs));
  }

  /** Whether the late demand differs from another by so few decisions that they come by chance. */
  isLikely(perSecond: number): boolean {
    const seconds = ALERT_MS / 1000;
    const moreOrLess = Math.abs(this.#latePerSecond - perSecond) * seconds;
    return moreOrLess <= DEVIATIONS * Math.sqrt((this.#latePerSecond + perSecond) * seconds);
  }

  /** How long after the last reading there is reason for another one. */
  get nextLookMs(): number {
    return Math.ceil(Math.min(this.quietInMs, Math.max(SHORTEST_LOOK_MS, this.#quietMs / LOOKS)));
  }
}
