import { describe, expect, it } from "vitest";
import type { RefusedDecision } from "../../decision.ts";
import { type ManualClock, manualClock } from "../manual-clock.ts";
import { DEADLINE_MS, type DistantSetup, passTime, settled } from "../test-support.ts";
import { BUCKET, busy, held, holding, leasing, neighbour, onShelf, sources, wishOf } from "./test-support.ts";

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
