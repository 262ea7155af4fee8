import type { TokenBucketShape } from "../../packages/spillway/src/algorithms/token-bucket.ts";

/** Holds what is admitted of one bucket against what its policy allows. */
export interface Gauge {
  /** Units in one token. */
  readonly unitsPerToken: number;
  /** The most that may be in it, in units. */
  readonly capacity: number;
  readonly level: number;
  passTo(nowUs: number): void;
  admit(tokens: number): void;
  giveBack(tokens: number): void;
  clear(): void;
}

/**
 * Every admission of one bucket pours into a leaking meter: what it ever holds above the burst is the most by which any window of
 * any length was over burst + rate x length. In whole units, so that not a billionth is forgiven.
 */
export class Meter implements Gauge {
  /** Units in one token: a multiple of those of each policy. */
  readonly unitsPerToken: number;
  /** The largest burst of the policies that the bucket lives under. */
  readonly capacity: number;
  readonly #perUs: number;
  level = 0;
  #lastUs: number;

  /** @param leastCapacity tokens that may come at once even where every burst is smaller. */
  constructor(shapes: readonly TokenBucketShape[], nowUs = 0, leastCapacity = 0) {
    this.#lastUs = nowUs;
    this.unitsPerToken = shapes.reduce((all, shape) => leastCommonMultiple(all, shape.unitsPerToken), 1);
    const perUs = shapes.map(
      (shape) => (shape.unitsPerTick * this.unitsPerToken) / (shape.unitsPerToken * shape.tickUs),
    );
    this.#perUs = Math.max(...perUs);
    if (!Number.isSafeInteger(this.#perUs)) throw new Error("This rate cannot be metered in whole units.");
    this.capacity = Math.max(leastCapacity, ...shapes.map(({ burst }) => burst)) * this.unitsPerToken;
  }

  /** A level of the bucket in units of the meter. */
  inUnits(level: number, shape: TokenBucketShape): number {
    return level * (this.unitsPerToken / shape.unitsPerToken);
  }

  passTo(nowUs: number): void {
    this.level = Math.max(0, this.level - (nowUs - this.#lastUs) * this.#perUs);
    this.#lastUs = nowUs;
  }

  admit(tokens: number): void {
    this.level += tokens * this.unitsPerToken;
  }

  /** A refund: the bound holds for admissions less refunds. */
  giveBack(tokens: number): void {
    this.level = Math.max(0, this.level - tokens * this.unitsPerToken);
  }

  /** After a reset, or the loss of the bucket, the bound holds anew. */
  clear(): void {
    this.level = 0;
  }
}

function leastCommonMultiple(a: number, b: number): number {
  let [x, y] = [a, b];
  while (y > 0) [x, y] = [y, x % y];
  return (a / x) * b;
}
