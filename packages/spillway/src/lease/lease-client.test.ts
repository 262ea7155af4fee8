import { describe, expect, it } from "vitest";
import type { Decision, RefusedDecision } from "../decision.ts";
import type { PolicyOptions } from "../policy.ts";
import { createRateLimiter, type RateLimiter, type RateLimiterOptions } from "../rate-limiter.ts";
import type { TakeCall } from "../stores/store.ts";
import { type ManualClock, manualClock } from "../testing/manual-clock.ts";
import { DEADLINE_MS, type DistantSetup, distantLimiter, passTime, settled } from "../testing/test-support.ts";

/** 1 per ms, drained in 50 ms: leases live for 100 ms and are spent for 75. */
const BUCKET: PolicyOptions = { name: "bucket", limit: 1000, period: "1s", burst: 200 };

function leasing(options: Partial<RateLimiterOptions> = {}): DistantSetup {
  return distantLimiter({ policies: BUCKET, lease: {}, ...options });
}

/** Another process at the same store, on the same clock. */
function neighbour({ store, clock }: DistantSetup, options: Partial<RateLimiterOptions> = {}): RateLimiter {
  return createRateLimiter({
    policies: BUCKET,
    lease: {},
    deadlineMs: DEADLINE_MS,
    maxKeys: 10,
    clock,
    store,
    ...options,
  });
}

/** Asks `perMs` times in each of `ms` milliseconds. */
async function busy(setup: DistantSetup, perMs: number, ms: number, limiter = setup.limiter): Promise<Decision[]> {
  const decisions: Promise<Decision>[] = [];
  for (let n = 0; n < ms; n++) {
    for (let i = 0; i < perMs; i++) decisions.push(limiter.consume("key"));
    await passTime(setup, 1);
  }
  return Promise.all(decisions);
}

/** Busy until it has just fetched tokens for more than ten milliseconds. */
async function holding(options: Partial<RateLimiterOptions> = {}): Promise<DistantSetup> {
  const setup = leasing(options);
  for (let ms = 0; ms < 100 && held(setup) < 20; ms++) await busy(setup, 1, 1);
  expect(held(setup)).toBeGreaterThanOrEqual(20);
  return setup;
}

/** Tokens that a limiter has leased and neither spent nor given back. */
function held({ limiter }: { limiter: RateLimiter }): number {
  const { leased, spent, returned } = limiter.stats().leases;
  return leased - spent - returned;
}

function sources(decisions: readonly Decision[]): string[] {
  return [...new Set(decisions.map(({ source }) => source))];
}

const wishOf = (call: TakeCall | undefined): number => call?.buckets[0]?.report?.wish ?? 0;

/** What the store has on its shelf. */
async function onShelf(limiter: RateLimiter): Promise<number | undefined> {
  return (await limiter.peek("key")).policies[0]?.remaining;
}

describe("a key that is asked for", () => {
  it("once in a drain time is asked of the store each time, and leases nothing", async () => {
    const setup = leasing();
    for (let n = 0; n < 5; n++) {
      expect((await setup.limiter.consume("key")).source).toBe("store");
      expect(setup.clock.pendingTimers).toBe(0);
      await passTime(setup, 50);
    }
    expect(setup.store.calls.map(({ buckets }) => buckets[0]?.report)).toEqual(Array(5).fill(undefined));
    expect(setup.clock.pendingTimers).toBe(0);
  });

  it("often is decided from leased tokens, at once and without a call", async () => {
    const setup = await holding();
    const { length } = setup.store.calls;
    expect(setup.limiter.consumeNow("key")).toMatchObject({ allowed: true, source: "lease", degraded: false });
    expect((await setup.limiter.consume("key")).source).toBe("lease");
    expect(setup.store.calls.length).toBe(length);
  });

  it("by more than one process never takes more than there is: 200 at once on two, with tokens of 100 (C25 a)", async () => {
    const policies: PolicyOptions = { name: "hundred", limit: 100, period: "1h", burst: 100 };
    const setup = leasing({ policies });
    const other = neighbour(setup, { policies });
    const all: Promise<Decision>[] = [];
    for (let n = 0; n < 100; n++) {
      all.push(setup.limiter.consume("key"), other.consume("key"));
      if (n % 10 === 0) await passTime(setup, 1);
    }
    await settled();
    let admitted = (await Promise.all(all)).filter(({ allowed }) => allowed).length;
    expect(setup.limiter.stats().leases.leased + other.stats().leases.leased).toBeGreaterThan(0);
    // What one of them holds when the other has nothing left goes back, and is there for whoever comes then.
    for (let n = 0; n < 200 && admitted < 100; n++) {
      await passTime(setup, 50);
      const more = await Promise.all([setup.limiter.consume("key"), other.consume("key")]);
      admitted += more.filter(({ allowed }) => allowed).length;
    }
    expect(admitted).toBe(100);
    for (const limiter of [setup.limiter, other])
      expect(await limiter.consume("key")).toMatchObject({ allowed: false });
  });

  it("under a policy too small to lease is asked of the store each time, and stats() says so", async () => {
    const setup = leasing({ policies: { ...BUCKET, name: "tiny", burst: 9 } });
    const decisions = await busy(setup, 1, 20);
    expect(sources(decisions)).toEqual(["store"]);
    expect(setup.limiter.stats().leases).toMatchObject({ leased: 0, tooSmall: ["tiny"] });
  });

  it("under a set of which one policy is too small leases none of them; another set may", async () => {
    const window: PolicyOptions = { name: "window", limit: 100_000, period: "1h", algorithm: "fixed-window" };
    const sets: Record<string, PolicyOptions[]> = { both: [BUCKET, window], key: [BUCKET] };
    const setup = leasing({ policies: (key) => sets[key] as PolicyOptions[] });
    for (let n = 0; n < 20; n++) {
      await setup.limiter.consume("both");
      await setup.limiter.consume("key");
      await passTime(setup, 1);
    }
    expect(setup.limiter.consumeNow("both")).toBeUndefined();
    expect(setup.limiter.consumeNow("key")).toMatchObject({ source: "lease" });
    expect(setup.limiter.stats().leases.tooSmall).toEqual(["window"]);
  });

  it("leases nothing where leases are switched off", async () => {
    const setup = leasing({ lease: false });
    expect(sources(await busy(setup, 2, 20))).toEqual(["store"]);
    expect(setup.limiter.stats().leases).toMatchObject({ leased: 0, tooSmall: [] });
  });
});

describe("calls for a key that leases", () => {
  it("are one at a time, also when tokens are to be fetched early", async () => {
    const setup = await holding();
    setup.store.holds = true;
    const callers: Promise<Decision>[] = [];
    for (let n = 0; n < 40; n++) {
      callers.push(setup.limiter.consume("key"));
      await passTime(setup, 0.5);
    }
    expect(setup.store.held.length).toBe(1);
    setup.store.holds = false;
    setup.store.held[0]?.answer();
    await settled();
    expect((await Promise.all(callers)).length).toBe(40);
  });

  it("fetch tokens before those in hand are gone, so that nobody waits", async () => {
    const setup = await holding();
    // A store that takes 2 ms.
    const { store } = setup;
    store.holds = true;
    const decisions: Decision[] = [];
    for (let n = 0; n < 300; n++) {
      const decision = setup.limiter.consumeNow("key");
      if (decision !== undefined) decisions.push(decision);
      const sent = store.held.length;
      await passTime(setup, 1);
      if (sent > 0) store.held.shift()?.answer();
      await settled();
    }
    expect(setup.limiter.stats().leases.prefetches).toBeGreaterThan(2);
    expect(decisions.length).toBeGreaterThan(290);
  });

  it("wish for what callers ask for in one drain time", async () => {
    const setup = leasing();
    await busy(setup, 1, 200);
    const wishes = setup.store.calls.map(wishOf);
    expect(Math.max(...wishes)).toBeLessThanOrEqual(60);
    expect(wishes.at(-1)).toBeGreaterThan(20);
  });

  it("serve callers in order of arrival, those who came meanwhile from what the reply brought", async () => {
    const setup = leasing();
    const order: number[] = [];
    const ask = (n: number): void => void setup.limiter.consume("key").then(() => order.push(n));
    for (let n = 0; n < 10; n++) await setup.limiter.consume("key");
    setup.store.holds = true;
    for (let n = 0; n < 3; n++) ask(n);
    await settled();
    for (let n = 3; n < 6; n++) ask(n);
    expect(setup.limiter.consumeNow("key")).toBeUndefined();
    setup.store.held[0]?.answer();
    await settled();
    setup.store.held[1]?.answer();
    await settled();
    expect([...order].sort()).toEqual([0, 1, 2, 3, 4, 5]);
    expect(Math.max(...order.slice(0, 3))).toBeLessThan(3);
  });

  it("are not made for callers who came while one was under way and are served from what it brings", async () => {
    const setup = await holding();
    setup.store.holds = true;
    while (held(setup) > 0) expect(await setup.limiter.consume("key")).toMatchObject({ source: "lease" });
    await settled();
    expect(wishOf(setup.store.held[0]?.call)).toBeGreaterThan(2);
    const meanwhile = [setup.limiter.consume("key"), setup.limiter.consume("key")];
    await settled();
    setup.store.held[0]?.answer();
    expect(sources(await Promise.all(meanwhile))).toEqual(["lease"]);
    await settled();
    expect(setup.store.held.length).toBe(1);
  });

  it("give back what is held for a caller who needs more than that", async () => {
    const setup = await holding();
    const before = held(setup);
    const big = await setup.limiter.consume("key", { cost: 180 });
    expect(big).toMatchObject({ allowed: true, source: "store" });
    expect(setup.store.calls.at(-1)?.buckets[0]?.report?.settlements[0]?.returned).toBe(before);
  });

  it("are not made for callers who have all gone away", async () => {
    const setup = leasing();
    const abort = new AbortController();
    const gone = [1, 2].map(() => setup.limiter.consume("key", { signal: abort.signal }));
    abort.abort(new Error("gone"));
    for (const caller of gone) await expect(caller).rejects.toThrow("gone");
    await settled();
    expect(setup.store.calls).toEqual([]);
    expect(await setup.limiter.consume("key")).toMatchObject({ allowed: true, remaining: 199 });
  });

  it("keep to the deadline of the oldest caller on them", async () => {
    const setup = leasing();
    setup.store.holds = true;
    const first = setup.limiter.consume("key");
    await settled();
    await passTime(setup, 30);
    const second = setup.limiter.consume("key");
    await passTime(setup, DEADLINE_MS - 30);
    expect(await first).toMatchObject({ degraded: true });
    // The second rides on the next call, and has 20 ms left.
    await settled();
    expect(setup.store.held.length).toBe(2);
    await passTime(setup, 29.9);
    const state = await Promise.race([second, Promise.resolve("waits")]);
    expect(state).toBe("waits");
    await passTime(setup, 0.2);
    expect(await second).toMatchObject({ degraded: true });
  });
});

describe("a holder that falls silent", () => {
  it("settles in one call after 0.8 drain times: no asks, no wish, everything back", async () => {
    const setup = await holding();
    const { length } = setup.store.calls;
    const before = held(setup);
    await passTime(setup, 35);
    expect(setup.store.calls.length).toBe(length);
    await passTime(setup, 10);
    expect(setup.store.calls.length).toBe(length + 1);
    const [call] = setup.store.calls.slice(-1);
    expect(call?.runs).toEqual([]);
    expect(wishOf(call)).toBe(0);
    expect(call?.buckets[0]?.report?.settlements.reduce((sum, { returned }) => sum + returned, 0)).toBe(before);
    expect(held(setup)).toBe(0);
  });

  it("leaves no timer, no call and no refusal behind", async () => {
    const setup = await holding();
    await passTime(setup, 60);
    const { length } = setup.store.calls;
    expect(setup.clock.pendingTimers).toBe(0);
    await passTime(setup, 10_000);
    expect(setup.store.calls.length).toBe(length);
    expect(await setup.limiter.consume("key")).toMatchObject({ allowed: true, remaining: 199 });
  });

  it("starts no timer before its first decision", () => {
    const setup = leasing();
    expect(setup.clock.pendingTimers).toBe(0);
    expect(setup.store.calls).toEqual([]);
  });

  it("tries once only when the store does not answer", async () => {
    const setup = await holding();
    setup.store.holds = true;
    await passTime(setup, 45);
    expect(setup.store.held.length).toBe(1);
    await passTime(setup, 500);
    expect(setup.store.held.length).toBe(1);
    expect(setup.clock.pendingTimers).toBe(0);
  });
});

describe("leased tokens that are too old", () => {
  it("are not spent though the monotonic clock stood still: the wall clock tells (C24 b)", async () => {
    const setup = await holding();
    setup.clock.stepWall(60_000);
    const { length } = setup.store.calls;
    expect(setup.limiter.consumeNow("key")).toBeUndefined();
    expect(await setup.limiter.consume("key")).toMatchObject({ source: "store" });
    expect(setup.store.calls.length).toBe(length + 1);
    expect(setup.limiter.stats().leases.expired).toBeGreaterThan(0);
  });

  it("are not spent when the clocks disagree, whichever is wrong", async () => {
    for (const ms of [-3_600_000, -28]) {
      const setup = await holding();
      setup.clock.stepWall(ms);
      expect(setup.limiter.consumeNow("key")).toBeUndefined();
    }
  });

  it("are not spent from three quarters of their life on, and go back with the next report", async () => {
    const setup = await holding();
    setup.store.holds = true;
    const grown = held(setup);
    for (let ms = 0; ms < 74; ms += 37) {
      expect(setup.limiter.consumeNow("key")).toMatchObject({ source: "lease" });
      await passTime(setup, 37);
    }
    expect(setup.limiter.consumeNow("key")).toMatchObject({ source: "lease" });
    await passTime(setup, 1.5);
    expect(setup.limiter.consumeNow("key")).toBeUndefined();
    expect(setup.limiter.stats().leases.expired).toBe(grown - 3);
  });

  it("of a reply that comes late admit nobody by it, and are kept while they live", async () => {
    const setup = await holding();
    setup.store.holds = true;
    const callers = Array.from({ length: 60 }, () => setup.limiter.consume("key"));
    await settled();
    await passTime(setup, DEADLINE_MS);
    await Promise.all(callers);
    const { leased, spent } = setup.limiter.stats().leases;
    setup.store.held[0]?.answer();
    await settled();
    expect(setup.limiter.stats().leases.spent).toBe(spent);
    expect(setup.limiter.stats().leases.leased).toBeGreaterThan(leased);
    expect(setup.limiter.consumeNow("key")).toMatchObject({ source: "lease" });
    // They go back as others do.
    setup.store.holds = false;
    await passTime(setup, 60);
    expect(held(setup)).toBe(0);
    expect(setup.clock.pendingTimers).toBe(0);
  });

  it.each(["monotonic", "wall"])(
    "are not waited for: a reply that lay there while the process was stopped admits nobody (%s)",
    async (which) => {
      const clock = manualClock();
      let stoppedMs = 0;
      const stopped: ManualClock = Object.assign(Object.create(clock), {
        monotonicMs: () => clock.monotonicMs() + (which === "monotonic" ? stoppedMs : 0),
        wallMs: () => clock.wallMs() + (which === "wall" ? stoppedMs : 0),
      });
      const setup = leasing({ clock: stopped, onStoreFailure: "closed" });
      setup.store.holds = true;
      const caller = setup.limiter.consume("key");
      await settled();
      stoppedMs = DEADLINE_MS + 1;
      setup.store.held[0]?.answer();
      expect(await caller).toMatchObject({ allowed: false, source: "closed" });
    },
  );
});

describe("a refused caller", () => {
  it("who comes back alone exactly when it was told to is admitted, 200 times of 200 (C04 d)", async () => {
    const setup = leasing();
    await busy(setup, 4, 60);
    for (let n = 0; n < 200; n++) {
      const cost = 1 + ((n * 7) % 30);
      const refused = await refusal(setup, cost);
      await passTime(setup, refused.retryAfterMs);
      expect(await setup.limiter.consume("key", { cost }), `try ${n}, cost ${cost}`).toMatchObject({ allowed: true });
    }
  });

  it("finds its tokens: a cheap caller in between takes its own, and nothing is wished for", async () => {
    const setup = leasing();
    await busy(setup, 3, 100);
    const refused = await refusal(setup, 20);
    const sent = setup.store.calls.length;
    await passTime(setup, refused.retryAfterMs / 2);
    const cheap = await setup.limiter.consume("key");
    await passTime(setup, refused.retryAfterMs / 2 + (cheap.allowed ? 1 : 0));
    expect(setup.store.calls.slice(sent).filter((call) => wishOf(call) > 0)).toEqual([]);
    expect(await setup.limiter.consume("key", { cost: 20 })).toMatchObject({ allowed: true });
  });

  it("is admitted when told to come back also where its call carries callers of another key before it", async () => {
    const setup = leasing();
    const other = neighbour(setup);
    for (let n = 0; n < 20; n++) {
      // Most of the demand is the neighbour's, so that this process has a small share of both keys.
      for (let i = 0; i < 30; i++) {
        for (const key of ["one", "two"]) for (let j = 0; j < 10; j++) void other.consume(key, { cost: 12 });
        void setup.limiter.consume("one");
        void setup.limiter.consume("two");
        await passTime(setup, 1);
      }
      const refused = await refusal(setup, 1, "two");
      await passTime(setup, refused.retryAfterMs);
      const [, two] = await Promise.all([setup.limiter.consume("one"), setup.limiter.consume("two")]);
      expect(two, `try ${n}`).toMatchObject({ allowed: true });
    }
  });

  it("is refused here until then and no longer, and asked for again only by the store", async () => {
    const setup = leasing();
    await busy(setup, 3, 100);
    const refused = await refusal(setup, 20);
    const { length } = setup.store.calls;
    await passTime(setup, refused.retryAfterMs - 0.01);
    expect(setup.limiter.consumeNow("key", { cost: 20 })).toMatchObject({ allowed: false, source: "denial-cache" });
    expect(setup.store.calls.length).toBe(length);
    await passTime(setup, 0.01);
    expect(setup.limiter.consumeNow("key", { cost: 20 })).toBeUndefined();
  });

  it("of a cost that can never fit does not keep the key from leasing", async () => {
    const setup = leasing();
    await busy(setup, 1, 10);
    expect(await setup.limiter.consume("key", { cost: 201 })).toMatchObject({ allowed: false, reason: "never" });
    const decisions = await busy(setup, 1, 50);
    expect(sources(decisions)).toContain("lease");
  });
});

/** Asks for `cost` until it is refused. */
async function refusal({ limiter }: DistantSetup, cost: number, key = "key"): Promise<RefusedDecision> {
  for (let n = 0; n < 1000; n++) {
    const decision = await limiter.consume(key, { cost });
    if (!decision.allowed) return decision;
  }
  throw new Error("never refused");
}

describe("close()", () => {
  it("gives back every token at once, so that another process has them", async () => {
    const setup = await holding();
    const other = neighbour(setup, { lease: false });
    const before = held(setup);
    const shelf = (await onShelf(other)) as number;
    const closing = setup.limiter.close();
    await settled();
    await closing;
    expect(await onShelf(other)).toBe(shelf + before);
    expect(held(setup)).toBe(0);
    expect(setup.clock.pendingTimers).toBe(0);
  });

  it("waits for a call under way, and gives back what it brings", async () => {
    const setup = await holding();
    setup.store.holds = true;
    const callers = Array.from({ length: 60 }, () => setup.limiter.consume("key"));
    await settled();
    let closed = false;
    const closing = setup.limiter.close().then(() => {
      closed = true;
    });
    await Promise.all(callers);
    await settled();
    expect(closed).toBe(false);
    setup.store.holds = false;
    setup.store.held[0]?.answer();
    await closing;
    expect(held(setup)).toBe(0);
  });

  it("ends at the deadline when the store does not answer", async () => {
    const setup = await holding();
    setup.store.holds = true;
    let closed = false;
    const closing = setup.limiter.close().then(() => {
      closed = true;
    });
    await settled();
    await passTime(setup, DEADLINE_MS - 1);
    expect(closed).toBe(false);
    await passTime(setup, 1);
    await closing;
    expect(setup.clock.pendingTimers).toBe(0);
  });

  it("ends at the deadline also when a call that was under way has just been given up, and another goes unanswered", async () => {
    const setup = await holding();
    setup.store.holds = true;
    const callers = Array.from({ length: 60 }, () => setup.limiter.consume("key"));
    await settled();
    await passTime(setup, DEADLINE_MS - 10);
    let closed = false;
    const closing = setup.limiter.close().then(() => {
      closed = true;
    });
    setup.store.held[0]?.answer();
    await settled();
    await Promise.all(callers);
    expect(setup.store.held.length).toBe(2);
    await passTime(setup, DEADLINE_MS - 1);
    expect(closed).toBe(false);
    await passTime(setup, 1);
    await closing;
  });

  it("decides for callers who still wait", async () => {
    const setup = leasing();
    setup.store.holds = true;
    const caller = setup.limiter.consume("key");
    await settled();
    const closing = setup.limiter.close();
    expect(await caller).toMatchObject({ degraded: true });
    await passTime(setup, DEADLINE_MS);
    await closing;
  });
});

describe("a key whose policies change", () => {
  it("spends nothing leased under the old ones, and gives it back", async () => {
    let policies = BUCKET;
    const setup = await holding({ policies: () => policies });
    const before = held(setup);
    policies = { ...BUCKET, limit: 500 };
    expect(setup.limiter.consumeNow("key")).toBeUndefined();
    expect((await setup.limiter.consume("key")).source).toBe("store");
    await passTime(setup, 60);
    const back = setup.store.calls
      .flatMap(({ buckets }) => buckets)
      .flatMap(({ report }) => report?.settlements ?? [])
      .reduce((sum, { returned }) => sum + returned, 0);
    expect(back).toBeGreaterThanOrEqual(before);
    expect(setup.clock.pendingTimers).toBe(0);
  });
});
