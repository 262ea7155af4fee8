import { tokenBucketShape } from "../../packages/spillway/src/algorithms/token-bucket.ts";
import type { LeasableWindowShape } from "../../packages/spillway/src/algorithms/window-lease.ts";
import { type Gauge, Meter } from "./lease-meter.ts";

export interface WrittenWindow {
  readonly startUs: number;
  readonly endUs: number;
  /** When its key is forgotten, unless it is written again. */
  readonly diesUs: number;
  /** Tokens of it that are on lease. */
  readonly leased: number;
}

/** A gauge of a window: it is told of each write, from which it knows when the window is over. */
export interface WindowGauge extends Gauge {
  /** The window as it was written, in true time. */
  wrote(window: WrittenWindow): void;
  /** The store's clock goes back: the window lasts so much longer. */
  stretch(us: number): void;
}

export function windowGauge(shapes: readonly LeasableWindowShape[], isClockSteady: boolean): WindowGauge {
  const limit = Math.max(...shapes.map((shape) => shape.limit));
  const [shortestUs, longestUs] = [Math.min, Math.max].map((of) => of(...shapes.map(({ periodUs }) => periodUs)));
  if (shortestUs !== longestUs) return new TwoPeriodsGauge(limit, longestUs as number);
  return shapes[0]?.kind === "fixed-window" ? new FixedGauge(limit) : new CounterGauge(limit, shapes, isClockSteady);
}

/** What has been admitted of one window, in tokens. */
class WindowCount {
  readonly unitsPerToken = 1;
  level = 0;

  admit(tokens: number): void {
    this.level += tokens;
  }

  giveBack(tokens: number): void {
    this.level = Math.max(0, this.level - tokens);
  }

  clear(): void {
    this.level = 0;
  }
}

/** Served and spent from one start to the next. What is spent after a window's end counts to the next one. */
class FixedGauge extends WindowCount implements WindowGauge {
  readonly capacity: number;
  #endUs = Number.POSITIVE_INFINITY;

  constructor(limit: number) {
    super();
    this.capacity = limit;
  }

  passTo(nowUs: number): void {
    if (nowUs < this.#endUs) return;
    this.level = 0;
    this.#endUs = Number.POSITIVE_INFINITY;
  }

  wrote({ endUs }: WrittenWindow): void {
    this.#endUs = endUs;
  }

  stretch(us: number): void {
    this.#endUs += us;
  }
}

/** What is admitted of a sliding window counter, by the bound that it keeps in any time and by its own estimate. */
class CounterGauge implements WindowGauge {
  readonly unitsPerToken: number;
  readonly capacity: number;
  readonly #meter: Meter;
  readonly #periodUs: number;
  readonly #estimates: boolean;
  #nowUs = 0;
  #endUs = Number.POSITIVE_INFINITY;
  #previous = 0;
  #current = 0;

  constructor(limit: number, shapes: readonly LeasableWindowShape[], isClockSteady: boolean) {
    this.#periodUs = Math.min(...shapes.map(({ periodUs }) => periodUs));
    this.#meter = new Meter([tokenBucketShape(limit, this.#periodUs, limit)]);
    this.unitsPerToken = this.#meter.unitsPerToken;
    this.capacity = this.#meter.capacity;
    this.#estimates = isClockSteady;
  }

  get level(): number {
    return this.#estimates ? Math.max(this.#meter.level, this.#estimate * this.unitsPerToken) : this.#meter.level;
  }

  get #estimate(): number {
    if (!Number.isFinite(this.#endUs)) return this.#current;
    return this.#current + Math.ceil((this.#previous * (this.#endUs - this.#nowUs)) / this.#periodUs);
  }

  passTo(nowUs: number): void {
    this.#meter.passTo(nowUs);
    this.#nowUs = nowUs;
    if (nowUs < this.#endUs) return;
    this.#previous = this.#current;
    this.#current = 0;
    this.#endUs += this.#periodUs;
    if (nowUs < this.#endUs) return;
    this.#previous = 0;
    this.#endUs = Number.POSITIVE_INFINITY;
  }

  wrote({ endUs }: WrittenWindow): void {
    this.#endUs = endUs;
  }

  stretch(us: number): void {
    this.#endUs += us;
  }

  admit(tokens: number): void {
    this.#meter.admit(tokens);
    this.#current += tokens;
  }

  giveBack(tokens: number): void {
    this.#meter.giveBack(tokens);
    const fromCurrent = Math.min(tokens, this.#current);
    this.#current -= fromCurrent;
    this.#previous = Math.max(0, this.#previous - (tokens - fromCurrent));
  }

  clear(): void {
    this.#meter.clear();
    this.#previous = 0;
    this.#current = 0;
  }
}

/** Tokens leased of a window that was ended before they were. */
interface Stray {
  readonly tokens: number;
  readonly untilUs: number;
}

/**
 * A window under two policies of different periods. The shorter one ends it, though the longer one has not: what was leased by the
 * longer one, and not settled, may still be spent, beside the limit of the next window. A counter is then no better than a fixed
 * window, since the shorter policy knows nothing of what the longer one let in since.
 */
export class TwoPeriodsGauge extends WindowCount implements WindowGauge {
  readonly #limit: number;
  readonly #longestUs: number;
  #startUs = Number.NEGATIVE_INFINITY;
  #diesUs = Number.POSITIVE_INFINITY;
  #leased = 0;
  /** Leased by the longer policy; settled or not. */
  #leasedForLonger = 0;
  /** Of former windows, as far as they could be spent in this one. */
  #strays: Stray[] = [];

  constructor(limit: number, longestUs: number) {
    super();
    this.#limit = limit;
    this.#longestUs = longestUs;
  }

  get capacity(): number {
    return this.#limit + this.#strays.reduce((sum, { tokens }) => sum + tokens, 0);
  }

  /** What counts for the window that began at `startUs`: it may be the one that follows, not written yet. */
  standingAt(startUs: number): { readonly level: number; readonly capacity: number } {
    if (startUs === this.#startUs) return this;
    return { level: 0, capacity: this.capacity + this.#outliving };
  }

  get #outliving(): number {
    return Math.min(this.#leased, this.#leasedForLonger);
  }

  passTo(nowUs: number): void {
    if (nowUs >= Math.min(this.#startUs + this.#longestUs, this.#diesUs)) this.#begin(Number.NEGATIVE_INFINITY, nowUs);
  }

  wrote({ startUs, diesUs, leased }: WrittenWindow): void {
    if (startUs !== this.#startUs) this.#begin(startUs, startUs);
    this.#diesUs = diesUs;
    this.#leased = leased;
  }

  /** A grant that somebody may get. */
  granted(tokens: number, periodUs: number): void {
    if (periodUs === this.#longestUs) this.#leasedForLonger += tokens;
  }

  #begin(startUs: number, nowUs: number): void {
    this.#strays.push({ tokens: this.#outliving, untilUs: this.#startUs + this.#longestUs });
    this.#strays = this.#strays.filter(({ tokens, untilUs }) => tokens > 0 && untilUs > nowUs);
    this.#startUs = startUs;
    this.#leased = 0;
    this.#leasedForLonger = 0;
    this.level = 0;
  }

  stretch(): void {
    throw new Error("Windows of two periods are gauged on a clock that goes on.");
  }
}
