import { describe, expect, it } from "vitest";
import type { Decision } from "../decision.ts";
import type { PolicyOptions } from "../policy.ts";
import { policyResolver } from "../policy-set.ts";
import { Counters } from "../stats.ts";
import { type MemoryStore, memoryStore } from "../stores/memory-store.ts";
import type { TakeReply } from "../stores/store.ts";
import { manualClock } from "../testing/manual-clock.ts";
import { Caller } from "./caller.ts";
import { Lane } from "./lane.ts";
import { LaneLease } from "./lane-lease.ts";
import type { Instant } from "./shelf.ts";
import { type SettleContext, StoreCall } from "./store-call.ts";

/** 1 per ms, drained in 50 ms, and held back for 25 ms where it is contended. */
const BUCKET: PolicyOptions = { name: "bucket", limit: 1000, period: "1s", burst: 200 };
const DRAIN_MS = 50;
const DEADLINE_MS = 50;

interface Bench {
  readonly lane: Lane;
  readonly store: MemoryStore;
  readonly clock: ReturnType<typeof manualClock>;
  readonly decisions: (Decision | "fallback" | undefined)[];
  now(): Instant;
  ask(...costs: number[]): Caller;
  call(...more: Lane[]): StoreCall;
  settle(call: StoreCall, reply?: TakeReply, context?: Partial<SettleContext>): void;
  spend(cost: number): number | undefined;
}

function bench(policies: PolicyOptions | PolicyOptions[] = BUCKET, leases = true): Bench {
  const clock = manualClock();
  const store = memoryStore({ clock });
  const lane = new Lane("key", policyResolver(policies)("key"));
  const now = (): Instant => ({ monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() });
  if (leases) lane.lease = new LaneLease(lane.set, DRAIN_MS, 0, { leased: 0, spent: 0, returned: 0, expired: 0 });
  const decisions: Bench["decisions"] = [];
  return {
    lane,
    store,
    clock,
    decisions,
    now,
    ask(...costs) {
      const index = decisions.push(undefined) - 1;
      const caller = new Caller(lane, costs, clock.monotonicMs(), new Counters(), (decision) => {
        decisions[index] = decision;
      });
      lane.lease?.noteAsked(costs);
      lane.append(caller);
      return caller;
    },
    call: (...more) => new StoreCall([lane, ...more], now()),
    settle(call, reply = store.takeNow(call.call), context = {}) {
      call.settle(structuredClone(reply), {
        now: now(),
        roundTripMs: 1,
        deadlineMs: DEADLINE_MS,
        fallBack: (caller) => caller.settle("fallback" as never),
        onBucketFault: () => {},
        onAnswered: () => {},
        onStates: () => {},
        ...context,
      });
    },
    spend: (cost) => lane.lease?.spend([cost], now().monotonicMs, now().wallMs)?.[0]?.remaining,
  };
}

/** A lane that holds half of 200 tokens. */
function holding(): Bench {
  const setup = bench();
  for (let n = 0; n < 200; n++) setup.lane.lease?.noteAsked([1]);
  setup.lane.errand = "prefetch";
  setup.settle(setup.call());
  expect(setup.lane.lease?.held(0)).toBe(100);
  return setup;
}

function outcomes({ decisions }: Bench): unknown[] {
  return decisions.map((decision) => (typeof decision === "object" ? decision.allowed : decision));
}

describe("a call", () => {
  it("carries callers in order of arrival, those in a row who ask for the same as one run", () => {
    const setup = bench([BUCKET, { ...BUCKET, name: "other" }], false);
    for (const costs of [
      [1, 1],
      [1, 1],
      [2, 1],
      [1, 1],
    ])
      setup.ask(...costs);
    const { call } = setup.call();
    expect(call.runs.map(({ count, charges }) => [count, charges.map(({ cost }) => cost)])).toEqual([
      [2, [1, 1]],
      [1, [2, 1]],
      [1, [1, 1]],
    ]);
    expect(setup.lane.waiting).toEqual([]);
    expect(setup.lane.inFlight).toBe(true);
  });

  it("leaves callers out who went away, and those above 1024 to the next", () => {
    const setup = bench();
    const first = setup.ask(1);
    for (let n = 0; n < 1024; n++) setup.ask(1);
    first.abandon();
    expect(setup.call().call.runs).toMatchObject([{ count: 1023 }]);
    expect(setup.lane.waiting.length).toBe(1);
  });

  it("knows since when its oldest caller waits", () => {
    const setup = bench();
    setup.ask(1);
    setup.clock.advance(10);
    setup.ask(1);
    setup.clock.advance(10);
    expect(setup.call().oldestMs).toBe(0);
    setup.lane.errand = "settle";
    expect(setup.call().oldestMs).toBe(20);
  });

  it("gives back what is held when a caller needs more, and serves the caller from it", () => {
    const setup = holding();
    setup.ask(150);
    const call = setup.call();
    expect(call.call.buckets[0]?.report?.settlements).toMatchObject([{ settled: 100, returned: 100 }]);
    setup.settle(call);
    expect(outcomes(setup)).toEqual([true]);
  });

  it("that fetches early reports what is spent, wishes for more and gives nothing back", () => {
    const setup = holding();
    setup.spend(10);
    for (let n = 0; n < 100; n++) setup.lane.lease?.noteAsked([1]);
    setup.lane.errand = "prefetch";
    expect(setup.call().call.buckets[0]?.report).toMatchObject({
      wish: 60,
      settlements: [{ settled: 10, returned: 0 }],
    });
    expect(setup.lane.lease?.held(0)).toBe(90);
  });

  it("that settles gives everything back, wishes for nothing, and holds nobody off a contended bucket", () => {
    const setup = holding();
    setup.spend(10);
    for (let n = 0; n < 100; n++) setup.lane.lease?.noteAsked([1]);
    drain(setup);
    setup.lane.errand = "settle";
    const call = setup.call();
    expect(call.call.buckets[0]?.report).toMatchObject({ wish: 0, settlements: [{ settled: 100, returned: 90 }] });
    const reply = contended(setup.store.takeNow(call.call));
    setup.settle(call, reply);
    expect(setup.lane.denial).toBeUndefined();
  });

  it("to a store in doubt takes nobody along, wishes for nothing and keeps what is held", () => {
    const setup = holding();
    setup.spend(10);
    const callers = [setup.ask(150), setup.ask(1)];
    const call = new StoreCall([setup.lane], setup.now(), true);
    expect(call.call.runs).toEqual([]);
    expect(call.call.buckets[0]?.report).toMatchObject({ wish: 0, settlements: [{ settled: 10, returned: 0 }] });
    setup.settle(call);
    expect(setup.lane.waiting).toEqual(callers);
    expect([outcomes(setup), setup.lane.lease?.held(0)]).toEqual([[undefined, undefined], 90]);
    setup.settle(setup.call());
    expect(outcomes(setup)).toEqual([true, true]);
  });

  it("to a store in doubt wishes for nothing either where it is made to fetch tokens early", () => {
    const setup = holding();
    setup.spend(90);
    setup.lane.errand = "prefetch";
    const { call } = new StoreCall([setup.lane], setup.now(), true);
    expect(call.buckets[0]?.report).toMatchObject({ wish: 0, settlements: [{ settled: 90, returned: 0 }] });
  });

  it("says nothing of leases while there is nothing to say", () => {
    const setup = bench();
    setup.ask(1);
    expect(setup.call().call.buckets[0]?.report).toBeUndefined();
  });
});

/** Takes all that the store has. */
function drain({ store, lane }: Bench): void {
  const buckets = lane.set.policies.map((policy) => ({ key: lane.key, policy, report: undefined }));
  store.takeNow({ buckets, runs: [{ count: 1000, charges: [{ bucket: 0, cost: 1 }] }] });
}

/** The same reply from a store that says that its buckets are contended. */
function contended(reply: TakeReply): TakeReply {
  return {
    ...reply,
    buckets: reply.buckets.map((reading) =>
      reading.kind === "state" && reading.lease !== undefined
        ? { ...reading, lease: { ...reading.lease, contended: true } }
        : reading,
    ),
  };
}

describe("a reply", () => {
  it("tells each admitted caller what was left at its own turn, and what is held here", () => {
    const setup = bench(BUCKET, false);
    for (const cost of [100, 1, 1, 200, 8]) setup.ask(cost);
    setup.settle(setup.call());
    expect(setup.decisions.map((decision) => (decision as Decision).remaining)).toEqual([100, 99, 98, 90, 90]);
    expect(outcomes(setup)).toEqual([true, true, true, false, true]);
    const leasing = holding();
    leasing.ask(120);
    leasing.settle(leasing.call());
    expect((leasing.decisions[0] as Decision).remaining).toBe(80);
  });

  it("admits nobody whose deadline has passed by the monotonic clock", () => {
    const setup = bench();
    setup.ask(1);
    const call = setup.call();
    const reply = setup.store.takeNow(call.call);
    setup.clock.advance(DEADLINE_MS + 0.001);
    setup.settle(call, reply);
    expect(setup.decisions).toEqual(["fallback"]);
  });

  it("admits nobody whose deadline has passed by the wall clock: it lay there while the process was stopped", () => {
    const setup = bench();
    setup.ask(1);
    const call = setup.call();
    const reply = setup.store.takeNow(call.call);
    setup.clock.stepWall(529);
    // The twin that does not look: honoured 529 ms late.
    const twin = bench();
    twin.ask(1);
    twin.settle(twin.call(), reply, { deadlineMs: Number.POSITIVE_INFINITY });
    expect(outcomes(twin)).toEqual([true]);
    setup.settle(call, reply);
    expect(setup.decisions).toEqual(["fallback"]);
  });

  it("is still good for callers who came a little later than the late one", () => {
    const setup = bench();
    setup.ask(1);
    setup.clock.advance(10);
    setup.ask(1);
    const call = setup.call();
    const reply = setup.store.takeNow(call.call);
    setup.clock.advance(DEADLINE_MS - 5);
    setup.settle(call, reply);
    expect(outcomes(setup)).toEqual(["fallback", true]);
  });

  it("that comes late brings its lease, which is good for as long as it lives", () => {
    for (const [lateMs, spendable] of [
      [74, true],
      [75, false],
    ] as const) {
      const setup = bench();
      for (let n = 0; n < 100; n++) setup.lane.lease?.noteAsked([1]);
      setup.ask(1);
      const call = setup.call();
      const reply = setup.store.takeNow(call.call);
      call.abandon((caller) => caller.settle("fallback" as never));
      setup.clock.advance(lateMs);
      call.adoptLeases(structuredClone(reply), lateMs);
      expect(setup.decisions).toEqual(["fallback"]);
      expect(setup.spend(1) !== undefined).toBe(spendable);
    }
  });

  it("of a contended bucket keeps this process off it for half a drain time, though nobody was refused", () => {
    const setup = bench();
    for (let n = 0; n < 100; n++) setup.lane.lease?.noteAsked([1]);
    setup.ask(1);
    const call = setup.call();
    setup.settle(call, contended(setup.store.takeNow(call.call)));
    expect(outcomes(setup)).toEqual([true]);
    expect(setup.lane.denial?.refuse("key", [1], 24.9)?.retryAfterMs).toBeCloseTo(0.1, 3);
    expect(setup.lane.denial?.refuse("key", [1], 25)).toBeUndefined();
  });

  it("that refuses tells no shorter wait than that", () => {
    const setup = bench();
    drain(setup);
    setup.clock.advance(1);
    for (let n = 0; n < 100; n++) setup.lane.lease?.noteAsked([1]);
    setup.ask(2);
    const call = setup.call();
    setup.settle(call, contended(setup.store.takeNow(call.call)));
    expect(setup.decisions[0]).toMatchObject({ allowed: false, retryAfterMs: 25 });
    const alone = bench(BUCKET, false);
    drain(alone);
    alone.clock.advance(1);
    alone.ask(2);
    alone.settle(alone.call());
    expect(alone.decisions[0]).toMatchObject({ allowed: false, retryAfterMs: 1 });
  });

  it("that refuses a cost above 1 keeps the lane from wishing until the told wait is over", () => {
    for (const [cost, wishes] of [
      [2, false],
      [1, true],
      [201, true],
    ] as const) {
      const setup = bench();
      drain(setup);
      for (let n = 0; n < 100; n++) setup.lane.lease?.noteAsked([1]);
      setup.ask(cost);
      setup.settle(setup.call());
      expect(outcomes(setup)).toEqual([false]);
      setup.lane.errand = "prefetch";
      expect((setup.call().call.buckets[0]?.report?.wish ?? 0) > 0, `after ${cost}`).toBe(wishes);
    }
  });

  it("forgets an earlier refusal when it refuses nobody", () => {
    const setup = bench(BUCKET, false);
    drain(setup);
    setup.ask(5);
    setup.settle(setup.call());
    expect(setup.lane.denial).toBeDefined();
    setup.clock.advance(5);
    setup.ask(1);
    setup.settle(setup.call());
    expect(setup.lane.denial).toBeUndefined();
  });

  it("with a bucket that cannot be read leaves that key's callers to the fallback, and no others", () => {
    const setup = bench();
    const other = bench();
    setup.ask(1);
    other.ask(1);
    const call = setup.call(other.lane);
    const reply = setup.store.takeNow(call.call);
    const faults: unknown[] = [];
    const [, good] = reply.buckets;
    const fault = { kind: "fault" as const, error: "unreadable" as never };
    setup.settle(call, { ...reply, buckets: [fault, good as never] }, { onBucketFault: (error) => faults.push(error) });
    expect(setup.decisions).toEqual(["fallback"]);
    expect(outcomes(other)).toEqual([true]);
    expect(faults.length).toBe(1);
  });
});
