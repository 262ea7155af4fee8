import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Policy, resolvePolicy } from "../../policy.ts";
import type { Beat, TakeCall } from "../store.ts";
import {
  encodeAddresses,
  encodeAdjustments,
  encodeBeat,
  encodeTake,
  reviveAddresses,
  reviveAdjustments,
  reviveBeat,
  reviveTake,
} from "./call-encoding.ts";

const POLICIES: readonly Policy[] = [
  resolvePolicy({ name: "bucket", limit: 70, period: "1s", burst: 20 }, "policy"),
  resolvePolicy({ name: "vast", limit: 1e12, period: "366d" }, "policy"),
  resolvePolicy({ name: "never-full", limit: 1, period: "366d", burst: 1e12 }, "policy"),
  resolvePolicy({ name: "window", limit: 10, period: "1h", algorithm: "fixed-window" }, "policy"),
  resolvePolicy({ name: "day", limit: 9, period: "1d", algorithm: "fixed-window", windowStart: "aligned" }, "policy"),
  resolvePolicy({ name: "counter", limit: 1e12, period: "366d", algorithm: "sliding-window-counter" }, "policy"),
  resolvePolicy({ name: "log", limit: 10_000, period: 1, algorithm: "sliding-window-log" }, "policy"),
];
const ADDRESSES = ["a", "{b}", "\ud800", "c".repeat(300)].flatMap((key) => POLICIES.map((policy) => ({ key, policy })));
const REPORT = {
  wish: 3,
  lifeUs: 100_000,
  demand: 1 / 3,
  weight: 2.5,
  settlements: [{ id: 1_790_000_000_123_456, settled: 4, returned: 1 }],
};
const BEAT: Beat = {
  id: "a",
  number: 7,
  lifeMs: 30_000,
  share: 1_000_000_000,
  even: 250_000_000,
  demand: 1e12,
  replicas: 4,
  leaves: false,
};
const CALL: TakeCall = {
  buckets: [
    { ...(ADDRESSES[0] as (typeof ADDRESSES)[0]), report: REPORT },
    { ...(ADDRESSES[1] as (typeof ADDRESSES)[0]), report: undefined },
  ],
  runs: [
    {
      count: 2,
      charges: [
        { bucket: 0, cost: 1 },
        { bucket: 1, cost: 0 },
      ],
    },
    { count: 1, charges: [] },
  ],
};

/** What arrives: the channel between processes carries JSON. */
const sent = <T>(message: T): unknown => JSON.parse(JSON.stringify(message));
/** What a policy is to a store: without the worker's own way to fail. */
const plain = <T extends { readonly policy: Policy }>(list: readonly T[]): T[] =>
  list.map((entry) => ({ ...entry, policy: { ...entry.policy, onStoreFailure: undefined } }));

describe("what the primary reads is what the worker sent", () => {
  it("a take with reports, of several policies and costs", () => {
    expect(reviveTake(sent(encodeTake(CALL)))).toEqual(CALL);
  });

  it("a beat", () => {
    expect(reviveBeat(sent(encodeBeat(BEAT)))).toEqual(BEAT);
    expect(reviveBeat(sent(encodeBeat({ ...BEAT, leaves: true })))).toEqual({ ...BEAT, leaves: true });
  });

  it("a take of whatever numbers", () => {
    const whole = fc.nat(Number.MAX_SAFE_INTEGER);
    const amount = fc.double({ min: 0, max: 1e15, noNaN: true }).map((value) => value + 0);
    const settlement = fc.record({ id: whole, settled: whole, returned: whole });
    const report = fc.record({
      wish: whole,
      lifeUs: whole,
      demand: amount,
      weight: amount,
      settlements: fc.array(settlement, { maxLength: 3 }),
    });
    const bucket = fc.record({
      key: fc.string({ minLength: 1, unit: "binary" }),
      policy: fc.constantFrom(...POLICIES),
      report: fc.option(report, { nil: undefined }),
    });
    const call = fc.array(bucket, { minLength: 1, maxLength: 4 }).chain((buckets) => {
      const charge = fc.record({ bucket: fc.nat(buckets.length - 1), cost: whole });
      const run = fc.record({ count: fc.nat(2000), charges: fc.array(charge, { maxLength: 3 }) });
      return fc.record({ buckets: fc.constant(buckets), runs: fc.array(run, { maxLength: 4 }) });
    });
    fc.assert(
      fc.property(call, (given) => {
        expect(reviveTake(sent(encodeTake(given)))).toEqual(given);
      }),
      { numRuns: 40 },
    );
  });

  it("addresses and adjustments, with each policy written once", () => {
    const wire = encodeAddresses(ADDRESSES);
    expect(wire[0]).toHaveLength(POLICIES.length);
    expect(reviveAddresses(sent(wire))).toEqual(plain(ADDRESSES));
    const adjustments = ADDRESSES.map((address, i) => ({ ...address, tokens: i - 5 }));
    expect(reviveAdjustments(sent(encodeAdjustments(adjustments)))).toEqual(plain(adjustments));
  });

  it("equal policies as one object, whatever call brings them, and others as others", () => {
    const policies = [POLICIES[0], { ...(POLICIES[0] as Policy) }, POLICIES[1]] as Policy[];
    const [a, b, c] = policies.map(
      (policy) => reviveAddresses(sent(encodeAddresses([{ key: "k", policy }])))[0]?.policy,
    );
    expect(a).toBe(b);
    expect(a).not.toBe(c);
  });

  it("no function and nothing of what the worker alone decides", () => {
    const policy = resolvePolicy({ name: "open", limit: 1, period: "1s", onStoreFailure: "open" }, "policy");
    expect(JSON.stringify(encodeAddresses([{ key: "k", policy }]))).not.toContain('"open","');
    expect(reviveAddresses(sent(encodeAddresses([{ key: "k", policy }])))[0]?.policy.onStoreFailure).toBeUndefined();
  });
});

describe("what is no call is refused", () => {
  const refusal = expect.objectContaining({ code: "ERR_SPILLWAY_STORE_REPLY" });

  it.each([undefined, null, 7, "take", {}, [], [[], []], [[], [], [], []], [[], [["k", 0]], []]])("%j", (args) => {
    expect(() => reviveTake(args)).toThrow(refusal);
  });

  it.each([null, "", {}, true, -1, 0.5, [[]]])("a take with %j in the place of any one value", (bad) => {
    const wire = sent(encodeTake(CALL));
    const places = leavesOf(wire);
    expect(places.length).toBeGreaterThan(30);
    const mayBeFraction = new Set(["1,0,4", "1,0,5"]); // demand and weight
    for (const place of places) {
      if (bad === 0.5 && mayBeFraction.has(place.join())) continue;
      expect(() => reviveTake(replaced(wire, place, bad)), place.join()).toThrow(refusal);
    }
  });

  it("an algorithm or a number of values that this version does not know", () => {
    const address = { key: "k", policy: POLICIES[0] as Policy };
    const wire = sent(encodeAddresses([address])) as [unknown[][], unknown[][]];
    expect(() => reviveAddresses(replaced(wire, [0, 0, 3], "sliding-log"))).toThrow(/algorithm is sliding-log/);
    expect(() => reviveAddresses([[[...(wire[0][0] as unknown[]), 1]], wire[1]])).toThrow(refusal);
    expect(() => reviveAddresses([wire[0], [["k", 0, 1]]])).toThrow(refusal);
    expect(() => reviveAdjustments([wire[0], [["k", 0]]])).toThrow(refusal);
    expect(() => reviveAddresses([wire[0], [["k", 1]]])).toThrow(refusal);
  });

  it("a beat with a value too many, too few or of another kind", () => {
    const wire = sent(encodeBeat(BEAT)) as unknown[];
    expect(() => reviveBeat(undefined)).toThrow(refusal);
    expect(() => reviveBeat(wire.slice(1))).toThrow(refusal);
    expect(() => reviveBeat([...wire, 1])).toThrow(refusal);
    const bad = [[""], [0, 0.5], [0, 0.5], [-1, 1.5, 1e9 + 1], [-1, 1.5, 1e9 + 1], [-1, 0.5], [0, 0.5]];
    for (const [place, values] of bad.entries())
      for (const value of [...values, null, {}])
        expect(() => reviveBeat(replaced(wire, [place], value)), `${place}: ${value}`).toThrow(refusal);
  });

  it("a log that would keep more than the largest one may", () => {
    const wire = sent(encodeAddresses([{ key: "k", policy: POLICIES.at(-1) as Policy }]));
    expect(() => reviveAddresses(replaced(wire, [0, 0, 4], 10_001))).toThrow(refusal);
  });

  it("a bucket whose level would not be exact", () => {
    const wire = sent(encodeAddresses([{ key: "k", policy: POLICIES[0] as Policy }]));
    expect(() => reviveAddresses(replaced(wire, [0, 0, 7], Number.MAX_SAFE_INTEGER))).toThrow(refusal);
  });
});

/** The places of all values that are no arrays. */
function leavesOf(value: unknown, place: readonly number[] = []): number[][] {
  if (!Array.isArray(value)) return [[...place]];
  return value.flatMap((entry, i) => leavesOf(entry, [...place, i]));
}

function replaced(value: unknown, [first, ...rest]: readonly number[], by: unknown): unknown {
  if (first === undefined) return by;
  return (value as unknown[]).map((entry, i) => (i === first ? replaced(entry, rest, by) : entry));
}
