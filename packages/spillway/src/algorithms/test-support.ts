import fc from "fast-check";
import type { Algorithm } from "./bucket.ts";

/** A token bucket policy before anything is reduced or rounded. */
export interface Rate {
  readonly limit: number;
  readonly periodUs: number;
  readonly burst: number;
}

/** 2026-09-21 and some microseconds: 16 digits, of which a float in text would lose the last ones. */
export const START_US = 1_790_000_000_123_456;
export const SECOND_US = 1_000_000;
export const DAY_US: number = 86_400 * SECOND_US;

/**
 * A token bucket in exact arithmetic: a level of whole `1 / periodUs` tokens, of which `limit` come in each microsecond,
 * in integers without an upper end. What a bucket decides is held against it.
 */
export class ExactBucket {
  /** In `1 / periodUs` of a token. */
  level: bigint;
  #timeUs: bigint;
  readonly #limit: bigint;
  readonly #periodUs: bigint;
  readonly #full: bigint;

  constructor({ limit, periodUs, burst }: Rate, nowUs: number) {
    this.#limit = BigInt(limit);
    this.#periodUs = BigInt(periodUs);
    this.#full = BigInt(burst) * this.#periodUs;
    this.#timeUs = BigInt(nowUs);
    this.level = this.#full;
  }

  advance(nowUs: number): void {
    const level = this.level + this.#limit * (BigInt(nowUs) - this.#timeUs);
    this.level = level < this.#full ? level : this.#full;
    this.#timeUs = BigInt(nowUs);
  }

  fits(cost: number): boolean {
    return BigInt(cost) * this.#periodUs <= this.level;
  }

  charge(cost: number): void {
    this.level -= BigInt(cost) * this.#periodUs;
  }

  /** How much more it holds than `level` units of `1 / unitsPerToken` token, in `1 / (periodUs x unitsPerToken)` token. */
  lead(level: number, unitsPerToken: number): bigint {
    return this.level * BigInt(unitsPerToken) - BigInt(level) * this.#periodUs;
  }
}

/** A bucket of any way of counting, with the clock that it lives by. */
export class Counted<Shape, State> {
  readonly #algorithm: Algorithm<Shape, State>;
  shape: Shape;
  nowUs: number;
  readonly state: State;

  constructor(algorithm: Algorithm<Shape, State>, shape: Shape, nowUs: number = START_US) {
    this.#algorithm = algorithm;
    this.shape = shape;
    this.nowUs = nowUs;
    this.state = algorithm.open(shape, nowUs);
  }

  at(nowUs: number): this {
    this.nowUs = nowUs;
    this.#algorithm.advance(this.state, this.shape, nowUs);
    return this;
  }

  after(us: number): this {
    return this.at(this.nowUs + us);
  }

  under(shape: Shape): this {
    this.shape = shape;
    return this.after(0);
  }

  take(cost: number): boolean {
    if (!this.#algorithm.fits(this.state, this.shape, cost)) return false;
    this.#algorithm.charge(this.state, this.shape, cost);
    return true;
  }

  /** How many of equal asks, one after another, are admitted. */
  takeEach(asks: number): number {
    let admitted = 0;
    for (let i = 0; i < asks; i++) if (this.take(1)) admitted++;
    return admitted;
  }

  adjust(tokens: number): void {
    this.#algorithm.adjust(this.state, this.shape, tokens);
  }

  reset(): void {
    this.#algorithm.reset(this.state, this.shape);
  }

  waitUs(cost: number): number {
    return this.#algorithm.waitUs(this.state, this.shape, cost, this.nowUs);
  }

  /** Whether a cost would fit, `us` from now, if nobody came meanwhile. */
  fitsAfter(us: number, cost: number): boolean {
    const later = this.#algorithm.copy(this.state);
    this.#algorithm.advance(later, this.shape, this.nowUs + us);
    return this.#algorithm.fits(later, this.shape, cost);
  }

  get remaining(): number {
    return this.#algorithm.remaining(this.state, this.shape);
  }

  get expiryMs(): number {
    return this.#algorithm.expiryMs(this.state, this.shape, this.nowUs);
  }
}

/** Fractions from 0 to `most`, evenly: `fc.double` would give next to nothing but the smallest. */
export function anyPartUpTo(most: number): fc.Arbitrary<number> {
  return fc.nat(2 ** 30).map((part) => (part / 2 ** 30) * most);
}

/** Whole numbers from `least` to `most`, each power of two as likely as the next, both ends among them. */
export function anyScale(least: number, most: number): fc.Arbitrary<number> {
  const spread = anyPartUpTo(1).map((part) =>
    Math.min(most, Math.max(least, Math.round((least + 1) * ((most + 1) / (least + 1)) ** part - 1))),
  );
  return fc.oneof({ weight: 1, arbitrary: fc.constantFrom(least, most) }, { weight: 9, arbitrary: spread });
}

/** From 1 per 30 days to 1,000,000 per second. */
export const anyRate: fc.Arbitrary<Rate> = fc
  .tuple(
    fc.oneof(
      fc.constantFrom(
        { limit: 1, periodUs: 30 * DAY_US },
        { limit: 7, periodUs: 30 * DAY_US },
        { limit: 70, periodUs: SECOND_US },
        { limit: 700_000, periodUs: SECOND_US },
        { limit: 1_000_000, periodUs: SECOND_US },
        { limit: 999_983, periodUs: 1_000_003 },
      ),
      fc.record({
        limit: anyScale(1, 1_000_000),
        periodUs: fc.constantFrom(SECOND_US, 60 * SECOND_US, 3600 * SECOND_US, DAY_US, 30 * DAY_US),
      }),
      fc
        .record({ limit: anyScale(1, 1_000_000), periodUs: anyScale(1000, 30 * DAY_US) })
        .filter(({ limit, periodUs }) => limit <= periodUs),
    ),
    anyScale(1, 1_000_000),
  )
  .map(([rate, burst]) => ({ ...rate, burst }));
