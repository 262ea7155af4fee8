import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AskPart } from "./joint-ask.ts";
import type { PolicyOptions } from "./policy.ts";
import { createRateLimiter, type RateLimiter } from "./rate-limiter.ts";
import { memoryStore } from "./stores/memory-store.ts";
import type { Store } from "./stores/store.ts";
import { manualClock } from "./testing/manual-clock.ts";
import { distantLimiter, passTime } from "./testing/test-support.ts";

const USER: PolicyOptions = { name: "user", limit: 10, period: "1s", burst: 3 };
const TENANT: PolicyOptions = { name: "tenant", limit: 100, period: "1s", burst: 5 };
const DAILY: PolicyOptions = { name: "daily", limit: 4, period: "1d", algorithm: "fixed-window" };
const POLICIES = [USER, TENANT, DAILY];

const user = (key: string, cost = 1): AskPart => ({ policy: "user", key, cost });
const tenant = (key: string, cost = 1): AskPart => ({ policy: "tenant", key, cost });
const daily = (key: string, cost = 1): AskPart => ({ policy: "daily", key, cost });

function nearby(): { limiter: RateLimiter; clock: ReturnType<typeof manualClock> } {
  const clock = manualClock();
  return { clock, limiter: createRateLimiter({ policies: POLICIES, store: memoryStore({ clock }), clock }) };
}

async function left(limiter: RateLimiter, key: string): Promise<Record<string, number>> {
  const { policies } = await limiter.peek(key);
  return Object.fromEntries(policies.map(({ policy, remaining }) => [policy, remaining]));
}

describe("a request about several keys", () => {
  it("charges each policy of its own key, and nothing else", async () => {
    const { limiter } = nearby();
    const decision = await limiter.consume([user("ann"), tenant("acme", 2)]);
    expect(decision).toMatchObject({ allowed: true, policy: "user", key: "ann", keys: ["ann", "acme"], remaining: 2 });
    expect(decision.policies.map(({ policy, remaining }) => [policy, remaining])).toEqual([
      ["user", 2],
      ["tenant", 3],
    ]);
    expect(await left(limiter, "ann")).toEqual({ user: 2, tenant: 5, daily: 4 });
    expect(await left(limiter, "acme")).toEqual({ user: 3, tenant: 3, daily: 4 });
  });

  it("shares its buckets with requests about one key", async () => {
    const { limiter } = nearby();
    await limiter.consume("ann", { cost: { user: 3 } });
    expect(await limiter.consume([user("ann"), tenant("acme")])).toMatchObject({
      allowed: false,
      policy: "user",
      key: "ann",
    });
  });

  it("takes nothing from any key when one refuses, and names that one", async () => {
    const { limiter, clock } = nearby();
    await limiter.consume([tenant("acme", 5)]);
    clock.advance(5);
    const before = [await left(limiter, "ann"), await left(limiter, "acme")];
    expect(await limiter.consume([user("ann"), tenant("acme", 4), daily("ann")])).toMatchObject({
      allowed: false,
      policy: "tenant",
      key: "acme",
      keys: ["ann", "acme", "ann"],
      retryAfterMs: 35,
    });
    expect([await left(limiter, "ann"), await left(limiter, "acme")]).toEqual(before);
  });

  it("may be about one policy of two keys, and tells whose it was", async () => {
    const { limiter } = nearby();
    await limiter.consume([user("from", 2)]);
    expect(await limiter.consume([user("to"), user("from")])).toMatchObject({
      allowed: true,
      key: "from",
      remaining: 0,
    });
    expect(await limiter.consume([user("to"), user("from")])).toMatchObject({ allowed: false, key: "from" });
    expect(await limiter.consume([user("from"), user("to")])).toMatchObject({ allowed: false, key: "from" });
  });

  it("is given back to each key", async () => {
    const { limiter } = nearby();
    const decision = await limiter.consume([user("ann", 2), tenant("acme", 4), daily("ann")]);
    await limiter.refund(decision);
    await limiter.refund(decision);
    expect(await left(limiter, "ann")).toEqual({ user: 3, tenant: 5, daily: 4 });
    expect(await left(limiter, "acme")).toEqual({ user: 3, tenant: 5, daily: 4 });
  });

  it.each<[string, unknown, string]>([
    ["no part", [], "The ask must be a key, or 1 to 16 parts, got an array of 0."],
    ["too many parts", Array.from({ length: 17 }, (_, i) => user(`${i}`)), "got an array of 17"],
    ["a part that is none", ["ann"], 'The ask[0] must be an object such as { policy, key, cost }, got "ann".'],
    [
      "a part left out",
      Object.assign(new Array(2), { 1: user("ann") }),
      "The ask[0] must be an object such as { policy, key, cost }, got undefined.",
    ],
    ["a misspelt name", [{ policy: "user", key: "ann", costs: 3 }], 'policy, key, cost only, got "costs"'],
    ["an unknown policy", [{ policy: "users", key: "ann" }], 'got one for "users"'],
    ["no policy", [{ key: "ann" }], "got one for undefined"],
    ["no key", [{ policy: "user" }], "A key must be a string, got undefined."],
    ["an empty key", [user("")], "A key must be 1 to"],
    ["a bad cost", [user("ann"), user("bob", 0.5)], "A cost of ask[1] must be a whole number from 0"],
    ["a bucket twice", [user("ann"), tenant("ann"), user("ann")], 'differ in policy or key, got "ann".'],
  ])("with %s is an error before anything is counted", async (_, parts, message) => {
    const { limiter } = nearby();
    await expect(limiter.consume(parts as AskPart[])).rejects.toThrow(message);
    expect(() => limiter.consumeNow(parts as AskPart[])).toThrow(message);
    expect(limiter.stats()).toMatchObject({ allowed: 0, refused: 0 });
    expect(await left(limiter, "ann")).toEqual({ user: 3, tenant: 5, daily: 4 });
  });

  it("has its costs in its parts", async () => {
    const { limiter } = nearby();
    await expect(limiter.consume([user("ann")], { cost: 2 })).rejects.toThrow("without a cost");
    await expect(limiter.consume([user("ann")], { signal: AbortSignal.abort("gone") })).rejects.toBe("gone");
  });
});

/** A limiter over a store that answers later, so that requests travel together. */
function distant(policies: PolicyOptions[], lease: false | object = false): ReturnType<typeof distantLimiter> {
  return distantLimiter({ policies, lease });
}

describe("requests about several keys that travel together", () => {
  it("charge a bucket that they share for each of them", async () => {
    const setup = distant(POLICIES);
    const asked = Array.from({ length: 12 }, (_, i) => setup.limiter.consume([user(`u${i}`), tenant("acme")]));
    const alone = setup.limiter.consume("acme", { cost: { tenant: 1 } });
    await passTime(setup, 5);
    const decisions = await Promise.all([...asked, alone]);
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(5);
    expect(setup.limiter.stats().storeCalls).toBeLessThanOrEqual(3);
    const refused = decisions.filter(({ allowed, keys }) => !allowed && keys !== undefined);
    for (const decision of refused) expect(decision).toMatchObject({ policy: "tenant", key: "acme" });
  });

  it("never go beyond a bucket, leased or not, whatever is asked together", async () => {
    const part = fc.record({
      policy: fc.constantFrom("user", "tenant"),
      key: fc.constantFrom("a", "b"),
      cost: fc.integer({ min: 0, max: 3 }),
    });
    const ask = fc.uniqueArray(part, { minLength: 1, maxLength: 4, selector: ({ policy, key }) => policy + key });
    const turns = fc.array(fc.array(ask, { maxLength: 6 }), { minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(turns, fc.constantFrom(false, {}), async (story, lease) => {
        const generous: PolicyOptions[] = [
          { name: "user", limit: 1000, period: "1s", burst: 60 },
          { name: "tenant", limit: 1000, period: "1s", burst: 90 },
        ];
        const setup = distant(generous, lease as false | object);
        const level = new Map<string, number>();
        for (const asks of story) {
          const decisions = asks.map((parts) => setup.limiter.consume(parts).then((d) => ({ parts, d })));
          await passTime(setup, 3);
          for (const { parts, d } of await Promise.all(decisions)) {
            if (!d.allowed) continue;
            for (const { policy, key, cost } of parts) level.set(policy + key, (level.get(policy + key) ?? 0) + cost);
          }
        }
        const ms = 3 * story.length;
        for (const [bucket, taken] of level)
          expect(taken).toBeLessThanOrEqual((bucket.startsWith("user") ? 60 : 90) + ms);
      }),
      { numRuns: 100 },
    );
  });

  it("lease for a combination that is asked for often, and spend all or nothing", async () => {
    const generous: PolicyOptions[] = [
      { name: "user", limit: 1000, period: "1s", burst: 200 },
      { name: "tenant", limit: 2000, period: "1s", burst: 400 },
    ];
    const setup = distant(generous, {});
    const sources = new Set<string>();
    for (let ms = 0; ms < 200; ms++) {
      const decision = setup.limiter.consume([user("ann"), tenant("acme")]);
      await passTime(setup, 1);
      const { source, keys } = await decision;
      sources.add(source);
      expect(keys).toEqual(["ann", "acme"]);
    }
    expect(sources).toContain("lease");
    expect(setup.limiter.stats().storeCalls).toBeLessThan(100);
  });
});

describe("requests about keys of several slots", () => {
  function clustered(): ReturnType<typeof distantLimiter> {
    const setup = distant(POLICIES);
    (setup.store as { groupOf?: Store["groupOf"] }).groupOf = (key) => key.charCodeAt(0);
    return setup;
  }

  it("go in when every slot admits", async () => {
    const setup = clustered();
    const asked = setup.limiter.consume([user("ann"), tenant("corp", 2), daily("ann")]);
    await passTime(setup, 5);
    const decision = await asked;
    expect(decision).toMatchObject({ allowed: true, policy: "user", key: "ann", keys: ["ann", "corp", "ann"] });
    expect(decision.policies.map(({ policy }) => policy)).toEqual(["user", "tenant", "daily"]);
  });

  it("give back what one slot took when another one refuses", async () => {
    const setup = clustered();
    const before = setup.limiter.consume([user("ann", 3)]);
    await passTime(setup, 5);
    await before;
    const asked = setup.limiter.consume([user("ann", 2), tenant("corp", 5)]);
    await passTime(setup, 5);
    const decision = await asked;
    expect(decision).toMatchObject({ allowed: false, policy: "user", key: "ann" });
    expect(decision.policies[1]).toMatchObject({ policy: "tenant", remaining: 5 });
    await passTime(setup, 5);
    const again = setup.limiter.consume([tenant("corp", 5)]);
    await passTime(setup, 5);
    expect(await again).toMatchObject({ allowed: true });
  });
});

describe("penalize", () => {
  it("takes tokens without asking, from all policies or from those named, into debt", async () => {
    const { limiter, clock } = nearby();
    await limiter.penalize("ann");
    expect(await left(limiter, "ann")).toEqual({ user: 2, tenant: 4, daily: 3 });
    await limiter.penalize("ann", { user: 4 });
    expect(await left(limiter, "ann")).toEqual({ user: 0, tenant: 4, daily: 3 });
    clock.advance(299);
    expect(await limiter.consume([user("ann")])).toMatchObject({ allowed: false, retryAfterMs: 1 });
    clock.advance(1);
    expect(await limiter.consume([user("ann")])).toMatchObject({ allowed: true });
  });

  it.each([
    [undefined, "A key must be a string"],
    ["ann", "A cost must be a whole number"],
  ])("names what is wrong with it (%s)", async (key, message) => {
    const { limiter } = nearby();
    await expect(limiter.penalize(key as string, -1)).rejects.toThrow(message);
  });
});
