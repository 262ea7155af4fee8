import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { algorithmOf } from "../algorithms/bucket.ts";
import { anyRate, SECOND_US } from "../algorithms/test-support.ts";
import { resolvePolicy, type StoreFailureMode } from "../policy.ts";
import { BUCKET, NEVER_MS, BackstopProcess as Process, WINDOW } from "../testing/degrading/test-support.ts";
import type { LastView } from "./backstop.ts";

describe("shares of a backstop", () => {
  it("sum to at most burst + rate x time of a token bucket, for any rate and up to 50 replicas", () => {
    const anyCase = fc.record({
      rate: anyRate,
      replicas: fc.integer({ min: 1, max: 50 }),
      // In parts of the time from empty to full.
      gaps: fc.array(fc.constantFrom(0.001, 0.02, 0.1, 0.5, 1, 3), { minLength: 1, maxLength: 6 }),
    });
    fc.assert(
      fc.property(anyCase, ({ rate: { limit, periodUs, burst }, replicas, gaps }) => {
        fc.pre(burst >= replicas && burst <= 1000);
        const process = new Process({ name: "bucket", limit, period: periodUs / 1000, burst }, 1 / replicas);
        let elapsedUs = 0;
        let total = replicas * process.drain([0]);
        for (const gap of gaps) {
          elapsedUs += Math.ceil((gap * burst * periodUs) / limit);
          total += replicas * process.drain([elapsedUs]);
          // total <= burst + limit x elapsed / period, without a fraction
          expect(BigInt(total - burst) * BigInt(periodUs) <= BigInt(limit) * BigInt(elapsedUs)).toBe(true);
        }
      }),
      { numRuns: 100 },
    );
  });

  it.each(["fixed-window", "sliding-window-counter", "sliding-window-log"] as const)(
    "sum to at most the limit of a window, for up to 50 replicas (%s)",
    (algorithm) => {
      for (let replicas = 1; replicas <= 50; replicas++) {
        const admitted = new Process({ ...WINDOW, algorithm }, 1 / replicas).drain([0, 59 * SECOND_US]);
        expect(admitted * replicas).toBeLessThanOrEqual(60);
        expect(admitted * replicas).toBeGreaterThan(60 - replicas);
      }
    },
  );

  it("are one token at least, so that the first caller of a key goes in", () => {
    expect(new Process({ ...BUCKET, burst: 2 }, 1 / 50).drain([0])).toBe(1);
    expect(new Process({ ...WINDOW, limit: 2 }, 1 / 50).drain([0])).toBe(1);
  });

  it.each([
    // When the key was last decided for, before the outage; how long that has lasted; what there is then.
    { title: "nothing for a key that is in use", decidedMs: -10, atMs: 0, tokens: 0 },
    { title: "what its share has brought since", decidedMs: -10, atMs: 50, tokens: 2 },
    { title: "a full share at most", decidedMs: -10, atMs: 5000, tokens: 10 },
    { title: "one token for a key that had time to fill", decidedMs: -200, atMs: 0, tokens: 1 },
    { title: "one token until the share has brought more", decidedMs: -59_000, atMs: 100, tokens: 5 },
    { title: "a full share for a key not seen for a minute", decidedMs: -60_000, atMs: 0, tokens: 10 },
    { title: "a full share for a key never seen", decidedMs: NEVER_MS, atMs: 0, tokens: 10 },
  ])("of a token bucket start with $title", ({ decidedMs, atMs, tokens }) => {
    expect(new Process(BUCKET, 0.5, "backstop", { decidedMs }).drain([1000 * atMs])).toBe(tokens);
  });

  it("of a token bucket begin to fill when no lease can be alive any more", () => {
    const process = new Process(BUCKET, 1, "backstop", { decidedMs: 0, leaseMs: 75 });
    expect([0, 75_000, 84_999, 85_000].map((us) => process.drain([us]))).toEqual([0, 0, 0, 1]);
    const late = new Process(BUCKET, 1, "backstop", { decidedMs: 0, leaseMs: 75 });
    expect(late.drain([95_000])).toBe(2);
  });

  it("get what was withheld while the store might have been slow, once it is away for sure", () => {
    const process = new Process(BUCKET, 1, "backstop", { decidedMs: 0, leaseMs: 25, withheldMs: 50 });
    expect(process.drain([75_000, 84_999])).toBe(0);
    for (const bucket of process.buckets(0)) process.backstop.release(bucket);
    expect(process.drain([85_000])).toBe(6);
    for (const bucket of process.buckets(0)) process.backstop.release(bucket);
    expect(process.drain([85_000])).toBe(0);
    const full = new Process(BUCKET, 1, "backstop", { withheldMs: 50 });
    for (const bucket of full.buckets(0)) full.backstop.release(bucket);
    expect(full.drain([0])).toBe(20);
  });

  it("that are nothing admit one token, ever", () => {
    const process = new Process({ ...BUCKET, period: "366d" }, 0);
    expect(process.drain([0, SECOND_US, 366 * 86_400 * SECOND_US])).toBe(1);
    expect(new Process(BUCKET, 0, "backstop", { decidedMs: 0 }).drain([0, 1e15])).toBe(0);
  });

  it("of the largest policies are never more than the part", () => {
    const vast = { name: "vast", limit: 1e12, period: "366d", burst: 1 } as const;
    const process = new Process(vast, 1e-6, "backstop", { decidedMs: 0 });
    process.ask(0, 1);
    // 10^6 tokens in 366 days: one in 31.6 seconds.
    expect(process.drain([31 * SECOND_US])).toBe(0);
    expect(process.drain([32 * SECOND_US])).toBe(1);
  });

  it("are whole, whatever the number of replicas", () => {
    const process = new Process({ ...BUCKET, limit: 300 }, 1 / 3);
    expect(process.drain([0])).toBe(6);
    expect(process.drain([SECOND_US])).toBe(6);
    expect(process.ask(10 * SECOND_US, 0)).toMatchObject({ remaining: 6, resetAfterMs: 0 });
  });

  it("of a window last a period from their first use, wherever the clock stands", () => {
    const process = new Process({ ...WINDOW, windowStart: "aligned" });
    expect(process.drain([59 * SECOND_US])).toBe(60);
    expect(process.drain([118 * SECOND_US])).toBe(0);
    expect(process.drain([119 * SECOND_US])).toBe(60);
  });
});

describe("a decision of the backstop", () => {
  it("says that it is degraded and how the share stands", () => {
    expect(new Process(BUCKET, 1 / 2).ask(0, 4)).toMatchObject({
      allowed: true,
      key: "key",
      costs: [4],
      policy: "bucket",
      limit: 100,
      remaining: 6,
      source: "backstop",
      degraded: true,
      policies: [{ policy: "bucket", remaining: 6, retryAfterMs: 0 }],
    });
  });

  it("refuses what the share lacks, takes nothing for it and says when to come back", () => {
    const process = new Process(BUCKET, 1 / 2);
    process.ask(0, 10);
    const refused = process.ask(0, 3);
    expect(refused).toMatchObject({
      allowed: false,
      reason: "limited",
      remaining: 0,
      retryAfterMs: 60,
      source: "backstop",
      degraded: true,
    });
    expect(process.ask(59_999, 3).allowed).toBe(false);
    expect(process.ask(60_000, 3).allowed).toBe(true);
  });

  it("charges all policies or none (C25 c)", () => {
    const process = new Process([WINDOW, { ...BUCKET, burst: 1 }]);
    expect(process.ask(0, 1, 1)).toMatchObject({ allowed: true, policies: [{ remaining: 59 }, { remaining: 0 }] });
    expect(process.ask(0, 1, 1)).toMatchObject({
      allowed: false,
      policy: "bucket",
      policies: [
        { remaining: 59, retryAfterMs: 0 },
        { remaining: 0, retryAfterMs: 10 },
      ],
    });
  });

  it("tells a cost that fits the policy but not the share to look again for the store in a second", () => {
    expect(new Process(BUCKET, 1 / 10).ask(0, 5)).toMatchObject({
      allowed: false,
      reason: "limited",
      retryAfterMs: 1000,
      remaining: 2,
    });
  });

  it.each<StoreFailureMode>(["backstop", "open", "closed"])(
    "refuses a cost above the policy's capacity for good in mode %s (C06 a)",
    (mode) => {
      const process = new Process([BUCKET, WINDOW], 1, mode);
      expect(process.ask(0, 21, 1)).toMatchObject({
        allowed: false,
        reason: "never",
        policy: "bucket",
        retryAfterMs: Number.POSITIVE_INFINITY,
        degraded: true,
      });
      expect(process.ask(0, 1, 61)).toMatchObject({ reason: "never", policy: "window" });
    },
  );

  it("lets everything in when open, and counts nothing", () => {
    const process = new Process(BUCKET, 1, "open");
    for (let i = 0; i < 100; i++)
      expect(process.ask(0, 20)).toMatchObject({ allowed: true, source: "open", degraded: true, remaining: 20 });
  });

  it("lets nothing in when closed but what costs nothing, and says when to look again", () => {
    const process = new Process(BUCKET, 1, "closed");
    expect(process.ask(0, 1)).toMatchObject({
      allowed: false,
      source: "closed",
      degraded: true,
      reason: "limited",
      retryAfterMs: 1000,
    });
    expect(process.ask(0, 0).allowed).toBe(true);
  });

  it("follows each policy's own mode before the limiter's", () => {
    const open = { ...BUCKET, name: "open", onStoreFailure: "open" } as const;
    const closed = { ...BUCKET, name: "closed", onStoreFailure: "closed" } as const;
    const counted = { ...BUCKET, name: "counted", burst: 1, onStoreFailure: "backstop" } as const;
    const mixed = new Process([open, counted], 1, "closed");
    expect(mixed.ask(0, 20, 1)).toMatchObject({ allowed: true, source: "backstop" });
    expect(mixed.ask(0, 20, 1)).toMatchObject({ allowed: false, source: "backstop", policy: "counted" });
    expect(new Process([open, closed], 1, "backstop").ask(0, 1, 1)).toMatchObject({
      allowed: false,
      source: "closed",
      policy: "closed",
    });
    expect(new Process([open, closed], 1, "backstop").ask(0, 1, 0)).toMatchObject({ allowed: true, source: "open" });
  });
});

describe("going over to the shares and back", () => {
  function windowView(used: number, startUs: number): LastView {
    return { states: [{ kind: "fixed-window", startUs, used }], storeUs: 1_000_000_000, seenMs: 0 };
  }

  it.each([
    // 60 a minute; used of it, and how far into the window the store's last word was; over how many processes
    { used: 0, intoUs: 0, replicas: 3, first: 20 },
    { used: 30, intoUs: 20_000_000, replicas: 3, first: 10 },
    { used: 58, intoUs: 20_000_000, replicas: 3, first: 0 },
    { used: 60, intoUs: 59_000_000, replicas: 1, first: 0 },
  ])("gives a window this process's part of what was left: $used used, $replicas processes", (row) => {
    const view = windowView(row.used, 1_000_000_000 - row.intoUs);
    const process = new Process(WINDOW, 1 / row.replicas, "backstop", { decidedMs: 0, view });
    expect(process.drain([0])).toBe(row.first);
    const restUs = 60_000_000 - row.intoUs;
    expect(process.drain([restUs - 1])).toBe(0);
    expect(process.drain([restUs])).toBe(60 / row.replicas);
  });

  it("begins a window afresh when the one that the store spoke of is over", () => {
    const view = windowView(60, 1_000_000_000);
    const process = new Process(WINDOW, 1 / 2, "backstop", { decidedMs: 0, view });
    expect(process.drain([61_000_000])).toBe(30);
  });

  it("owes what went in, once, and nothing for what was refused", () => {
    const process = new Process(BUCKET, 1 / 2);
    expect(process.owed(0)).toEqual([0]);
    expect([process.ask(0, 3).allowed, process.ask(0, 9).allowed]).toEqual([true, false]);
    expect([process.owed(0), process.owed(0)]).toEqual([[3], [0]]);
  });

  it("owes of a window only what went into the one that is running", () => {
    const process = new Process(WINDOW, 1 / 2);
    process.drain([0]);
    process.ask(61_000_000, 4);
    expect(process.owed(61_000_000)).toEqual([4]);
  });

  it.each(["sliding-window-counter", "sliding-window-log"] as const)(
    "gives a sliding window this process's part of what was left, and owes what of it still counts (%s)",
    (algorithm) => {
      const { shape } = resolvePolicy({ name: "sliding", limit: 60, period: "1m", algorithm }, "policy");
      const state = algorithmOf(shape).open(shape, 1_000_000_000);
      algorithmOf(shape).charge(state, shape, 30);
      const view: LastView = { states: [state], storeUs: 1_000_000_000, seenMs: 500 };
      const start = { decidedMs: 0, view };
      const process = new Process({ name: "sliding", limit: 60, period: "1m", algorithm }, 1 / 3, "backstop", start);
      expect([process.drain([500_000]), process.drain([60_499_999])]).toEqual([10, 0]);
      expect(process.owed(60_499_999)).toEqual([10]);
      // What the store spoke of is a period old now; of the counter's first window nearly all still counts.
      expect(process.drain([60_500_000])).toBe(algorithm === "sliding-window-log" ? 20 : 0);
      expect(process.owed(200_000_000)).toEqual([0]);
      expect(process.drain([200_000_000])).toBe(20);
    },
  );

  it("owes what went in of an open policy, a burst at most", () => {
    const process = new Process(BUCKET, 1, "open");
    for (let i = 0; i < 3; i++) process.ask(0, 5);
    expect(process.owed(0)).toEqual([15]);
    for (let i = 0; i < 30; i++) process.ask(0, 5);
    expect(process.owed(0)).toEqual([20]);
  });

  it("follows its share while the store is away, and counts refill by the smaller one of before and after", () => {
    const process = new Process(BUCKET, 1, "backstop", { decidedMs: 0 });
    expect(process.drain([0, 100_000])).toBe(10);
    process.share = 0.25;
    expect(process.drain([200_000])).toBe(2);
    process.share = 1;
    expect(process.drain([300_000])).toBe(3);
    expect(process.drain([400_000])).toBe(10);
  });
});
