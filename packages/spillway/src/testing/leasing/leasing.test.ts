import { describe, expect, it } from "vitest";
import type { Decision } from "../../decision.ts";
import type { PolicyOptions } from "../../policy.ts";
import { DEADLINE_MS, passTime, settled } from "../test-support.ts";
import { BUCKET, busy, held, holding, leasing, neighbour, sources, wishOf } from "./test-support.ts";

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
    const log: PolicyOptions = { name: "log", limit: 10_000, period: "1h", algorithm: "sliding-window-log" };
    const sets: Record<string, PolicyOptions[]> = { both: [BUCKET, log], key: [BUCKET] };
    const setup = leasing({ policies: (key) => sets[key] as PolicyOptions[] });
    for (let n = 0; n < 20; n++) {
      await setup.limiter.consume("both");
      await setup.limiter.consume("key");
      await passTime(setup, 1);
    }
    expect(setup.limiter.consumeNow("both")).toBeUndefined();
    expect(setup.limiter.consumeNow("key")).toMatchObject({ source: "lease" });
    expect(setup.limiter.stats().leases.tooSmall).toEqual(["log"]);
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
    const { waits } = setup.limiter.stats().leases;
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
    expect(setup.limiter.stats().leases.waits).toBe(waits);
    expect(decisions.length).toBeGreaterThan(290);
  });

  it("count callers of a key in use whom nothing on lease covered", async () => {
    const setup = leasing();
    await setup.limiter.consume("key");
    expect(setup.limiter.stats().leases.waits).toBe(0);
    setup.store.holds = true;
    const three = [1, 2, 3].map(() => setup.limiter.consume("key"));
    await settled();
    expect(setup.limiter.stats().leases.waits).toBe(3);
    setup.store.holds = false;
    for (const call of setup.store.held.splice(0)) call.answer();
    await Promise.all(three);
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
