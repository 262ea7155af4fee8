import { describe, expect, it } from "vitest";
import { resolvePolicy } from "../../policy.ts";
import type { LeaseReport, TakeBucket, TakeCall } from "../store.ts";
import { encodeAddresses, encodeAdjustments, encodeBeat, encodeTake } from "./take-encoding.ts";

const BUCKET = resolvePolicy({ name: "bucket", limit: 70, period: "1s", burst: 20 }, "policy");
const OTHER = resolvePolicy({ name: "other", limit: 1000, period: "60ms", burst: 9 }, "policy");
const SLOW = resolvePolicy({ name: "slow", limit: 7, period: "30d", burst: 1_000_000 }, "policy");
const WINDOW = resolvePolicy({ name: "window", limit: 9, period: "1m", algorithm: "fixed-window" }, "policy");
const ALIGNED = resolvePolicy(
  { name: "aligned", limit: 1e12, period: "366d", algorithm: "fixed-window", windowStart: "aligned" },
  "policy",
);
const COUNTER = resolvePolicy({ name: "c", limit: 9, period: "1m", algorithm: "sliding-window-counter" }, "policy");
const LOG = resolvePolicy({ name: "l", limit: 9, period: 1.5, algorithm: "sliding-window-log" }, "policy");
const REPORT: LeaseReport = {
  wish: 5,
  lifeUs: 100_000,
  demand: 0.1 + 0.2,
  weight: 1e-7,
  settlements: [
    { id: 1_790_000_000_123_456, settled: 4, returned: 1 },
    { id: 1_790_000_000_123_457, settled: 2, returned: 2 },
  ],
};

const bucket = (policy: typeof BUCKET, report?: LeaseReport): TakeBucket => ({ key: "key", policy, report });
const encoded = (call: TakeCall): string => {
  const args = encodeTake(call);
  expect(args).toHaveLength(1);
  return args[0] as string;
};
/** One run on each bucket, of one cost. */
const runOf = (buckets: number, cost = 1, count = 1): TakeCall["runs"][number] => ({
  count,
  charges: Array.from({ length: buckets }, (_, bucket) => ({ bucket, cost })),
});

describe("the arguments of take are one JSON array, which", () => {
  it("is short for the commonest call: one token bucket, no report, one run", () => {
    expect(encoded({ buckets: [bucket(BUCKET)], runs: [runOf(1, 2, 3)] })).toBe('["s",100000,7,20,2,3]');
  });

  it("is short for several keys of one policy with a run of one cost each", () => {
    const buckets = [bucket(BUCKET), bucket(BUCKET)];
    const runs = (...counts: number[]): TakeCall["runs"] =>
      counts.map((count, i) => ({ count, charges: [{ bucket: i, cost: 2 }] }));
    expect(encoded({ buckets, runs: runs(3, 3) })).toBe('["m",100000,7,20,2,3]');
    expect(encoded({ buckets, runs: runs(3, 1) })).toBe('["m",100000,7,20,2,3,1]');
  });

  it("is short for one run or none on token buckets that all report, and keeps every digit", () => {
    expect(encoded({ buckets: [bucket(BUCKET, REPORT)], runs: [runOf(1, 2, 3)] })).toBe(
      '["r",100000,3,2,0.30000000000000004,1e-7,100000,7,20,5,2,1790000000123456,4,1,1790000000123457,2,2]',
    );
    const buckets = [bucket(BUCKET, REPORT), bucket(OTHER, { ...REPORT, wish: 6, settlements: [] })];
    expect(encoded({ buckets, runs: [] })).toBe(
      '["r",100000,-1,0,0.30000000000000004,1e-7,100000,7,20,5,2,1790000000123456,4,1,1790000000123457,2,2,60,1,9,6,0]',
    );
  });

  it("is short for one run on several token buckets, none of which reports", () => {
    expect(encoded({ buckets: [bucket(BUCKET), bucket(OTHER)], runs: [runOf(2, 4, 3)] })).toBe(
      '["r",0,3,4,100000,7,20,60,1,9]',
    );
  });

  it("is short for one run on a sliding window counter alone", () => {
    const run = { count: 3, charges: [{ bucket: 0, cost: 2 }] };
    expect(encoded({ buckets: [bucket(COUNTER)], runs: [run] })).toBe('["c",9,60000000,2,3]');
  });

  it("is short for one run on fixed windows, whose limit is below 0 there, and on token buckets beside them", () => {
    expect(encoded({ buckets: [bucket(WINDOW)], runs: [runOf(1)] })).toBe('["r",0,1,1,-9,60000000,0]');
    expect(encoded({ buckets: [bucket(BUCKET), bucket(ALIGNED)], runs: [runOf(2)] })).toBe(
      '["r",0,1,1,100000,7,20,-1000000000000,31622400000000,1]',
    );
  });

  it("is short for windows that report, beside buckets that do", () => {
    const buckets = [bucket(BUCKET, REPORT), bucket(WINDOW, { ...REPORT, settlements: [] })];
    expect(encoded({ buckets, runs: [runOf(2)] })).toBe(
      '["r",100000,1,1,0.30000000000000004,1e-7,100000,7,20,5,2,1790000000123456,4,1,1790000000123457,2,2,-9,60000000,0,5,0]',
    );
    expect(encoded({ buckets: [bucket(COUNTER, { ...REPORT, settlements: [] })], runs: [] })).toBe(
      '["r",100000,-1,0,0.30000000000000004,1e-7,-9,60000000,2,5,0]',
    );
  });

  it("names each policy once, then the buckets, then the runs, for any other call", () => {
    const call: TakeCall = {
      buckets: [bucket(BUCKET), bucket(WINDOW), bucket(BUCKET), bucket(ALIGNED)],
      runs: [
        {
          count: 2,
          charges: [
            { bucket: 0, cost: 1 },
            { bucket: 1, cost: 0 },
          ],
        },
        { count: 1, charges: [{ bucket: 3, cost: Number.MAX_SAFE_INTEGER }] },
      ],
    };
    expect(encoded(call)).toBe(
      `[${[
        "3",
        '"t",100000,7,1,20',
        '"f",9,60000000,0,0',
        '"f",1000000000000,31622400000000,1,0',
        "1,2,1,3",
        "2,2,1,1,2,0",
        "1,1,4,9007199254740991",
      ].join(",")}]`,
    );
  });

  it("marks a bucket with a report by a negative number there", () => {
    expect(encoded({ buckets: [bucket(SLOW, REPORT)], runs: [] })).toBe(
      `[${[
        "1",
        '"t",9000000000,7,288,1000000',
        "-1,5,100000,0.30000000000000004,1e-7,2",
        "1790000000123456,4,1,1790000000123457,2,2",
      ].join(",")}]`,
    );
  });

  const two = [bucket(BUCKET, REPORT), bucket(OTHER, REPORT)];
  const uneven = [
    { bucket: 0, cost: 1 },
    { bucket: 1, cost: 2 },
  ];
  it.each<[string, TakeCall]>([
    ["a log that reports beside a window", { buckets: [bucket(WINDOW, REPORT), bucket(LOG, REPORT)], runs: [] }],
    ["a sliding window counter with two runs", { buckets: [bucket(COUNTER)], runs: [runOf(1), runOf(1)] }],
    ["one that reports and two runs", { buckets: [bucket(COUNTER, REPORT)], runs: [runOf(1), runOf(1)] }],
    ["one with a run without charges", { buckets: [bucket(COUNTER)], runs: [{ count: 1, charges: [] }] }],
    ["one beside a token bucket", { buckets: [bucket(COUNTER), bucket(BUCKET)], runs: [runOf(2)] }],
    ["a log among token buckets", { buckets: [bucket(BUCKET), bucket(LOG)], runs: [runOf(2)] }],
    ["two windows with a run each", { buckets: [bucket(WINDOW), bucket(WINDOW)], runs: [runOf(1), runOf(1)] }],
    ["a tick of several microseconds", { buckets: [bucket(SLOW)], runs: [runOf(1)] }],
    ["such a tick and a report", { buckets: [bucket(SLOW, REPORT)], runs: [runOf(1)] }],
    ["no bucket", { buckets: [], runs: [] }],
    ["two runs", { buckets: [bucket(BUCKET)], runs: [runOf(1), runOf(1, 2)] }],
    ["two runs and reports", { buckets: two, runs: [runOf(2), runOf(2)] }],
    ["a run without charges", { buckets: [bucket(BUCKET)], runs: [{ count: 1, charges: [] }] }],
    ["a run on some of its buckets", { buckets: two, runs: [{ count: 1, charges: [{ bucket: 0, cost: 1 }] }] }],
    ["charges in another order", { buckets: two, runs: [{ count: 1, charges: runOf(2).charges.toReversed() }] }],
    ["two costs", { buckets: two, runs: [{ count: 1, charges: uneven }] }],
    ["a report on some of its buckets", { buckets: [bucket(BUCKET), bucket(OTHER, REPORT)], runs: [runOf(2)] }],
    ["one on others", { buckets: [bucket(BUCKET, REPORT), bucket(OTHER)], runs: [runOf(2)] }],
    ...(["lifeUs", "demand", "weight"] as const).map((name): [string, TakeCall] => [
      `reports that differ in ${name}`,
      { buckets: [bucket(BUCKET, REPORT), bucket(OTHER, { ...REPORT, [name]: 7 })], runs: [runOf(2)] },
    ]),
    ["a report of no life", { buckets: [bucket(BUCKET, { ...REPORT, lifeUs: 0 })], runs: [runOf(1)] }],
  ])("is written out for a call with %s", (_, call) => {
    expect(encoded(call)).toMatch(/^\[\d/);
  });

  it("has the numbers of no policy with an exponent or a fraction", () => {
    for (const [limit, period, burst] of [
      [1, "366d", 1e12],
      [1e12, "1ms", 1e12],
      [1, "30d", 1],
      [999_983, "1.000003s", 1e12],
    ] as const) {
      const policy = resolvePolicy({ name: "x", limit, period, burst }, "policy");
      expect(encodeAddresses([{ key: "key", policy }])).toEqual([expect.stringMatching(/^\[1,"t"(,\d+){5}\]$/)]);
    }
  });
});

describe("the arguments of the other scripts", () => {
  it("are the policies and each bucket's number", () => {
    const addresses = [BUCKET, WINDOW, BUCKET].map((policy) => ({ key: "key", policy }));
    expect(encodeAddresses(addresses)).toEqual(['[2,"t",100000,7,1,20,"f",9,60000000,0,0,1,2,1]']);
    const sliding = [COUNTER, LOG].map((policy) => ({ key: "key", policy }));
    expect(encodeAddresses(sliding)).toEqual(['[2,"c",9,60000000,0,0,"l",9,1500,0,0,1,2]']);
  });

  it("of a beat are its values", () => {
    const beat = { id: "a", number: 3, lifeMs: 30_000, share: 5, even: 6, demand: 1e12, replicas: 2, leaves: true };
    expect(encodeBeat(beat)).toEqual(["a", "3", "30000", "5", "6", "1000000000000", "2", "1"]);
    expect(encodeBeat({ ...beat, leaves: false }).at(-1)).toBe("0");
  });

  it("add the tokens of an adjustment", () => {
    const adjustments = [
      { key: "key", policy: WINDOW, tokens: 3 },
      { key: "other", policy: WINDOW, tokens: -Number.MAX_SAFE_INTEGER },
    ];
    expect(encodeAdjustments(adjustments)).toEqual(['[1,"f",9,60000000,0,0,1,3,1,-9007199254740991]']);
  });
});
