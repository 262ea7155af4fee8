import { describe, expect, it } from "vitest";
import { algorithmOf } from "../algorithms/bucket.ts";
import { START_US } from "../algorithms/test-support.ts";
import type { PolicyOptions } from "../policy.ts";
import { policyResolver } from "../policy-set.ts";
import type { BucketReading, LeaseGrant, LeaseReport } from "../stores/store.ts";
import { LaneLease } from "./lane-lease.ts";
import type { Instant, ShelfCounts } from "./shelf.ts";

const DRAIN_MS = 50;
/** 1 per ms, which drains in 50 ms. */
const LARGE: PolicyOptions = { name: "large", limit: 1000, period: "1s", burst: 200 };
const SMALL: PolicyOptions = { name: "small", limit: 1000, period: "1s", burst: 100 };

function at(ms: number): Instant {
  return { monotonicMs: ms, wallMs: 1_790_000_000_000 + ms };
}

interface GrantOptions {
  readonly wish?: number;
  readonly isLate?: boolean;
  /** How long ago windows began. */
  readonly ageUs?: number;
}

interface Bench {
  readonly lease: LaneLease;
  readonly counts: ShelfCounts;
  /** Adopts grants for a call that was sent at `ms` with the wishes that were granted. */
  grant(ms: number, tokens: readonly number[], options?: Partial<LeaseGrant> & GrantOptions): void;
  spend(costs: readonly number[], ms?: number): ReturnType<LaneLease["spend"]>;
  /** Lets callers ask for `perMs` tokens in each of `ms` milliseconds, ending at `untilMs`. */
  ask(perMs: number, ms: number): void;
}

function bench(policies: readonly PolicyOptions[] = [LARGE]): Bench {
  const set = policyResolver(policies)("key");
  const counts = { leased: 0, spent: 0, returned: 0, expired: 0 };
  const lease = new LaneLease(set, DRAIN_MS, 0, counts);
  return {
    lease,
    counts,
    grant(ms, tokens, { contended = false, id = 7, wish, isLate = false, ageUs = 0 } = {}) {
      const readings = set.policies.map(({ shape }, i): BucketReading => {
        const state = algorithmOf(shape).open(shape, START_US - ageUs);
        return { kind: "state", state, lease: { id, tokens: tokens[i] as number, contended } };
      });
      const reports = tokens.map((granted) => ({ ...QUIET, wish: wish ?? granted }));
      lease.adopt(readings, reports, START_US, at(ms), 1, isLate);
    },
    spend: (costs, ms = 0) => lease.spend(costs, ms, at(ms).wallMs),
    ask(perMs, ms) {
      for (let n = 0; n < perMs * ms; n++) lease.noteAsked(set.unitCosts);
    },
  };
}

const QUIET: LeaseReport = { wish: 0, lifeUs: 100_000, demand: 0, weight: 100, settlements: [] };

function wishAt(lease: LaneLease, ms: number): number {
  return lease.report(at(ms), true, false)[0]?.wish as number;
}

describe("a lane's leased tokens", () => {
  it("are spent from every shelf, or from none when one is short", () => {
    const { lease, grant, spend } = bench([LARGE, SMALL]);
    grant(0, [5, 3]);
    expect(spend([2, 2])?.map(({ policy }) => policy)).toEqual(["large", "small"]);
    expect(spend([2, 2])).toBeUndefined();
    expect(spend([4, 1])).toBeUndefined();
    expect([lease.held(0), lease.held(1)]).toEqual([3, 1]);
    expect(spend([3, 1])).toBeDefined();
  });

  it("serve a cost of nothing of a policy whose shelf is empty", () => {
    const { lease, grant, spend } = bench([LARGE, SMALL]);
    grant(0, [5, 0]);
    expect(spend([2, 0])).toBeDefined();
    expect(spend([0, 1])).toBeUndefined();
    expect(lease.held(0)).toBe(3);
  });

  it("are none before the store has said how the policies stand, whatever the cost", () => {
    const { spend } = bench();
    expect(spend([0])).toBeUndefined();
  });

  it("stay on every shelf when those of one have grown too old", () => {
    const { lease, grant, spend } = bench([LARGE, SMALL]);
    grant(0, [5, 5]);
    expect(spend([1, 1], 75)).toBeUndefined();
    expect(lease.held(0) + lease.held(1)).toBeLessThan(10);
    const settled = lease.report(at(75), false, false).map(({ settlements }) => settlements);
    expect(settled).toEqual([[{ id: 7, settled: 5, returned: 5 }], [{ id: 7, settled: 5, returned: 5 }]]);
  });

  const WINDOW: PolicyOptions = { name: "window", limit: 1000, period: "1s", algorithm: "fixed-window" };

  it("of a window are spent for three quarters of what is left of it, where that is less than their life", () => {
    const { grant, spend } = bench([WINDOW]);
    grant(0, [5], { ageUs: 960_000 });
    expect(spend([1], 29.9)).toBeDefined();
    expect(spend([1], 30)).toBeUndefined();
  });

  it("of a counter that had next to none are not wished for again before a drain time has passed", () => {
    const counter: PolicyOptions = { ...WINDOW, algorithm: "sliding-window-counter" };
    const { lease, ask, grant } = bench([counter]);
    ask(10, 10);
    grant(0, [3], { wish: 12 });
    expect(wishAt(lease, 1)).toBeGreaterThan(0);
    ask(10, 10);
    grant(10, [2], { wish: 12 });
    expect(wishAt(lease, 59)).toBe(0);
    ask(10, 10);
    expect(wishAt(lease, 60)).toBeGreaterThan(0);
  });

  it("of a window go back unspent where they come too late, for they were shared out without; those of a bucket do not", () => {
    const window = bench([WINDOW]);
    window.grant(0, [5], { isLate: true });
    expect(window.spend([1], 1)).toBeUndefined();
    expect(window.lease.report(at(1), false, false)[0]?.settlements).toEqual([{ id: 7, settled: 5, returned: 5 }]);
    const tokens = bench();
    tokens.grant(0, [5], { isLate: true });
    expect(tokens.spend([1], 1)).toBeDefined();
  });

  it.each([
    ["before", [false, true]],
    ["after", [true, false]],
  ])("of a window that come too late leave those of the same lease as they are, which came %s them", (_, order) => {
    const { lease, counts, grant, spend } = bench([WINDOW]);
    for (const isLate of order) grant(0, [isLate ? 3 : 5], { isLate });
    expect(lease.held(0)).toBe(5);
    expect(spend([6], 1)).toBeUndefined();
    expect(spend([5], 74)).toBeDefined();
    expect(lease.report(at(74), false, false)[0]?.settlements).toEqual([{ id: 7, settled: 8, returned: 3 }]);
    expect(counts).toEqual({ leased: 8, spent: 5, returned: 3, expired: 3 });
  });

  it("tell what is held here and what the store last had", () => {
    const { grant, spend } = bench();
    grant(0, [5]);
    expect(spend([2])).toEqual([
      {
        policy: "large",
        limit: 1000,
        periodMs: 1000,
        remaining: 203,
        refillAfterMs: 0,
        resetAfterMs: 0,
        retryAfterMs: 0,
      },
    ]);
  });

  it("are settled after 0.8 drain times of silence, counted from the last spend or call", () => {
    const { lease, grant, spend } = bench();
    expect(lease.settleDueMs).toBe(40);
    grant(10, [5]);
    expect(lease.settleDueMs).toBe(50);
    spend([1], 30);
    expect(lease.settleDueMs).toBe(70);
    spend([9], 40);
    expect(lease.settleDueMs).toBe(70);
    grant(20, [5]);
    expect(lease.settleDueMs).toBe(70);
    expect(lease.isUnsettled).toBe(true);
    lease.report(at(70), false, true);
    expect(lease.isUnsettled).toBe(false);
  });
});

describe("a wish", () => {
  it("is what callers will ask for in one drain time", () => {
    const { lease, ask } = bench();
    for (let ms = 10; ms <= 600; ms += 10) {
      ask(1, 10);
      if (ms < 600) wishAt(lease, ms);
    }
    expect(wishAt(lease, 600)).toBeGreaterThan(44);
    expect(wishAt(lease, 600)).toBeLessThan(56);
  });

  it("is less by what is held", () => {
    const { lease, ask, grant } = bench();
    ask(1, 100);
    grant(0, [20]);
    expect(wishAt(lease, 0)).toBe(30);
  });

  it("counts what is held as nothing when it goes back in the same call", () => {
    const { lease, ask, grant } = bench();
    ask(1, 100);
    grant(0, [20]);
    const [report] = lease.report(at(0), true, true);
    expect(report).toMatchObject({ wish: 50, settlements: [{ id: 7, settled: 20, returned: 20 }] });
  });

  it("is made from three tokens a drain time on", () => {
    const { lease, ask } = bench();
    ask(1, 5);
    expect(wishAt(lease, 0)).toBe(0);
    ask(1, 1);
    expect(wishAt(lease, 0)).toBe(3);
  });

  it("is made only when asked to", () => {
    const { lease, ask } = bench();
    ask(1, 100);
    expect(lease.report(at(0), false, false)[0]?.wish).toBe(0);
  });

  it("fades with silence", () => {
    const { lease, ask } = bench();
    ask(1, 100);
    expect(wishAt(lease, 0)).toBe(50);
    expect(wishAt(lease, 100)).toBeLessThan(25);
    expect(wishAt(lease, 500)).toBe(0);
  });

  it("is not fed by costs above a sixteenth of the burst, for each policy by its own", () => {
    const { lease } = bench([LARGE, SMALL]);
    for (let n = 0; n < 10; n++) lease.noteAsked([12, 7]);
    expect(lease.report(at(0), true, false).map(({ wish }) => wish)).toEqual([60, 0]);
  });

  it("is not made while somebody waits for a larger cost, and nothing is fetched early", () => {
    const { lease, ask, grant, spend } = bench();
    ask(1, 100);
    grant(0, [2]);
    lease.abstain(0, 30);
    lease.abstain(0, 20);
    spend([1], 29);
    expect(lease.isLow).toBe(false);
    expect(wishAt(lease, 29.9)).toBe(0);
    spend([1], 30);
    expect(lease.isLow).toBe(true);
    expect(wishAt(lease, 30)).toBeGreaterThan(0);
  });

  it("is made again after ten seconds, though somebody waits until a window or a block of a day ends", () => {
    const { lease, ask } = bench();
    lease.abstain(0, 86_400_000);
    ask(1, 100);
    expect(wishAt(lease, 9999)).toBe(0);
    ask(1, 100);
    expect(wishAt(lease, 10_000)).toBeGreaterThan(0);
  });

  it("is made though somebody was refused what can never fit", () => {
    const { lease, ask } = bench();
    ask(1, 100);
    lease.abstain(0, Number.POSITIVE_INFINITY);
    expect(wishAt(lease, 0)).toBe(50);
  });
});

describe("the demand that is reported", () => {
  it("is told once, and weighs in afterwards while it fades", () => {
    const { lease, ask } = bench();
    ask(1, 10);
    expect(lease.report(at(0), false, false)[0]).toMatchObject({ demand: 10, weight: 10, lifeUs: 100_000 });
    const [later] = lease.report(at(50), false, false);
    expect(later?.demand).toBe(0);
    expect(later?.weight).toBeCloseTo(10 * (100 / 112.5) ** 4, 6);
  });

  it("has faded a little itself when it was asked for over a time", () => {
    const { lease, ask } = bench();
    ask(1, 10);
    expect(lease.report(at(100), false, false)[0]?.demand).toBeCloseTo(10 / 1.5, 6);
  });
});

describe("one token of the only policy", () => {
  it("is spent and counted as demand in one, and tells the same", () => {
    const [one, other] = [bench(), bench()];
    for (const { grant, spend } of [one, other]) {
      grant(0, [5]);
      spend([1]);
    }
    const status = one.lease.spendOne(10, at(10).wallMs);
    other.lease.noteAsked([1]);
    expect(status).toEqual(other.spend([1], 10)?.[0]);
    expect(one.lease.settleDueMs).toBe(other.lease.settleDueMs);
    expect(one.lease.report(at(20), true, false)).toEqual(other.lease.report(at(20), true, false));
    expect(one.counts).toEqual(other.counts);
  });

  it("is not spent where it is not the case at hand, and nothing is counted", () => {
    const [two, empty, old] = [bench([LARGE, SMALL]), bench(), bench()];
    two.grant(0, [5, 5]);
    empty.grant(0, [0]);
    old.grant(0, [5]);
    two.spend([0, 0]);
    empty.spend([0]);
    old.spend([0]);
    for (const { lease, counts } of [two, empty, old]) {
      expect(lease.spendOne(lease === old.lease ? 75 : 1, at(1).wallMs)).toBeUndefined();
      expect(counts.spent).toBe(0);
      expect(lease.report(at(1), false, false)[0]?.demand).toBe(0);
    }
  });
});

describe("fetching early", () => {
  it("begins when what is held falls to the watermark", () => {
    const { lease, grant, spend } = bench();
    grant(0, [5]);
    spend([2]);
    expect(lease.isLow).toBe(false);
    spend([1]);
    expect(lease.isLow).toBe(true);
  });

  it("looks at every shelf", () => {
    const { lease, grant, spend } = bench([LARGE, SMALL]);
    grant(0, [50, 3]);
    spend([1, 1]);
    expect(lease.isLow).toBe(true);
  });

  it.each([
    ["less was granted than wished for", { wish: 6 }],
    ["tokens are scarce", { contended: true }],
  ])("is of no use where %s", (_, options) => {
    const { lease, grant, spend } = bench();
    grant(0, [5], options);
    spend([5]);
    expect(lease.isLow).toBe(false);
  });
});
