import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { algorithmOf } from "../algorithms/bucket.ts";
import { anyRate, SECOND_US } from "../algorithms/test-support.ts";
import type { Decision } from "../decision.ts";
import type { PolicyOptions, StoreFailureMode } from "../policy.ts";
import { type PolicySet, policyResolver } from "../policy-set.ts";
import { Backstop, type BackstopBuckets, type LastView } from "./backstop.ts";

const BUCKET: PolicyOptions = { name: "bucket", limit: 100, period: "1s", burst: 20 };
const WINDOW: PolicyOptions = { name: "window", limit: 60, period: "1m", algorithm: "fixed-window" };

const NEVER_MS = Number.NEGATIVE_INFINITY;

/** One process's backstop for one key; times are from its start. */
class Process {
  readonly #backstop: Backstop;
  readonly #set: PolicySet;
  readonly #quietUs: number;
  #buckets: BackstopBuckets | undefined;

  /** @param quietUs how long before the first degraded decision the store last decided for the key. */
  constructor(
    policies: PolicyOptions | PolicyOptions[],
    replicas = 1,
    mode: StoreFailureMode = "backstop",
    quietUs: number = Number.POSITIVE_INFINITY,
  ) {
    this.#backstop = new Backstop(() => replicas, mode);
    this.#set = policyResolver(policies)("key");
    this.#quietUs = quietUs;
  }

  ask(us: number, ...costs: number[]): Decision {
    this.#buckets ??= this.#backstop.open(this.#set, (us - this.#quietUs) / 1000, undefined, us / 1000);
    return this.#backstop.decide("key", costs, this.#set, this.#buckets, us);
  }

  /** Tokens that go in when everything is taken at once, at each time. */
  drain(times: readonly number[], cost = 1): number {
    let admitted = 0;
    for (const us of times) while (this.ask(us, cost).allowed) admitted += cost;
    return admitted;
  }
}

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
        const process = new Process({ name: "bucket", limit, period: periodUs / 1000, burst }, replicas);
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
        const admitted = new Process({ ...WINDOW, algorithm }, replicas).drain([0, 59 * SECOND_US]);
        expect(admitted * replicas).toBeLessThanOrEqual(60);
        expect(admitted * replicas).toBeGreaterThan(60 - replicas);
      }
    },
  );

  it("are one token at least, so that the first caller of a key goes in", () => {
    expect(new Process({ ...BUCKET, burst: 2 }, 50).drain([0])).toBe(1);
    expect(new Process({ ...WINDOW, limit: 2 }, 50).drain([0])).toBe(1);
  });

  it("of a token bucket start empty for a key that the store decided for within the time to full", () => {
    const drained = (quietUs: number): number => new Process(BUCKET, 2, "backstop", quietUs).drain([0]);
    expect([drained(0), drained(199_999), drained(200_000)]).toEqual([0, 0, 10]);
    expect(new Process(BUCKET, 2, "backstop", 0).drain([0, 100_000])).toBe(5);
  });

  it("are whole, whatever the number of replicas", () => {
    const process = new Process({ ...BUCKET, limit: 300 }, 3);
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
    expect(new Process(BUCKET, 2).ask(0, 4)).toMatchObject({
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
    const process = new Process(BUCKET, 2);
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
    expect(new Process(BUCKET, 10).ask(0, 5)).toMatchObject({
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
  const window = policyResolver(WINDOW)("key");

  function windowView(used: number, startUs: number): LastView {
    return { states: [{ kind: "fixed-window", startUs, used }], storeUs: 1_000_000_000, seenMs: 0 };
  }

  function admittedIn(backstop: Backstop, buckets: BackstopBuckets, us: number): number {
    let admitted = 0;
    while (backstop.decide("key", [1], window, buckets, us).allowed) admitted++;
    return admitted;
  }

  it.each([
    // 60 a minute; used of it, and how far into the window the store's last word was; over how many processes
    { used: 0, intoUs: 0, replicas: 3, first: 20 },
    { used: 30, intoUs: 20_000_000, replicas: 3, first: 10 },
    { used: 58, intoUs: 20_000_000, replicas: 3, first: 0 },
    { used: 60, intoUs: 59_000_000, replicas: 1, first: 0 },
  ])("gives a window this process's part of what was left: $used used, $replicas processes", (row) => {
    const backstop = new Backstop(() => row.replicas, "backstop");
    const buckets = backstop.open(window, 0, windowView(row.used, 1_000_000_000 - row.intoUs), 0);
    expect(admittedIn(backstop, buckets, 0)).toBe(row.first);
    const restUs = 60_000_000 - row.intoUs;
    expect(admittedIn(backstop, buckets, restUs - 1)).toBe(0);
    expect(admittedIn(backstop, buckets, restUs)).toBe(60 / row.replicas);
  });

  it("begins a window afresh when the one that the store spoke of is over", () => {
    const backstop = new Backstop(() => 2, "backstop");
    const buckets = backstop.open(window, 0, windowView(60, 1_000_000_000), 61_000);
    expect(admittedIn(backstop, buckets, 61_000_000)).toBe(30);
  });

  it("owes what went in, but no more than what the share could have saved up meanwhile", () => {
    const set = policyResolver(BUCKET)("key");
    const backstop = new Backstop(() => 2, "backstop");
    const buckets = backstop.open(set, 0, undefined, 0);
    const share = 10;
    let admitted = 0;
    for (let ms = 0; ms < 1000; ms++) if (backstop.decide("key", [1], set, buckets, ms * 1000).allowed) admitted++;
    expect(admitted).toBeGreaterThan(share);
    // Whatever the last millisecond refilled is not owed.
    expect(backstop.owed(set, buckets, 999_000)[0]).toBeGreaterThanOrEqual(share - 1);
    expect(backstop.owed(set, buckets, 999_000)[0]).toBeLessThanOrEqual(share);
    expect(backstop.owed(set, buckets, 1_100_000)[0]).toBeLessThan(share - 3);
    expect(backstop.owed(set, buckets, 60_000_000)).toEqual([0]);
  });

  it("owes no more than went in, and nothing for what was refused", () => {
    const set = policyResolver(BUCKET)("key");
    const backstop = new Backstop(() => 2, "backstop");
    const buckets = backstop.open(set, NEVER_MS, undefined, 0);
    expect(backstop.owed(set, buckets, 0)).toEqual([0]);
    expect(backstop.decide("key", [3], set, buckets, 0).allowed).toBe(true);
    expect(backstop.decide("key", [9], set, buckets, 0).allowed).toBe(false);
    expect(backstop.owed(set, buckets, 0)).toEqual([3]);
  });

  it("owes of a window only what went into the one that is running", () => {
    const backstop = new Backstop(() => 2, "backstop");
    const buckets = backstop.open(window, NEVER_MS, undefined, 0);
    admittedIn(backstop, buckets, 0);
    backstop.decide("key", [4], window, buckets, 61_000_000);
    expect(backstop.owed(window, buckets, 61_000_000)).toEqual([4]);
  });

  it.each(["sliding-window-counter", "sliding-window-log"] as const)(
    "gives a sliding window this process's part of what was left, and owes what of it still counts (%s)",
    (algorithm) => {
      const set = policyResolver({ name: "sliding", limit: 60, period: "1m", algorithm })("key");
      const { shape } = set.policies[0] as (typeof set.policies)[number];
      const state = algorithmOf(shape).open(shape, 1_000_000_000);
      algorithmOf(shape).charge(state, shape, 30);
      const view: LastView = { states: [state], storeUs: 1_000_000_000, seenMs: 500 };
      const backstop = new Backstop(() => 3, "backstop");
      const buckets = backstop.open(set, 0, view, 500);
      const admitted = (us: number): number => {
        let count = 0;
        while (backstop.decide("key", [1], set, buckets, us).allowed) count++;
        return count;
      };
      expect([admitted(500_000), admitted(60_499_999)]).toEqual([10, 0]);
      expect(backstop.owed(set, buckets, 60_499_999)).toEqual([10]);
      // What the store spoke of is a period old now; of the counter's first window nearly all still counts.
      expect(admitted(60_500_000)).toBe(algorithm === "sliding-window-log" ? 20 : 0);
      expect(backstop.owed(set, buckets, 200_000_000)).toEqual([0]);
      expect(admitted(200_000_000)).toBe(20);
    },
  );

  it("follows the number of processes while the store is away", () => {
    let replicas = 1;
    const backstop = new Backstop(() => replicas, "backstop");
    const set = policyResolver(BUCKET)("key");
    const rateIn = (fromMs: number): number => {
      let admitted = 0;
      for (let ms = fromMs; ms < fromMs + 2000; ms++)
        if (backstop.decide("key", [1], set, buckets, ms * 1000).allowed) admitted++;
      return admitted;
    };
    const buckets = backstop.open(set, 0, undefined, 0);
    const alone = rateIn(0);
    replicas = 4;
    expect(rateIn(2000)).toBeLessThanOrEqual(alone / 4 + 1);
  });
});
