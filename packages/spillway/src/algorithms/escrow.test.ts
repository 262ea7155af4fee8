import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DAY_US, SECOND_US, START_US } from "./test-support.ts";
import {
  escrowed,
  grantLease,
  settleLease,
  type TokenBucketShape,
  type TokenBucketState,
  tokenBucket,
  tokenBucketShape,
} from "./token-bucket.ts";

const MS = 1000;
const SHAPE = tokenBucketShape(1, MS, 10);

interface Bucket {
  readonly state: TokenBucketState;
  readonly shape: TokenBucketShape;
  at(us: number): Bucket;
  lease(tokens: number, lifeUs: number): number;
  settle(id: number, settled: number, returned: number): void;
  take(cost: number): boolean;
  tokens(): number;
}

/** A bucket at START_US, with times told from there. */
function bucketOf(shape: TokenBucketShape = SHAPE): Bucket {
  const state = tokenBucket.open(shape, START_US);
  let nowUs = START_US;
  const bucket: Bucket = {
    state,
    shape,
    at(us) {
      nowUs = START_US + us;
      tokenBucket.advance(state, shape, nowUs);
      return bucket;
    },
    lease: (tokens, lifeUs) => grantLease(state, shape, tokens, lifeUs, nowUs),
    settle: (id, settled, returned) => settleLease(state, shape, id, settled, returned),
    take(cost) {
      if (!tokenBucket.fits(state, shape, cost)) return false;
      tokenBucket.charge(state, shape, cost);
      return true;
    },
    tokens: () => state.level / shape.unitsPerToken,
  };
  return bucket;
}

describe("tokens on lease", () => {
  it("stop the refill at the burst less what is out", () => {
    const bucket = bucketOf();
    bucket.lease(4, 100 * MS);
    expect([bucket.tokens(), escrowed(bucket.state)]).toEqual([6, 4]);
    expect(bucket.at(50 * MS).tokens()).toBe(6);
  });

  it("make no room before they are settled: refill comes first, settlement after it", () => {
    const bucket = bucketOf();
    const id = bucket.lease(4, 100 * MS);
    bucket.at(50 * MS).settle(id, 4, 0);
    expect([bucket.tokens(), escrowed(bucket.state)]).toEqual([6, 0]);
    expect(bucket.at(52 * MS).tokens()).toBe(8);
  });

  it("make room from their death on, not from the time before it", () => {
    const bucket = bucketOf();
    bucket.lease(4, 20 * MS);
    expect(bucket.at(20 * MS - 1).tokens()).toBe(6);
    expect(bucket.at(23 * MS).tokens()).toBe(9);
  });

  it("die apart: each group at its own time", () => {
    const bucket = bucketOf();
    bucket.lease(2, 10 * MS);
    bucket.at(5 * MS).lease(3, 20 * MS);
    expect(escrowed(bucket.at(9 * MS).state)).toBe(5);
    expect([escrowed(bucket.at(10 * MS).state), bucket.tokens()]).toEqual([3, 5]);
    expect([escrowed(bucket.at(24 * MS).state), bucket.tokens()]).toEqual([3, 7]);
    expect([escrowed(bucket.at(26 * MS).state), bucket.tokens()]).toEqual([0, 8]);
  });

  it("live as long as the longest life of those that they join", () => {
    const bucket = bucketOf();
    bucket.lease(1, 50 * MS);
    bucket.lease(1, 10 * MS);
    const joined = bucket.lease(1, 5 * MS);
    expect(joined).toBe(bucket.state.newer.id);
    expect(escrowed(bucket.at(50 * MS - 1).state)).toBe(3);
    expect(escrowed(bucket.at(50 * MS).state)).toBe(0);
  });

  it("go back on the shelf when they return unspent, up to the burst less what is still out", () => {
    const bucket = bucketOf();
    const id = bucket.lease(4, 100 * MS);
    bucket.take(6);
    bucket.at(1 * MS).settle(id, 3, 2);
    expect([bucket.tokens(), escrowed(bucket.state)]).toEqual([3, 1]);
    bucket.at(9 * MS).settle(id, 1, 1);
    expect([bucket.tokens(), escrowed(bucket.state)]).toEqual([10, 0]);
  });

  it("settle once: what is settled twice, never leased, or dead changes nothing", () => {
    const bucket = bucketOf();
    const first = bucket.lease(2, 10 * MS);
    bucket.take(8);
    bucket.settle(first, 2, 0);
    const before = structuredClone(bucket.state);
    bucket.settle(first, 2, 2);
    bucket.settle(first + 1, 5, 5);
    bucket.settle(0, 5, 5);
    expect(bucket.state).toEqual(before);
    const second = bucket.at(2 * MS).lease(2, 10 * MS);
    bucket.at(12 * MS);
    const later = structuredClone(bucket.state);
    bucket.settle(second, 2, 2);
    expect(bucket.state).toEqual(later);
  });

  it("settle no more than is out under their id, whatever is claimed", () => {
    const bucket = bucketOf();
    const id = bucket.lease(2, 10 * MS);
    bucket.take(8);
    bucket.settle(id, 5, 5);
    expect([bucket.tokens(), escrowed(bucket.state)]).toEqual([2, 0]);
  });

  it("have ids that rise, also within a microsecond and after the clock went back", () => {
    const bucket = bucketOf();
    const ids = [bucket.lease(1, MS)];
    bucket.settle(ids[0] as number, 1, 0);
    ids.push(bucket.lease(1, MS));
    bucket.at(-2 * DAY_US);
    ids.push(bucket.lease(1, MS));
    bucket.at(3 * MS - 2 * DAY_US);
    ids.push(bucket.lease(1, MS));
    expect(ids).toEqual([START_US, START_US + 1, START_US + 2, START_US + 3]);
    expect(bucket.at(DAY_US).lease(1, MS)).toBe(START_US + DAY_US);
  });

  it("keep their remaining life when the clock goes back", () => {
    const bucket = bucketOf();
    bucket.lease(4, 20 * MS);
    bucket.lease(2, 30 * MS);
    bucket.at(5 * MS).at(5 * MS - DAY_US);
    expect(escrowed(bucket.at(20 * MS - 1 - DAY_US).state)).toBe(6);
    expect(escrowed(bucket.at(20 * MS - DAY_US).state)).toBe(2);
    expect(escrowed(bucket.at(30 * MS - 1 - DAY_US).state)).toBe(2);
    expect(escrowed(bucket.at(30 * MS - DAY_US).state)).toBe(0);
  });

  it("stay out through a reset", () => {
    const bucket = bucketOf();
    bucket.lease(4, 20 * MS);
    bucket.take(6);
    tokenBucket.reset(bucket.state, bucket.shape);
    expect([bucket.tokens(), escrowed(bucket.state)]).toEqual([6, 4]);
  });

  it("make a caller wait for their death first when its cost does not fit beside them", () => {
    const bucket = bucketOf();
    bucket.lease(4, 20 * MS);
    expect(tokenBucket.waitUs(bucket.state, SHAPE, 6, START_US)).toBe(0);
    expect(tokenBucket.waitUs(bucket.state, SHAPE, 8, START_US)).toBe(22 * MS);
    bucket.take(6);
    expect(tokenBucket.waitUs(bucket.state, SHAPE, 6, START_US)).toBe(6 * MS);
    expect(tokenBucket.waitUs(bucket.state, SHAPE, 10, START_US)).toBe(24 * MS);
    expect(tokenBucket.waitUs(bucket.state, SHAPE, 11, START_US)).toBe(Number.POSITIVE_INFINITY);
  });

  it("keep the bucket until they are dead and it is full again", () => {
    const bucket = bucketOf();
    expect(tokenBucket.expiryMs(bucket.state, SHAPE, START_US)).toBe(11);
    bucket.lease(4, 20 * MS);
    expect(tokenBucket.expiryMs(bucket.state, SHAPE, START_US)).toBe(31);
  });
});

/** One step of a random life. Numbers are cut to what is possible when the step is made. */
type Step =
  | { readonly kind: "wait" | "serve" | "adjust" | "clock-back"; readonly amount: number }
  | { readonly kind: "lease"; readonly amount: number; readonly lifeUs: number }
  | { readonly kind: "spend" | "settle" | "wait-for-death"; readonly which: number; readonly amount: number };

const anyAmount = fc.integer({ min: 1, max: 14 });
const anyWhich = fc.nat(5);
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant("wait" as const), amount: fc.integer({ min: 1, max: 9000 }) }),
  fc.record({ kind: fc.constantFrom("serve" as const, "serve" as const), amount: anyAmount }),
  fc.record({ kind: fc.constant("lease" as const), amount: anyAmount, lifeUs: fc.integer({ min: 500, max: 9000 }) }),
  fc.record({ kind: fc.constantFrom("spend" as const, "settle" as const), which: anyWhich, amount: anyAmount }),
  fc.record({ kind: fc.constant("wait-for-death" as const), which: anyWhich, amount: fc.constantFrom(-1, 0, 1) }),
);
const anyShape = fc
  .tuple(fc.constantFrom(1, 2, 3, 7), fc.constantFrom(MS, 2 * MS, 3001), anyAmount)
  .map(([limit, periodUs, burst]) => tokenBucketShape(limit, periodUs, burst));

/** Honest replicas on one bucket, and a meter of every admission against burst + rate x time on a clock that is never set. */
class Fleet {
  readonly shape: TokenBucketShape;
  readonly state: TokenBucketState;
  readonly holders: { id: number; held: number; spent: number; deadUs: number }[] = [];
  realUs = 0;
  clockUs: number = START_US;
  /** Admitted and not yet paid for by time, in level units: burst x unitsPerToken at most, in every window. */
  metered = 0;

  constructor(shape: TokenBucketShape) {
    this.shape = shape;
    this.state = tokenBucket.open(shape, START_US);
  }

  do(step: Step): void {
    const { shape, state } = this;
    const holder = "which" in step ? this.holders[step.which % Math.max(1, this.holders.length)] : undefined;
    if (step.kind === "wait") this.#wait(step.amount);
    if (step.kind === "clock-back") {
      this.clockUs -= step.amount;
      this.#wait(0);
    }
    if (step.kind === "wait-for-death") this.#wait(Math.max(0, (holder?.deadUs ?? 0) - this.realUs + step.amount));
    if (step.kind === "adjust") tokenBucket.adjust(state, shape, step.amount);
    if (step.kind === "serve" && tokenBucket.fits(state, shape, step.amount)) {
      tokenBucket.charge(state, shape, step.amount);
      this.#admit(step.amount);
    }
    if (step.kind === "lease") this.#lease(step.amount, step.lifeUs);
    if (step.kind === "spend" && holder !== undefined && this.realUs < holder.deadUs) {
      const tokens = Math.min(step.amount, holder.held);
      holder.held -= tokens;
      holder.spent += tokens;
      this.#admit(tokens);
    }
    if (step.kind === "settle" && holder !== undefined) {
      const returned = Math.min(step.amount - 1, holder.held);
      settleLease(state, shape, holder.id, holder.spent + returned, returned);
      holder.held -= returned;
      holder.spent = 0;
    }
  }

  #lease(wish: number, lifeUs: number): void {
    const held = Math.min(wish, Math.floor(this.state.level / this.shape.unitsPerToken));
    if (held < 1) return;
    const id = grantLease(this.state, this.shape, held, lifeUs, this.clockUs);
    this.holders.push({ id, held, spent: 0, deadUs: this.realUs + lifeUs });
  }

  #wait(us: number): void {
    this.realUs += us;
    this.clockUs += us;
    this.metered = Math.max(0, this.metered - us * this.shape.unitsPerTick);
    tokenBucket.advance(this.state, this.shape, this.clockUs);
  }

  #admit(tokens: number): void {
    this.metered += tokens * this.shape.unitsPerToken;
  }
}

describe("replicas that lease", () => {
  it("together admit at most burst + rate x time in every window, whatever they do and wherever the clock is set back to", () => {
    const setBack = fc.record({
      kind: fc.constant("clock-back" as const),
      amount: fc.integer({ min: 1, max: 20_000 }),
    });
    const steps = fc.array(fc.oneof({ weight: 12, arbitrary: anyStep }, { weight: 1, arbitrary: setBack }), {
      minLength: 30,
      maxLength: 60,
    });
    fc.assert(
      fc.property(anyShape, steps, (shape, life) => {
        const fleet = new Fleet(shape);
        let most = 0;
        for (const step of life) {
          fleet.do(step);
          most = Math.max(most, fleet.metered);
        }
        expect(most).toBeLessThanOrEqual(shape.burst * shape.unitsPerToken);
      }),
      { numRuns: 500 },
    );
  });

  it("never see level and escrow above the burst after any step, in whole numbers", () => {
    const move = fc.record({ kind: fc.constant("adjust" as const), amount: fc.integer({ min: -20, max: 20 }) });
    const steps = fc.array(fc.oneof({ weight: 8, arbitrary: anyStep }, { weight: 1, arbitrary: move }), {
      minLength: 20,
      maxLength: 50,
    });
    fc.assert(
      fc.property(anyShape, steps, (shape, life) => {
        const fleet = new Fleet(shape);
        for (const step of life) {
          fleet.do(step);
          const { level, older, newer } = fleet.state;
          const all = level + (older.tokens + newer.tokens) * shape.unitsPerToken;
          const inOrder = older.tokens === 0 || newer.tokens === 0 || older.deathUs <= newer.deathUs;
          const whole = [level, older.tokens, newer.tokens].every(Number.isSafeInteger);
          if (all > shape.burst * shape.unitsPerToken || !inOrder || !whole || older.tokens < 0 || newer.tokens < 0)
            return false;
        }
        return true;
      }),
      { numRuns: 200 },
    );
  });

  it("who come back after the wait that they were told, alone, are admitted, and not 1 us before", () => {
    fc.assert(
      fc.property(anyShape, fc.array(anyStep, { minLength: 10, maxLength: 30 }), anyAmount, (shape, life, cost) => {
        const fleet = new Fleet(shape);
        for (const step of life) {
          fleet.do(step);
          const waitUs = tokenBucket.waitUs(fleet.state, shape, cost, fleet.clockUs);
          const fitsAfter = (us: number): boolean => {
            const copy = tokenBucket.copy(fleet.state);
            tokenBucket.advance(copy, shape, fleet.clockUs + us);
            return tokenBucket.fits(copy, shape, cost);
          };
          if (cost > shape.burst) {
            if (waitUs !== Number.POSITIVE_INFINITY) return false;
          } else if (!fitsAfter(waitUs) || (waitUs > 0 && fitsAfter(waitUs - 1))) return false;
        }
        return true;
      }),
      { numRuns: 200 },
    );
  });
});

describe("two policies that alternate on one bucket, as during a rolling deploy", () => {
  const anyChange = fc.oneof(
    fc.record({ kind: fc.constant("lease" as const), amount: anyAmount, lifeUs: fc.integer({ min: 500, max: 9000 }) }),
    fc.record({ kind: fc.constantFrom("serve" as const, "adjust" as const), amount: anyAmount }),
    fc.record({ kind: fc.constant("adjust" as const), amount: fc.integer({ min: -20, max: 20 }) }),
    fc.record({ kind: fc.constant("settle" as const), which: fc.nat(1), amount: anyAmount }),
    fc.record({ kind: fc.constant("wait" as const), amount: fc.integer({ min: 1, max: 9000 }) }),
  );

  it("hold no more together with the escrow than the larger of burst and escrow", () => {
    fc.assert(
      fc.property(anyShape, anyShape, fc.array(anyChange, { maxLength: 30 }), (one, other, changes) => {
        const state = tokenBucket.open(one, START_US);
        let nowUs = START_US;
        for (const [index, change] of changes.entries()) {
          const shape = index % 2 === 0 ? one : other;
          nowUs = apply(state, shape, change, nowUs);
          expect(state.level).toBeLessThanOrEqual(Math.max(0, shape.burst - escrowed(state)) * shape.unitsPerToken);
        }
      }),
      { numRuns: 100 },
    );
  });

  it("are both full again when the key expires, whoever wrote it last", () => {
    fc.assert(
      fc.property(anyShape, anyShape, fc.array(anyChange, { minLength: 2, maxLength: 12 }), (one, other, changes) => {
        const state = tokenBucket.open(one, START_US);
        let nowUs = START_US;
        for (const [index, change] of changes.entries())
          nowUs = apply(state, index % 2 === 0 ? one : other, change, nowUs);
        const lastWriter = changes.length % 2 === 1 ? one : other;
        const expiresUs = nowUs + tokenBucket.expiryMs(state, lastWriter, nowUs) * MS;
        for (const shape of [one, other]) {
          const copy = tokenBucket.copy(state);
          tokenBucket.advance(copy, shape, expiresUs);
          expect([copy.level, escrowed(copy)]).toEqual([shape.burst * shape.unitsPerToken, 0]);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("keep a key no longer than a hundred years", () => {
    const shape = tokenBucketShape(1, 366 * DAY_US, 1e12);
    const state = tokenBucket.open(shape, START_US);
    expect(tokenBucket.expiryMs(state, shape, START_US)).toBe((100 * 365 * DAY_US) / 1000);
    expect(tokenBucket.expiryMs(tokenBucket.open(SHAPE, START_US), SHAPE, START_US)).toBeLessThan(SECOND_US);
  });

  function apply(state: TokenBucketState, shape: TokenBucketShape, change: Step, nowUs: number): number {
    const atUs = change.kind === "wait" ? nowUs + change.amount : nowUs;
    tokenBucket.advance(state, shape, atUs);
    if (change.kind === "adjust") tokenBucket.adjust(state, shape, change.amount);
    if (change.kind === "serve" && tokenBucket.fits(state, shape, change.amount))
      tokenBucket.charge(state, shape, change.amount);
    if (change.kind === "settle")
      settleLease(state, shape, [state.older.id, state.newer.id][change.which] as number, change.amount, change.amount);
    if (change.kind === "lease") {
      const tokens = Math.min(change.amount, Math.floor(state.level / shape.unitsPerToken));
      if (tokens > 0) grantLease(state, shape, tokens, change.lifeUs, atUs);
    }
    return atUs;
  }
});
