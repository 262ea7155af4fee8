import { tokenBucketShape } from "../../packages/spillway/src/algorithms/token-bucket.ts";
import type { LeasableWindowShape } from "../../packages/spillway/src/algorithms/window-lease.ts";
import { type Gauge, Meter } from "./lease-meter.ts";

/** A gauge of a window: it is told of each write, from which it knows when the window is over. */
export interface WindowGauge extends Gauge {
  /** @param endUs when the window is over, in true time, as it was written. */
  wrote(endUs: number): void;
  /** The store's clock goes back: the window lasts so much longer. */
  stretch(us: number): void;
}

export function windowGauge(shapes: readonly LeasableWindowShape[], isClockSteady: boolean): WindowGauge {
  const limit = Math.max(...shapes.map((shape) => shape.limit));
  return shapes[0]?.kind === "fixed-window" ? new FixedGauge(limit) : new CounterGauge(limit, shapes, isClockSteady);
}

/** Served and spent from one start to the next. What is spent after a window's end counts to the next one. */
class FixedGauge implements WindowGauge {
  readonly unitsPerToken = 1;
  readonly capacity: number;
  level = 0;
  #endUs = Number.POSITIVE_INFINITY;

  constructor(limit: number) {
    this.capacity = limit;
  }

  passTo(nowUs: number): void {
    if (nowUs < this.#endUs) return;
    this.level = 0;
    this.#endUs = Number.POSITIVE_INFINITY;
  }

  wrote(endUs: number): void {
    this.#endUs = endUs;
  }

  stretch(us: number): void {
    this.#endUs += us;
  }

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

  wrote(endUs: number): void {
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
