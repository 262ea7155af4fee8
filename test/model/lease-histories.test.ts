import { describe, expect, it } from "vitest";
import {
  type FixedWindowShape,
  type FixedWindowState,
  fixedWindow,
} from "../../packages/spillway/src/algorithms/fixed-window.ts";
import { leaseLifeUs } from "../../packages/spillway/src/algorithms/window-lease.ts";
import { resolvePolicy } from "../../packages/spillway/src/policy.ts";
import { createRateLimiter } from "../../packages/spillway/src/rate-limiter.ts";
import { memoryStore } from "../../packages/spillway/src/stores/memory-store.ts";
import type { LeaseReport, Store, TakeCall } from "../../packages/spillway/src/stores/store.ts";
import { applyTake } from "../../packages/spillway/src/stores/take.ts";
import { manualClock } from "../../packages/spillway/src/testing/manual-clock.ts";
import { History, type HistoryPolicy } from "./lease-history.ts";
import { SHIPPED_RULES } from "./lease-rules.ts";
import { LEASE_TWINS, type LeaseTwin, rulesOf } from "./lease-twins.ts";

interface SmallHistory {
  /** What the twin's mistake begins with. */
  readonly twin: string;
  readonly policies: readonly HistoryPolicy[];
  play(history: History): void;
  /** By how many tokens the twin is over. */
  readonly over: number;
}

/** One token comes per millisecond unless a policy says otherwise. */
const HISTORIES: readonly SmallHistory[] = [
  {
    twin: "1: leases are settled before",
    policies: [{ burst: 7 }],
    play(history) {
      const id = history.lease(1, 50);
      history.pass(1.75);
      history.spend(1);
      history.ask(7, [{ id, settled: 1, returned: 0 }]);
    },
    over: 1,
  },
  {
    twin: "2: a dead escrow is dropped first",
    policies: [{ burst: 14 }],
    play(history) {
      history.lease(6, 4.2);
      history.pass(2.8);
      history.spend(6);
      history.pass(5.3);
      history.ask(28);
    },
    over: 0.7,
  },
  {
    twin: "3: a report is settled against whatever",
    policies: [{ burst: 11 }],
    play(history) {
      const dead = history.lease(4, 5);
      history.spend(4);
      history.lease(3, 50);
      history.pass(6);
      history.report(dead, 4, 0);
      history.pass(20);
      history.spend(3);
      history.ask(11);
    },
    over: 3,
  },
  {
    twin: "4: a key expires without regard",
    policies: [{ burst: 11 }],
    play(history) {
      history.lease(1, 20);
      history.pass(13);
      history.spend(1);
      history.ask(11);
    },
    over: 1,
  },
  {
    twin: "6: the life of what is leased changes",
    policies: [{ burst: 14 }, { burst: 4 }],
    play(history) {
      history.lease(7, 14);
      history.pass(4);
      history.under(1);
      history.ask(0);
      history.pass(8);
      history.under(0);
      history.spend(7);
      history.ask(14);
    },
    over: 1,
  },
  {
    twin: "7: a policy with a shorter time to full",
    policies: [{ burst: 14, perMs: 7 }, { burst: 3 }],
    play(history) {
      history.ask(14);
      history.under(1);
      history.ask(0);
      history.pass(5);
      history.under(0);
      history.ask(14);
    },
    over: 9,
  },
  {
    twin: "7: a level is read in the units",
    policies: [{ burst: 14, perMs: 7 }, { burst: 14 }],
    play(history) {
      history.ask(7);
      history.under(1);
      history.ask(14);
    },
    over: 7,
  },
  {
    twin: "7: a raised burst keeps",
    policies: [{ burst: 4 }, { burst: 14 }],
    play(history) {
      for (let flap = 0; flap < 3; flap++) {
        history.under(0);
        history.ask(4);
        history.under(1);
        history.ask(14);
      }
    },
    over: 20,
  },
  {
    twin: "9: ids count from one",
    policies: [{ burst: 14 }],
    play(history) {
      const lost = history.lease(5, 50);
      history.lose();
      history.pass(1);
      history.lease(5, 50);
      history.report(lost, 5, 0);
      history.pass(10);
      history.spend(5);
      history.ask(14);
    },
    over: 5,
  },
  {
    twin: "10: a level below zero is leased",
    policies: [{ burst: 12 }],
    play(history) {
      history.lease(6, 50);
      history.ask(6);
      history.penalize(6);
      history.wish(6, 50);
      history.pass(12);
      history.spend(6);
      history.ask(12);
    },
    over: 6,
  },
];

function twinNamed(start: string): LeaseTwin {
  const twin = LEASE_TWINS.find(({ mistake }) => mistake.startsWith(start));
  if (twin === undefined) throw new Error(`There is no twin "${start}".`);
  return twin;
}

describe("the smallest history of a hole", () => {
  it.each(HISTORIES.map((history) => [twinNamed(history.twin).mistake, history] as const))(
    "is within the bound, and over it where %s",
    (_, { twin, policies, play, over }) => {
      const shipped = new History(SHIPPED_RULES, policies);
      play(shipped);
      expect(shipped.over).toBe(0);
      const broken = new History(rulesOf(twinNamed(twin)), policies);
      play(broken);
      expect(broken.over).toBeCloseTo(over, 6);
    },
  );

  it("11: tokens given back twice take the place of another holder's", () => {
    for (const [times, over] of [
      [1, 0],
      [2, 2],
    ] as const) {
      const history = new History(SHIPPED_RULES, [{ burst: 12 }]);
      history.lease(3, 50);
      const shared = history.lease(2, 50);
      expect(history.lease(2, 50)).toBe(shared);
      for (let n = 0; n < times; n++) history.report(shared, 2, 2);
      history.pass(12);
      history.spend(5);
      history.ask(12);
      expect(history.over).toBe(over);
    }
  });
});

describe("tokens of a holder that died", () => {
  /** One token a millisecond, leased for 10 ms by somebody who is never heard of again; others lease and settle all the time. */
  function afterALoss(everyMs: number, untilMs: number): number {
    const history = new History(SHIPPED_RULES, [{ burst: 40 }]);
    const first = history.lease(1, 10);
    history.lease(5, 10);
    for (let ms = everyMs; ms <= untilMs; ms += everyMs) {
      history.pass(everyMs);
      const id = history.lease(1, 10);
      history.report(id, 1, 1);
    }
    history.pass(untilMs % everyMs);
    history.report(first, 1, 1);
    return history.escrow;
  }

  it.each([1, 2, 3, 5, 7])(
    "are usable again after two lives at the latest, though others join them every %d ms",
    (everyMs) => {
      expect(afterALoss(everyMs, 20)).toBe(0);
    },
  );

  it("may be kept for nearly so long by others who join them", () => {
    expect(afterALoss(1, 18)).toBe(5);
  });
});

describe("12: what callers need, as one sum", () => {
  const { shape } = resolvePolicy({ name: "a", limit: 1, period: 1, burst: 3 }, "policy");
  if (shape.kind !== "token-bucket") throw new Error("a token bucket");

  it("would be served in part, and lost: an ask is served whole or takes nothing", () => {
    const open = (): Parameters<typeof applyTake>[0][number] => ({
      state: {
        kind: "token-bucket",
        level: 3 * shape.unitsPerToken,
        timeUs: 0,
        unitsPerToken: shape.unitsPerToken,
        fullUs: shape.fullUs,
        older: { tokens: 0, id: 0, deathUs: 0 },
        newer: { tokens: 0, id: 0, deathUs: 0 },
        demand: 0,
      },
      shape,
      report: undefined,
      quietUs: 0,
    });
    const bucket = open();
    expect(applyTake([bucket], [{ count: 1, charges: [{ bucket: 0, cost: 5 }] }], 0).served).toEqual([0]);
    expect(bucket.state).toMatchObject({ level: 3 * shape.unitsPerToken });
    // The twin says what it needs in tokens: three are served, and nobody can use them.
    const twin = open();
    expect(applyTake([twin], [{ count: 5, charges: [{ bucket: 0, cost: 1 }] }], 0).served).toEqual([3]);
    expect(twin.state).toMatchObject({ level: 0 });
  });
});

describe("14: what a refused caller was told to wait for", () => {
  /** A limiter whose calls are changed on their way, busy until it leases. */
  async function busy(change: (call: TakeCall) => TakeCall): Promise<{ admittedWhenTold(): Promise<boolean> }> {
    const clock = manualClock();
    const memory = memoryStore({ clock });
    const store: Store = {
      name: "changed",
      take: (call) => memory.take(change(call)),
      peek: (addresses) => memory.peek(addresses),
      adjust: (adjustments) => memory.adjust(adjustments),
      block: (addresses, durationUs) => memory.block(addresses, durationUs),
      reset: (addresses) => memory.reset(addresses),
      close: async () => {},
    };
    const limiter = createRateLimiter({ policies: { name: "a", limit: 1000, period: "1s", burst: 200 }, store, clock });
    const pass = async (ms: number): Promise<void> => {
      clock.advance(ms);
      for (let n = 0; n < 4; n++) await new Promise(setImmediate);
    };
    for (let ms = 0; ms < 100; ms++) {
      void limiter.consume("k");
      void limiter.consume("k");
      await pass(1);
    }
    return {
      async admittedWhenTold() {
        let refused = await limiter.consume("k", { cost: 60 });
        while (refused.allowed) refused = await limiter.consume("k", { cost: 60 });
        await pass(refused.retryAfterMs / 2);
        // Somebody else takes one token, and no more than that.
        const one = await limiter.consume("k");
        await pass(refused.retryAfterMs / 2 + (one.allowed ? 1 : 0));
        return (await limiter.consume("k", { cost: 60 })).allowed;
      },
    };
  }

  it("is not taken by the wishes of its own process", async () => {
    const shipped = await busy((call) => call);
    expect(await shipped.admittedWhenTold()).toBe(true);
  });

  it("would be taken if it wished all the same, and gave nothing back", async () => {
    const report = { wish: 30, lifeUs: 100_000, demand: 0, weight: 100, settlements: [] };
    const twin = await busy((call) => ({
      ...call,
      buckets: call.buckets.map((bucket) => ({ ...bucket, report })),
    }));
    expect(await twin.admittedWhenTold()).toBe(false);
  });
});

describe("16: tokens of a window", () => {
  const LIFE_US = 8000;
  const report = (given: Partial<LeaseReport>): LeaseReport => {
    return { wish: 0, lifeUs: LIFE_US, demand: 0, weight: 0, settlements: [], ...given };
  };
  const windowOf = (period: number): { shape: FixedWindowShape; state: FixedWindowState } => {
    const { shape } = resolvePolicy({ name: "w", limit: 36, period, algorithm: "fixed-window" }, "policy");
    if (shape.kind !== "fixed-window") throw new Error("a window");
    return { shape, state: fixedWindow.open(shape, 0) };
  };

  it("are not alive when it is over; would they live as long as was asked for, more went in than its limit", () => {
    const { shape, state } = windowOf(10);
    fixedWindow.advance(state, shape, 8000);
    const [lease] = applyTake([{ state, shape, report: report({ wish: 9 }), quietUs: 0 }], [], 8000).leases;
    expect(lease?.tokens).toBe(9);
    expect(8000 + leaseLifeUs(state, shape, LIFE_US, 8000)).toBe(10_000);
    // The twin spends nine in the next window, which knows nothing of them.
    fixedWindow.advance(state, shape, 10_000);
    expect(9 + fixedWindow.remaining(state, shape)).toBe(36 + 9);
  });

  it("come back to it alone; without its name, as many as came back went in twice", () => {
    const { shape, state } = windowOf(10);
    const take = (given: LeaseReport, nowUs: number): number | undefined => {
      fixedWindow.advance(state, shape, nowUs);
      return applyTake([{ state, shape, report: given, quietUs: 0 }], [], nowUs).leases[0]?.id;
    };
    const id = take(report({ wish: 9 }), 0) as number;
    const next = take(report({ wish: 9 }), 10_000) as number;
    fixedWindow.charge(state, shape, 27);
    take(report({ settlements: [{ id, settled: 9, returned: 9 }] }), 10_001);
    expect(fixedWindow.remaining(state, shape)).toBe(0);
    // The twin names no window: nine more go in beside the nine that are still out.
    take(report({ settlements: [{ id: next, settled: 9, returned: 9 }] }), 10_002);
    expect(fixedWindow.remaining(state, shape)).toBe(9);
  });

  it("that are out when a shorter period ends it are what more may go in then, once", () => {
    const { shape, state } = windowOf(10);
    const { shape: shorter } = windowOf(2);
    applyTake([{ state, shape, report: report({ wish: 9 }), quietUs: 0 }], [], 0);
    fixedWindow.advance(state, shorter, 3000);
    expect(fixedWindow.remaining(state, shorter)).toBe(36);
    expect(state.lease).toBeUndefined();
  });
});
