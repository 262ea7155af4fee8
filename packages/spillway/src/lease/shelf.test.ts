import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Instant, Shelf, type ShelfCounts } from "./shelf.ts";

const LIFE_MS = 100;
/** What a holder spends of it. */
const OVER_MS = 75;
const START: Instant = { monotonicMs: 5000, wallMs: 1_790_000_000_000 };

function at(monotonicMs: number, wallMs = monotonicMs): Instant {
  return { monotonicMs: START.monotonicMs + monotonicMs, wallMs: START.wallMs + wallMs };
}

interface Bench {
  readonly shelf: Shelf;
  readonly counts: ShelfCounts;
  add(id: number, tokens: number, sent?: Instant): void;
  spendable(now: Instant): number;
  spend(tokens: number, now?: Instant): void;
  settlements(now?: Instant, giveBack?: boolean): ReturnType<Shelf["takeSettlements"]>;
}

function bench(): Bench {
  const counts = { leased: 0, spent: 0, returned: 0, expired: 0 };
  const shelf = new Shelf(counts);
  return {
    shelf,
    counts,
    add: (id, tokens, sent = START) => shelf.add(id, tokens, LIFE_MS, sent),
    spendable: ({ monotonicMs, wallMs }) => shelf.spendable(monotonicMs, wallMs),
    spend(tokens, { monotonicMs, wallMs } = START) {
      expect(shelf.spendable(monotonicMs, wallMs)).toBeGreaterThanOrEqual(tokens);
      shelf.spend(tokens);
    },
    settlements: ({ monotonicMs, wallMs } = START, giveBack = false) =>
      shelf.takeSettlements(monotonicMs, wallMs, giveBack),
  };
}

describe("leased tokens", () => {
  it("are spent oldest lease first, and reported each with its own lease", () => {
    const { shelf, add, spend, settlements } = bench();
    add(1, 3);
    add(2, 5);
    spend(4);
    expect(shelf.held).toBe(4);
    expect(settlements()).toEqual([
      { id: 1, settled: 3, returned: 0 },
      { id: 2, settled: 1, returned: 0 },
    ]);
  });

  it("are reported once, whether or not the report arrives", () => {
    const { add, spend, settlements } = bench();
    add(1, 3);
    spend(2);
    expect(settlements()).toEqual([{ id: 1, settled: 2, returned: 0 }]);
    expect(settlements()).toEqual([]);
    spend(1);
    expect(settlements()).toEqual([{ id: 1, settled: 1, returned: 0 }]);
  });

  it("go back unspent when they are to, in the report of the spent ones", () => {
    const { shelf, counts, add, spend, settlements } = bench();
    add(1, 5);
    spend(2);
    expect(settlements(START, true)).toEqual([{ id: 1, settled: 5, returned: 3 }]);
    expect(shelf.held).toBe(0);
    expect(shelf.isUnsettled).toBe(false);
    expect(counts).toEqual({ leased: 5, spent: 2, returned: 3, expired: 0 });
  });

  it("leave nothing behind when they are all spent and reported", () => {
    const { shelf, add, spend, settlements } = bench();
    add(1, 2);
    expect(shelf.isUnsettled).toBe(true);
    spend(2);
    expect(shelf.isUnsettled).toBe(true);
    settlements();
    expect(shelf.isUnsettled).toBe(false);
  });

  it("of a lease that a late reply brings after a newer one are kept apart", () => {
    const { add, settlements } = bench();
    add(2, 5, at(60));
    add(1, 3, at(0));
    expect(settlements(at(80), true)).toEqual([
      { id: 2, settled: 5, returned: 5 },
      { id: 1, settled: 3, returned: 3 },
    ]);
  });
});

describe("a lease is over", () => {
  it.each([
    ["three quarters of its life after its call was sent, by both clocks", at(OVER_MS)],
    ["by the monotonic clock, though the wall clock was set back a little", at(OVER_MS, 60)],
    ["by the wall clock, though the monotonic clock stood still (C24 b)", at(0, 60_000)],
    ["by the wall clock, though the monotonic clock lost a little", at(60, OVER_MS)],
    ["when the wall clock was set back far", at(1, -60_000)],
    ["when the clocks part by more than a quarter of its life and 2 ms", at(1, -26.001)],
    ["when they part so the other way", at(1, 28.001)],
  ])("%s", (_, now) => {
    const { counts, add, spendable } = bench();
    add(1, 5);
    expect(spendable(now)).toBe(0);
    expect(counts.expired).toBe(5);
    const { shelf, add: other, spendable: known } = bench();
    other(1, 5);
    expect(known(START)).toBe(5);
    expect(shelf.spendOne(now.monotonicMs, now.wallMs)).toBe(false);
    expect(known(now)).toBe(0);
  });

  it.each([
    ["a moment before its time is up", at(OVER_MS - 0.001)],
    ["while the clocks part by no more than it bears", at(1, -26)],
    ["while they part so the other way", at(1, 28)],
  ])("not %s", (_, now) => {
    const { add, spendable } = bench();
    add(1, 5);
    expect(spendable(now)).toBe(5);
  });

  it("counted from when its call was sent, however late the reply came", () => {
    const { add, spendable } = bench();
    add(1, 5, at(-OVER_MS));
    expect(spendable(START)).toBe(0);
  });

  it("for good: clocks that agree again do not bring it back", () => {
    const { add, spendable } = bench();
    add(1, 5);
    expect(spendable(at(1, 50))).toBe(0);
    expect(spendable(at(2))).toBe(0);
  });

  it("each at its own time", () => {
    const { add, spendable } = bench();
    add(1, 5, at(0));
    add(2, 3, at(20));
    expect(spendable(at(OVER_MS))).toBe(3);
    expect(spendable(at(OVER_MS + 20))).toBe(0);
  });

  it("later when new tokens join it: the store puts off the death of all of them", () => {
    const { add, spendable, settlements } = bench();
    add(1, 5, at(0));
    add(1, 3, at(20));
    expect(spendable(at(OVER_MS))).toBe(8);
    expect(settlements(at(OVER_MS), true)).toEqual([{ id: 1, settled: 8, returned: 8 }]);
  });
});

describe("tokens too old to spend", () => {
  it("go back with the next report, also one that gives nothing else back", () => {
    const { counts, add, spend, settlements } = bench();
    add(1, 5, at(0));
    spend(1);
    add(2, 4, at(50));
    expect(settlements(at(80))).toEqual([{ id: 1, settled: 5, returned: 4 }]);
    expect(counts).toEqual({ leased: 9, spent: 1, returned: 4, expired: 4 });
    expect(settlements(at(80))).toEqual([]);
  });

  it("go back once, also when new ones join their lease before they do", () => {
    const { add, settlements } = bench();
    add(1, 5, at(0));
    expect(settlements(at(0))).toEqual([]);
    add(1, 3, at(OVER_MS));
    expect(settlements(at(OVER_MS))).toEqual([]);
    const { add: later, spendable, settlements: told } = bench();
    later(1, 5, at(0));
    expect(spendable(at(1, 50))).toBe(0);
    later(1, 3, at(1, 50));
    expect(told(at(1, 50))).toEqual([{ id: 1, settled: 5, returned: 5 }]);
    expect(told(at(1, 50))).toEqual([]);
    expect(spendable(at(1, 50))).toBe(3);
  });

  it("are left out when others are spent", () => {
    const { shelf, add, spend, settlements } = bench();
    add(1, 5, at(0));
    add(2, 4, at(50));
    spend(4, at(80));
    expect(shelf.held).toBe(0);
    expect(settlements(at(80))).toEqual([
      { id: 1, settled: 5, returned: 5 },
      { id: 2, settled: 4, returned: 0 },
    ]);
  });
});

describe("whatever happens to a shelf", () => {
  const step = fc.oneof(
    fc.record({ does: fc.constant("add" as const), tokens: fc.integer({ min: 1, max: 9 }), isNew: fc.boolean() }),
    fc.record({ does: fc.constant("spend" as const), tokens: fc.integer({ min: 0, max: 9 }) }),
    fc.record({ does: fc.constant("report" as const), giveBack: fc.boolean() }),
    fc.record({ does: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: 60 }) }),
  );

  it("each leased token is held, waits to be reported, or was reported once, and spent ones never go back", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { shelf, counts, add, spendable, settlements } = bench();
        let [nowMs, id, settled, returned] = [0, 1, 0, 0];
        const report = (giveBack: boolean): void => {
          for (const one of settlements(at(nowMs), giveBack)) {
            expect(one.returned).toBeLessThanOrEqual(one.settled);
            settled += one.settled;
            returned += one.returned;
          }
        };
        for (const planned of steps) {
          if (planned.does === "pass") nowMs += planned.ms;
          if (planned.does === "add") add(planned.isNew ? ++id : id, planned.tokens, at(nowMs));
          if (planned.does === "spend") shelf.spend(Math.min(planned.tokens, spendable(at(nowMs))));
          if (planned.does === "report") report(planned.giveBack);
          expect(settled + shelf.held).toBeLessThanOrEqual(counts.leased);
        }
        report(true);
        expect([settled, returned, shelf.held]).toEqual([counts.leased, counts.leased - counts.spent, 0]);
        expect(counts.returned).toBe(returned);
      }),
      { numRuns: 300 },
    );
  });

  it("it gives what a shelf would that looks at each lease each time, by both clocks", () => {
    // Now and then the clocks part, sometimes too far for some of the tokens.
    const parting = fc.oneof(fc.constant(0), fc.integer({ min: -26, max: 26 }), fc.integer({ min: -90, max: 90 }));
    fc.assert(
      fc.property(fc.array(fc.tuple(step, parting), { maxLength: 60 }), (steps) => {
        const { shelf, add, spendable, settlements } = bench();
        const plain = plainShelf();
        let [nowMs, id] = [0, 1];
        for (const [planned, partedMs] of steps) {
          const now = at(nowMs, nowMs + partedMs);
          if (planned.does === "pass") {
            nowMs += planned.ms;
            expect(spendable(now)).toBe(plain.held(now));
          }
          if (planned.does === "add") {
            id += planned.isNew ? 1 : 0;
            for (const one of [add, plain.add]) one(id, planned.tokens, now);
          }
          if (planned.does === "spend")
            for (let n = 0; n < planned.tokens; n++) {
              const isSpent = shelf.spendOne(now.monotonicMs, now.wallMs) || spendable(now) > 0;
              expect(isSpent).toBe(plain.spend(now));
              if (isSpent && shelf.held !== plain.held(now)) shelf.spend(1);
            }
          if (planned.does === "report")
            expect(settlements(now, planned.giveBack)).toEqual(plain.settlements(now, planned.giveBack));
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe("one token", () => {
  it("is spent without a look at every lease as soon as one has shown what can be spent", () => {
    const { shelf, add, spend } = bench();
    const one = (): boolean => shelf.spendOne(START.monotonicMs, START.wallMs);
    add(1, 2);
    add(2, 2);
    expect(one()).toBe(false);
    spend(1);
    expect([one(), one()]).toEqual([true, false]);
    spend(1);
    expect([one(), one(), shelf.held]).toEqual([true, false, 0]);
  });
});

interface PlainShelf {
  add(id: number, tokens: number, sent: Instant): void;
  /** Spends one token, if there is one. */
  spend(now: Instant): boolean;
  settlements(now: Instant, giveBack: boolean): ReturnType<Shelf["takeSettlements"]>;
  held(now: Instant): number;
}

/** The rules of a shelf, without a thought for speed. */
function plainShelf(): PlainShelf {
  let leases: { id: number; left: number; spent: number; stale: number; sent: Instant }[] = [];
  const offsetMs = ({ monotonicMs, wallMs }: Instant): number => wallMs - monotonicMs;
  const look = (now: Instant): void => {
    for (const lease of leases) {
      const { sent } = lease;
      const isOld = now.monotonicMs - sent.monotonicMs >= OVER_MS || now.wallMs - sent.wallMs >= OVER_MS;
      if (!isOld && Math.abs(offsetMs(now) - offsetMs(sent)) <= LIFE_MS / 4 + 2) continue;
      lease.stale += lease.left;
      lease.left = 0;
    }
  };
  return {
    add(id, tokens, sent) {
      if (leases.at(-1)?.id !== id) leases.push({ id, left: 0, spent: 0, stale: 0, sent });
      const lease = leases.at(-1) as (typeof leases)[number];
      lease.left += tokens;
      lease.sent = sent;
    },
    spend(now) {
      look(now);
      const lease = leases.find(({ left }) => left > 0);
      if (lease === undefined) return false;
      lease.left--;
      lease.spent++;
      return true;
    },
    settlements(now, giveBack) {
      look(now);
      const told = leases.map(({ id, left, spent, stale }) => {
        const returned = stale + (giveBack ? left : 0);
        return { id, settled: spent + returned, returned };
      });
      leases = giveBack ? [] : leases.filter(({ left }) => left > 0);
      for (const lease of leases) Object.assign(lease, { spent: 0, stale: 0 });
      return told.filter(({ settled }) => settled > 0);
    },
    held(now) {
      look(now);
      return leases.reduce((sum, { left }) => sum + left, 0);
    },
  };
}
