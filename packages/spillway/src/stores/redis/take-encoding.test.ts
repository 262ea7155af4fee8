import { describe, expect, it } from "vitest";
import { resolvePolicy } from "../../policy.ts";
import type { LeaseReport, TakeBucket, TakeCall } from "../store.ts";
import { encodeAddresses, encodeAdjustments, encodeTake } from "./take-encoding.ts";

const BUCKET = resolvePolicy({ name: "bucket", limit: 70, period: "1s", burst: 20 }, "policy");
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
const encoded = (call: TakeCall): string => encodeTake(call).join(" ");

describe("the arguments of take", () => {
  it("are seven for the commonest call: one token bucket, no report, one run", () => {
    expect(encoded({ buckets: [bucket(BUCKET)], runs: [{ count: 3, charges: [{ bucket: 0, cost: 2 }] }] })).toBe(
      "s 100000 7 1 20 3 2",
    );
  });

  it("name each policy once, then the buckets, then the runs", () => {
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
      [
        "3",
        "t 100000 7 1 20",
        "f 9 60000000 0 0",
        "f 1000000000000 31622400000000 1 0",
        "1 2 1 3",
        "2 2 1 1 2 0",
        "1 1 4 9007199254740991",
      ].join(" "),
    );
  });

  it("mark a bucket with a report by a negative number, and keep every digit of what is reported", () => {
    expect(encoded({ buckets: [bucket(SLOW, REPORT)], runs: [] })).toBe(
      [
        "1",
        "t 9000000000 7 288 1000000",
        "-1 5 100000 0.30000000000000004 1e-7 2",
        "1790000000123456 4 1 1790000000123457 2 2",
      ].join(" "),
    );
  });

  it.each<[string, TakeCall]>([
    ["a report", { buckets: [bucket(BUCKET, REPORT)], runs: [{ count: 1, charges: [{ bucket: 0, cost: 1 }] }] }],
    ["a window", { buckets: [bucket(WINDOW)], runs: [{ count: 1, charges: [{ bucket: 0, cost: 1 }] }] }],
    ["no run", { buckets: [bucket(BUCKET)], runs: [] }],
    [
      "two runs",
      { buckets: [bucket(BUCKET)], runs: [1, 2].map((cost) => ({ count: 1, charges: [{ bucket: 0, cost }] })) },
    ],
    ["a run without charges", { buckets: [bucket(BUCKET)], runs: [{ count: 1, charges: [] }] }],
  ])("are written out for a call with %s", (_, call) => {
    expect(encodeTake(call)[0]).toBe("1");
  });

  it("write the numbers of no policy with an exponent or a fraction", () => {
    for (const [limit, period, burst] of [
      [1, "366d", 1e12],
      [1e12, "1ms", 1e12],
      [1, "30d", 1],
      [999_983, "1.000003s", 1e12],
    ] as const) {
      const policy = resolvePolicy({ name: "x", limit, period, burst }, "policy");
      for (const argument of encodeAddresses([{ key: "key", policy }]).slice(2)) expect(argument).toMatch(/^\d+$/);
    }
  });
});

describe("the arguments of the other scripts", () => {
  it("are the policies and each bucket's number", () => {
    const addresses = [BUCKET, WINDOW, BUCKET].map((policy) => ({ key: "key", policy }));
    expect(encodeAddresses(addresses).join(" ")).toBe("2 t 100000 7 1 20 f 9 60000000 0 0 1 2 1");
    const sliding = [COUNTER, LOG].map((policy) => ({ key: "key", policy }));
    expect(encodeAddresses(sliding).join(" ")).toBe("2 c 9 60000000 0 0 l 9 1500 0 0 1 2");
  });

  it("add the tokens of an adjustment", () => {
    const adjustments = [
      { key: "key", policy: WINDOW, tokens: 3 },
      { key: "other", policy: WINDOW, tokens: -Number.MAX_SAFE_INTEGER },
    ];
    expect(encodeAdjustments(adjustments).join(" ")).toBe("1 f 9 60000000 0 0 1 3 1 -9007199254740991");
  });
});
