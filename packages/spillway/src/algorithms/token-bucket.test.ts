import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyRate, anyScale, DAY_US, ExactBucket, type Rate, SECOND_US, START_US } from "./test-support.ts";
import { type TokenBucketShape, type TokenBucketState, tokenBucket, tokenBucketShape } from "./token-bucket.ts";

const shapeOf = ({ limit, periodUs, burst }: Rate): TokenBucketShape => tokenBucketShape(limit, periodUs, burst);
const perSecond = (limit: number, burst: number): TokenBucketShape => tokenBucketShape(limit, SECOND_US, burst);

/** A bucket with the clock it lives by. */
class Bucket {
  shape: TokenBucketShape;
  nowUs: number;
  readonly state: TokenBucketState;

  constructor(shape: TokenBucketShape, nowUs: number = START_US) {
    this.shape = shape;
    this.nowUs = nowUs;
    this.state = tokenBucket.open(shape, nowUs);
  }

  at(nowUs: number): this {
    this.nowUs = nowUs;
    tokenBucket.advance(this.state, this.shape, nowUs);
    return this;
  }

  after(us: number): this {
    return this.at(this.nowUs + us);
  }

  under(shape: TokenBucketShape): this {
    this.shape = shape;
    return this.after(0);
  }

  fits(cost: number): boolean {
    return tokenBucket.fits(this.state, this.shape, cost);
  }

  take(cost: number): boolean {
    if (!this.fits(cost)) return false;
    tokenBucket.charge(this.state, this.shape, cost);
    return true;
  }

  adjust(tokens: number): void {
    tokenBucket.adjust(this.state, this.shape, tokens);
  }

  waitUs(cost: number): number {
    return tokenBucket.waitUs(this.state, this.shape, cost, this.nowUs);
  }

  get remaining(): number {
    return tokenBucket.remaining(this.state, this.shape);
  }
}

interface Call {
  /** Microseconds, or the wait that the call before was told, or 1 us less. */
  readonly wait: number | "told" | "told - 1 us";
  /** Tokens, or a part of the burst. */
  readonly cost: number | "half" | "all" | "one above";
}

const anyCalls: fc.Arbitrary<Call[]> = fc.array(
  fc.record({
    wait: fc.oneof(anyScale(0, 60 * DAY_US), fc.constantFrom("told" as const, "told - 1 us" as const)),
    cost: fc.oneof(anyScale(0, 1_000_000), fc.constantFrom("half" as const, "all" as const, "one above" as const)),
  }),
  { maxLength: 25 },
);

/** So that no play goes on until 2255, when microseconds since 1970 pass 2^53. */
const LONGEST_GAP_US = 1000 * DAY_US;

/** Plays calls on a bucket; `isRight` says whether it stands right after each wait, and takes the cost if it fits. */
function alwaysRight(
  rate: Rate,
  calls: readonly Call[],
  isRight: (bucket: Bucket, cost: number, gapUs: number) => boolean,
): boolean {
  const bucket = new Bucket(shapeOf(rate));
  const costs = { half: Math.ceil(rate.burst / 2), all: rate.burst, "one above": rate.burst + 1 };
  let toldUs = 0;
  return calls.every(({ wait, cost }) => {
    const told = Math.min(toldUs, LONGEST_GAP_US);
    const gapUs = typeof wait === "number" ? wait : wait === "told" ? told : Math.max(0, told - 1);
    bucket.after(gapUs);
    const asked = typeof cost === "number" ? cost : costs[cost];
    toldUs = asked > rate.burst ? 0 : bucket.waitUs(asked);
    return isRight(bucket, asked, gapUs);
  });
}

describe("a token bucket against exact arithmetic", () => {
  it("decides alike at every step where no scaling was needed", () => {
    fc.assert(
      fc.property(anyRate, anyCalls, (rate, calls) => {
        fc.pre(shapeOf(rate).tickUs === 1);
        const exact = new ExactBucket(rate, START_US);
        return alwaysRight(rate, calls, (bucket, cost) => {
          exact.advance(bucket.nowUs);
          const alike = exact.lead(bucket.state.level, bucket.shape.unitsPerToken) === 0n;
          const fits = exact.fits(cost);
          if (fits) exact.charge(cost);
          return alike && bucket.take(cost) === fits;
        });
      }),
      { numRuns: 300 },
    );
  });

  // Where burst x period passes 2^53, a tick is several us. Against exact arithmetic that is charged alike, the bucket holds
  // less by at most what comes in during one tick and the rate's error since it was last full. And it holds more by less than
  // what comes in during one tick: one that lacks a part of a tick to full keeps the time that has passed of that tick.
  it("is within a tick where scaling was needed, and lags by no more than that and the error of the rate", () => {
    const scaledRate = fc
      .record({ limit: anyScale(1, 1000), periodUs: anyScale(DAY_US, 366 * DAY_US), burst: anyScale(10_000, 1e12) })
      .filter((rate) => shapeOf(rate).tickUs > 1);
    fc.assert(
      fc.property(
        fc.oneof(
          anyRate.filter((rate) => shapeOf(rate).tickUs > 1),
          scaledRate,
        ),
        anyCalls,
        (rate, calls) => {
          const { unitsPerToken, unitsPerTick, tickUs } = shapeOf(rate);
          const exact = new ExactBucket(rate, START_US);
          // One tick's refill, and per us of waiting the difference of the rates, both times periodUs x unitsPerToken x tickUs.
          const perTick = BigInt(rate.limit) * BigInt(unitsPerToken) * BigInt(tickUs) * BigInt(tickUs);
          const perUs =
            BigInt(rate.limit) * BigInt(unitsPerToken) * BigInt(tickUs) - BigInt(unitsPerTick) * BigInt(rate.periodUs);
          let sinceFullUs = 0n;
          return alwaysRight(rate, calls, (bucket, cost, gapUs) => {
            exact.advance(bucket.nowUs);
            sinceFullUs += BigInt(gapUs);
            const lead = exact.lead(bucket.state.level, unitsPerToken);
            const within = -lead * BigInt(tickUs) < perTick && lead * BigInt(tickUs) <= perTick + perUs * sinceFullUs;
            if (bucket.state.level === rate.burst * unitsPerToken) sinceFullUs = 0n;
            if (bucket.take(cost)) exact.charge(cost);
            return within;
          });
        },
      ),
      { numRuns: 300 },
    );
  });

  it("keeps a level that is whole, never above the burst and never below minus the burst", () => {
    const anyMove = fc.option(fc.integer({ min: -2_000_000, max: 2_000_000 }), { freq: 4, nil: undefined });
    fc.assert(
      fc.property(anyRate, anyCalls, fc.array(anyMove, { maxLength: 25 }), (rate, calls, moves) => {
        let step = 0;
        return alwaysRight(rate, calls, (bucket, cost) => {
          const tokens = moves[step++];
          if (tokens !== undefined) bucket.adjust(tokens);
          bucket.take(cost);
          const { state, shape, nowUs, remaining } = bucket;
          return (
            Number.isSafeInteger(state.level) &&
            Math.abs(state.level) <= rate.burst * shape.unitsPerToken &&
            Number.isSafeInteger(state.timeUs) &&
            state.timeUs <= nowUs &&
            remaining >= 0 &&
            remaining <= rate.burst
          );
        });
      }),
      { numRuns: 200 },
    );
  });

  it("admits a caller that comes back alone after the wait that it was told, and not 1 us before", () => {
    fc.assert(
      fc.property(anyRate, anyCalls, fc.nat(2_000_000), (rate, calls, debt) => {
        let step = 0;
        return alwaysRight(rate, calls, (bucket, cost) => {
          if (step++ === 3) bucket.adjust(-debt);
          const waitUs = bucket.waitUs(cost);
          if (bucket.take(cost)) return waitUs === 0;
          if (cost > rate.burst) return waitUs === Number.POSITIVE_INFINITY;
          const { state, shape, nowUs } = bucket;
          // Out of a debt more than 2^53 units can be missing: such a wait, of decades, may be off by a microsecond.
          const missing = cost * shape.unitsPerToken - state.level;
          if (!Number.isSafeInteger(nowUs + waitUs) || !Number.isSafeInteger(missing)) return true;
          const fitsAfter = (us: number): boolean => {
            const copy = tokenBucket.copy(state);
            tokenBucket.advance(copy, shape, nowUs + us);
            return tokenBucket.fits(copy, shape, cost);
          };
          return fitsAfter(waitUs) && (shape.tickUs > 1 || !fitsAfter(waitUs - 1));
        });
      }),
      { numRuns: 300 },
    );
  });
});

describe("a token bucket", () => {
  it("keeps a time of 16 digits to the microsecond (C01 b)", () => {
    const bucket = new Bucket(perSecond(10_000, 1), 1_790_000_000_123_456);
    expect(bucket.take(1)).toBe(true);
    expect(bucket.state.timeUs).toBe(1_790_000_000_123_456);
    expect(bucket.after(99).take(1)).toBe(false);
    expect(bucket.after(1).take(1)).toBe(true);
    expect(String(bucket.state.timeUs)).toBe("1790000000123556");
  });

  it("admits 10,000 a second with burst 1 to the last one under 30,000 offered (C01 a)", () => {
    const bucket = new Bucket(perSecond(10_000, 1));
    let admitted = 0;
    for (let i = 0; i < 60_000; i++) if (bucket.at(START_US + Math.floor((i * 100) / 3)).take(1)) admitted++;
    expect(admitted).toBe(20_000);
  });

  it("never admits a cost above the burst, offers no wait for it and takes nothing (C06 a)", () => {
    const bucket = new Bucket(perSecond(10, 10));
    expect([bucket.take(11), bucket.waitUs(11), bucket.remaining]).toEqual([false, Number.POSITIVE_INFINITY, 10]);
  });

  it("admits a cost equal to the burst after exactly the time from empty to full (C06 c)", () => {
    const bucket = new Bucket(perSecond(10, 10));
    expect([bucket.take(10), bucket.take(10), bucket.waitUs(10)]).toEqual([true, false, SECOND_US]);
    expect([bucket.after(SECOND_US - 1).take(10), bucket.after(1).take(10)]).toEqual([false, true]);
  });

  it("takes nothing for cost 0 and always admits it", () => {
    const bucket = new Bucket(perSecond(10, 5));
    bucket.adjust(-100);
    const before = structuredClone(bucket.state);
    expect([bucket.take(0), bucket.waitUs(0)]).toEqual([true, 0]);
    expect(bucket.state).toEqual(before);
  });

  it("waits for 30 days to the microsecond (C08 a)", () => {
    const bucket = new Bucket(tokenBucketShape(6, 30 * DAY_US, 6));
    for (let i = 0; i < 6; i++) expect(bucket.take(1)).toBe(true);
    expect(bucket.after(50_000).waitUs(6)).toBe(30 * DAY_US - 50_000);
    expect(bucket.waitUs(1)).toBe(5 * DAY_US - 50_000);
  });

  it("refills a short period evenly: 10 in each 100 ms (C08 b)", () => {
    const bucket = new Bucket(tokenBucketShape(10, 100_000, 10));
    const slices = new Array<number>(30).fill(0);
    for (let ms = 0; ms < 3000; ms += 5) {
      if (bucket.at(START_US + ms * 1000).take(1)) (slices[Math.floor(ms / 100)] as number)++;
      else expect(bucket.waitUs(1)).toBeLessThanOrEqual(10_000);
    }
    for (const admitted of slices.slice(1)) expect(Math.abs(admitted - 10)).toBeLessThanOrEqual(1);
  });

  it("works with a period of 1 ms and of 1,500.5 ms (C08 c)", () => {
    const short = new Bucket(tokenBucketShape(3, 1000, 3));
    expect([short.take(3), short.waitUs(1), short.after(334).take(1)]).toEqual([true, 334, true]);
    const odd = new Bucket(tokenBucketShape(2, 1_500_500, 2));
    expect([odd.take(2), odd.waitUs(1), odd.waitUs(2)]).toEqual([true, 750_250, 1_500_500]);
  });
});

describe("a token bucket whose clock is stepped (C02)", () => {
  it("goes on from the new time after a step of two days back, and gains one burst at most coming forward", () => {
    const bucket = new Bucket(perSecond(1, 10));
    expect(bucket.take(3)).toBe(true);
    expect(bucket.at(START_US - 2 * DAY_US).take(1)).toBe(true);
    expect([bucket.remaining, bucket.waitUs(10)]).toEqual([6, 4 * SECOND_US]);
    expect(bucket.at(START_US + SECOND_US).take(1)).toBe(true);
    expect(bucket.remaining).toBe(9);
  });

  it("pulls a stored time 60 s ahead back, and tells no wait that the policy cannot produce", () => {
    const bucket = new Bucket(perSecond(1, 10));
    bucket.state.timeUs = START_US + 60 * SECOND_US;
    expect(bucket.after(0).take(1)).toBe(true);
    bucket.state.timeUs = START_US + 60 * SECOND_US;
    bucket.state.level = 0;
    expect(bucket.after(0).waitUs(10)).toBe(10 * SECOND_US);
  });

  it("stays within its bounds under any steps", () => {
    const anyStep = fc.tuple(fc.integer({ min: -3 * DAY_US, max: 3 * DAY_US }), anyScale(0, 12));
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 30 }), (steps) => {
        const bucket = new Bucket(perSecond(1, 10));
        for (const [us, cost] of steps) {
          bucket.after(us).take(cost);
          expect(bucket.remaining >= 0 && bucket.remaining <= 10).toBe(true);
          expect(bucket.waitUs(10) >= 0 && bucket.waitUs(10) <= 10 * SECOND_US).toBe(true);
        }
      }),
      { numRuns: 200 },
    );
  });
});

describe("refunds and penalties of a token bucket", () => {
  it("give back no more than is missing", () => {
    const bucket = new Bucket(perSecond(1, 10));
    bucket.take(4);
    bucket.adjust(3);
    expect(bucket.remaining).toBe(9);
    bucket.adjust(100);
    expect(bucket.remaining).toBe(10);
  });

  it("reach one burst deep, and the wait grows by the debt's time", () => {
    const bucket = new Bucket(perSecond(1, 10));
    bucket.adjust(-13);
    expect([bucket.remaining, bucket.waitUs(1)]).toEqual([0, 4 * SECOND_US]);
    bucket.adjust(-Number.MAX_SAFE_INTEGER);
    expect(bucket.waitUs(10)).toBe(20 * SECOND_US);
  });

  it("reset fills it", () => {
    const bucket = new Bucket(perSecond(1, 10));
    bucket.adjust(-13);
    tokenBucket.reset(bucket.state, bucket.shape);
    expect(bucket.remaining).toBe(10);
  });
});

describe("a token bucket under a changed policy (C09)", () => {
  it("admits at once after the limit was raised (a)", () => {
    const bucket = new Bucket(tokenBucketShape(10, 20 * SECOND_US, 16));
    expect(bucket.take(3)).toBe(true);
    expect(bucket.under(tokenBucketShape(1000, 20 * SECOND_US, 16)).take(1)).toBe(true);
    expect(bucket.remaining).toBe(12);
  });

  it("holds no more than the new burst at once, and no wait is longer than its full refill (c)", () => {
    const bucket = new Bucket(perSecond(1000, 1000));
    bucket.take(100);
    bucket.under(perSecond(1, 10));
    expect([bucket.take(1), bucket.remaining, bucket.waitUs(10)]).toEqual([true, 9, SECOND_US]);
  });

  it("rounds down, also where the numbers of the two policies multiply past 2^53", () => {
    const bucket = new Bucket(tokenBucketShape(1, 30 * DAY_US, 1));
    bucket.take(1);
    bucket.after(1_925_306_960_721).under(tokenBucketShape(1, 865_562_992_579, 1));
    const exact = (1_925_306_960_721n * 865_562_992_579n) / BigInt(30 * DAY_US);
    expect(exact - BigInt(bucket.state.level)).toBe(0n);
  });

  it("adds nothing when two policies alternate", () => {
    fc.assert(
      fc.property(anyRate, anyRate, fc.array(anyScale(0, 100), { maxLength: 20 }), (one, other, costs) => {
        const shapes = [shapeOf(one), shapeOf(other)] as const;
        const bucket = new Bucket(shapes[0]);
        for (const [index, cost] of costs.entries()) {
          bucket.take(cost % (bucket.shape.burst + 1));
          const { level, unitsPerToken } = bucket.state;
          bucket.under(shapes[index % 2 === 0 ? 1 : 0]);
          const { level: newLevel, unitsPerToken: newUnitsPerToken } = bucket.state;
          expect(BigInt(newLevel) * BigInt(unitsPerToken) <= BigInt(level) * BigInt(newUnitsPerToken)).toBe(true);
        }
      }),
      { numRuns: 100 },
    );
  });
});
