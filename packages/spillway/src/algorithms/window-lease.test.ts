import { describe, expect, it } from "vitest";
import { algorithmOf, copyOf, reset } from "./bucket.ts";
import { type FixedWindowState, fixedWindow } from "./fixed-window.ts";
import { slidingWindowCounter } from "./sliding-window-counter.ts";
import { START_US } from "./test-support.ts";
import {
  grantWindowLease,
  isLeasableWindow,
  type LeasableWindowShape,
  type LeasableWindowState,
  leasedOfWindow,
  leaseLifeUs,
  settleWindowLease,
} from "./window-lease.ts";

const PERIOD_US = 1_000_000;
const LIFE_US = 100_000;
const FIXED = { kind: "fixed-window", limit: 40, periodUs: PERIOD_US, aligned: false } as const;
const COUNTER = { kind: "sliding-window-counter", limit: 40, periodUs: PERIOD_US } as const;

/** A window that began at START_US. */
function open(shape: LeasableWindowShape): LeasableWindowState {
  return algorithmOf(shape).open(shape, START_US) as LeasableWindowState;
}

function usedOf(state: LeasableWindowState): number {
  return state.kind === "fixed-window" ? state.used : state.current;
}

describe.each([["fixed-window", FIXED] as const, ["sliding-window-counter", COUNTER] as const])("a %s", (_, shape) => {
  const algorithm = algorithmOf(shape);
  const grant = (state: LeasableWindowState, wish: number, nowUs = START_US): ReturnType<typeof grantWindowLease> =>
    grantWindowLease(state, shape, wish, LIFE_US, nowUs);
  const settle = (state: LeasableWindowState, ...given: [id: number, settled: number, returned: number]): void =>
    settleWindowLease(state, shape, ...given);

  it("leases what is wished for, a quarter of what is left at most, and counts it as used at once", () => {
    const state = open(shape);
    expect(grant(state, 4)).toEqual({ id: START_US, tokens: 4 });
    expect([usedOf(state), leasedOfWindow(state)]).toEqual([4, 4]);
    expect(grant(state, 100)).toEqual({ id: START_US, tokens: 9 });
    expect([usedOf(state), leasedOfWindow(state)]).toEqual([13, 13]);
  });

  it("leases nothing of what is less than four tokens, nor when it is over in less than a quarter of the lease's life", () => {
    const state = open(shape);
    algorithm.charge(state, shape, 37);
    expect(grant(state, 5)).toEqual({ id: 0, tokens: 0 });
    expect(grant(open(shape), -1)).toEqual({ id: 0, tokens: 0 });
    const ending = open(shape);
    const lastUs = START_US + PERIOD_US - LIFE_US / 4;
    algorithm.advance(ending, shape, lastUs + 1);
    expect(grant(ending, 5, lastUs + 1).tokens).toBe(0);
    algorithm.advance(ending, shape, lastUs);
    expect(grant(ending, 5, lastUs).tokens).toBe(5);
  });

  it("names a lease by when its first tokens were leased, and the next, once all is settled, by another instant", () => {
    const state = open(shape);
    const first = grant(state, 4);
    expect(grant(state, 4, START_US + 5).id).toBe(first.id);
    settle(state, first.id, 8, 0);
    expect(state.lease).toBeUndefined();
    expect(grant(state, 4, START_US + 9).id).toBe(START_US + 9);
  });

  it("takes back what was not spent, of the lease that is named, and no more than is out", () => {
    const state = open(shape);
    const { id } = grant(state, 8);
    settle(state, id - 1, 8, 8);
    expect([usedOf(state), leasedOfWindow(state)]).toEqual([8, 8]);
    settle(state, id, 5, 2);
    expect([usedOf(state), leasedOfWindow(state)]).toEqual([6, 3]);
    settle(state, id, 100, 100);
    expect([usedOf(state), leasedOfWindow(state)]).toEqual([3, 0]);
    settle(state, id, 3, 3);
    expect(usedOf(state)).toBe(3);
  });

  it("never gives what is out on lease to a refund or a reset", () => {
    const state = open(shape);
    algorithm.charge(state, shape, 10);
    grant(state, 5);
    algorithm.adjust(state, shape, 12);
    expect([usedOf(state), leasedOfWindow(state)]).toEqual([5, 5]);
    algorithm.charge(state, shape, 10);
    reset(state, shape);
    expect([algorithm.remaining(state, shape), leasedOfWindow(state)]).toEqual([35, 5]);
  });

  it("has nothing on lease once it is over, and a copy shares nothing with it", () => {
    const state = open(shape);
    grant(state, 5);
    const copy = copyOf(state) as LeasableWindowState;
    algorithm.advance(copy, shape, START_US + PERIOD_US);
    expect(leasedOfWindow(copy)).toBe(0);
    expect(leasedOfWindow(state)).toBe(5);
    settle(copyOf(state) as LeasableWindowState, START_US, 2, 2);
    expect(leasedOfWindow(state)).toBe(5);
  });

  it("lets a lease live as long as it was asked for, or to its own end where that is sooner", () => {
    const state = open(shape);
    expect(leaseLifeUs(state, shape, LIFE_US, START_US)).toBe(LIFE_US);
    expect(leaseLifeUs(state, shape, LIFE_US, START_US + PERIOD_US - 7)).toBe(7);
  });

  it("keeps what is on lease when the clock goes back, with its id", () => {
    const state = open(shape);
    const { id } = grant(state, 5);
    algorithm.advance(state, shape, START_US - 300);
    expect([usedOf(state), leasedOfWindow(state), state.startUs]).toEqual([5, 5, START_US - 300]);
    settle(state, id, 5, 5);
    expect(usedOf(state)).toBe(0);
  });
});

it("what a sliding window counter had on lease when its window ended counts as used in it", () => {
  const state = open(COUNTER);
  grantWindowLease(state, COUNTER, 8, LIFE_US, START_US);
  slidingWindowCounter.advance(state as never, COUNTER, START_US + PERIOD_US);
  expect(state).toMatchObject({ previous: 8, current: 0 });
});

it("an aligned window that is pulled back to the clock lasts its whole period while tokens of it are on lease", () => {
  const shape = { ...FIXED, aligned: true };
  const nowUs = START_US - (START_US % PERIOD_US) + 5 * PERIOD_US + 400_000;
  const [plain, leased] = [0, 1].map(() => fixedWindow.open(shape, nowUs)) as [FixedWindowState, FixedWindowState];
  grantWindowLease(leased, shape, 4, LIFE_US, nowUs);
  for (const state of [plain, leased]) fixedWindow.advance(state, shape, nowUs - 410_000);
  expect(plain.startUs).toBe(nowUs - 1_400_000);
  expect(leased.startUs).toBe(nowUs - 410_000);
});

it("a log and a token bucket are not leased as windows are", () => {
  const kinds = (["token-bucket", "fixed-window", "sliding-window-counter", "sliding-window-log"] as const).map(
    (kind) => isLeasableWindow({ kind } as Parameters<typeof isLeasableWindow>[0]),
  );
  expect(kinds).toEqual([false, true, true, false]);
});
