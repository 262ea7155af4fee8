import type { Decision } from "spillway";
import { describe, expect, it } from "vitest";
import { algorithmOf, type BucketState } from "../../../packages/spillway/src/algorithms/bucket.ts";
import { resolvePolicy } from "../../../packages/spillway/src/policy.ts";
import { ALGORITHMS, admitted, admittedOf, EACH, notFor, openScenes, policyOf, remainingOf, STORES } from "./scene.ts";

const { open } = openScenes();

const countdown = (from: number): number[] => Array.from({ length: from }, (_, index) => from - 1 - index);

describe.each(EACH)("$algorithm, $store", ({ store, algorithm }) => {
  it("C25 a: of 200 at once from two limiters 100 are admitted, with 99 to 0 left, once each", async () => {
    const { limiter: make } = await open(store);
    const limiters = [0, 1].map(() => make(policyOf(algorithm, { limit: 100, period: "1m" })));
    const asked = Array.from({ length: 200 }, (_, i) => limiters[i % 2]?.consume("k") as Promise<Decision>);
    const decisions = await Promise.all(asked);
    const left = decisions.filter(({ allowed }) => allowed).map(({ remaining }) => remaining);
    expect(left.sort((a, b) => b - a)).toEqual(countdown(100));
    for (const { allowed, remaining } of decisions) if (!allowed) expect(remaining).toBe(0);
  });

  it.each(ALGORITHMS)("C25 b: refusals by 10 a minute are not charged to 30 in 30 minutes (%s)", async (long) => {
    const { limiter: make } = await open(store);
    const limiter = make([
      policyOf(algorithm, { name: "short", period: "1m" }),
      policyOf(long, { name: "long", limit: 30, period: "30m" }),
    ]);
    expect(await admittedOf(limiter, 31)).toBe(10);
    expect(await remainingOf(limiter)).toEqual([0, 20]);
  });

  it("C25 c: a caller over its own limit takes nothing from the limit that all share", async () => {
    const { limiter: make } = await open(store);
    const limiter = make([
      policyOf(algorithm, { name: "user", limit: 1, period: "1m" }),
      policyOf(algorithm, { name: "shared", limit: 10, period: "1m" }),
    ]);
    const ask = (user: string): Promise<Decision> =>
      limiter.consume([
        { policy: "user", key: user },
        { policy: "shared", key: "everybody" },
      ]);
    const greedy = [];
    for (let i = 0; i < 20; i++) greedy.push(await ask("greedy"));
    expect(greedy.filter(({ allowed }) => allowed)).toHaveLength(1);
    expect(greedy[19]).toMatchObject({ allowed: false, policy: "user", key: "greedy" });
    expect(await ask("modest")).toMatchObject({ allowed: true });
    expect((await remainingOf(limiter, "everybody"))[1]).toBe(8);
    expect((await remainingOf(limiter, "greedy"))[0]).toBe(0);
  });

  it("a refused ask of 5 with 2 left takes nothing: an ask of 1 is admitted after it, and one more", async () => {
    const { limiter: make } = await open(store);
    expect(await admitted(make(policyOf(algorithm)), 8, 5, 1, 1, 1)).toEqual([true, false, true, true, false]);
    const inOneCall = make(policyOf(algorithm, { name: "at-once" }));
    const decisions = await Promise.all([8, 5, 1, 1, 1].map((cost) => inOneCall.consume("k", { cost })));
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, false, true, true, false]);
  });

  it("a refund never lifts it above full, nor gives what another one has taken since", async () => {
    const { limiter: make } = await open(store);
    const limiter = make(policyOf(algorithm));
    const first = await limiter.consume("k", { cost: 4 });
    const second = await limiter.consume("k", { cost: 3 });
    await limiter.refund(first);
    await limiter.refund(first);
    expect(await remainingOf(limiter)).toEqual([7]);
    await limiter.reset("k");
    await limiter.refund(second);
    expect(await remainingOf(limiter)).toEqual([10]);
    expect(await admittedOf(limiter, 12)).toBe(10);
  });
});

describe.each(EACH.filter(({ algorithm }) => algorithm !== "sliding-window-log"))(
  "with leases on, $algorithm, $store",
  ({ store, algorithm }) => {
    it("a refund gives back no more than what is not on lease", async () => {
      const { limiter: make, store: shelf, pass } = await open(store);
      const options = policyOf(algorithm, { name: "leased", limit: 1000, period: "10s" });
      const limiter = make(options, { lease: { maxDrainMs: 1000 } });
      const decisions: Decision[] = [];
      for (let i = 0; i < 60; i++) {
        decisions.push(limiter.consumeNow("k") ?? (await limiter.consume("k")));
        await pass(1);
      }
      const policy = resolvePolicy(options, "policy");
      const standing = async (): Promise<{ left: number; onLease: number }> => {
        const [reading] = (await shelf.peek([{ key: "k", policy }])).buckets;
        if (reading?.kind !== "state") throw new Error("a fault");
        const { state } = reading;
        return { left: algorithmOf(policy.shape).remaining(state, policy.shape), onLease: onLeaseOf(state) };
      };
      expect((await standing()).onLease).toBeGreaterThan(0);
      for (const decision of decisions) await limiter.refund(decision);
      const { left, onLease } = await standing();
      expect(onLease).toBeGreaterThan(0);
      expect(left + onLease).toBeLessThanOrEqual(1000);
      expect(left + onLease).toBeGreaterThanOrEqual(999);
    });

    it("C25 a: of 400 asks, some at once, from two limiters exactly 100 are admitted", async () => {
      const { limiter: make, pass } = await open(store);
      for (let round = 0; round < 3; round++) {
        const policy = policyOf(algorithm, { name: `round-${round}`, limit: 100, period: "30d" });
        const limiters = [0, 1].map(() => make(policy, { lease: {} }));
        let count = 0;
        for (let wave = 0; wave < 40; wave++) {
          const asked = Array.from({ length: 10 }, (_, i) => limiters[i % 2]?.consume("k") as Promise<Decision>);
          count += (await Promise.all(asked)).filter(({ allowed }) => allowed).length;
          // Towards the end nobody asks for a while, so that what is held goes back.
          await pass(wave < 30 ? 1 : 100);
        }
        expect(count).toBe(100);
        const leased = limiters.reduce((sum, limiter) => sum + limiter.stats().sources.lease, 0);
        expect(leased).toBeGreaterThan(0);
      }
    });
  },
);

function onLeaseOf(state: BucketState): number {
  if (state.kind === "token-bucket") return state.older.tokens + state.newer.tokens;
  return state.kind === "sliding-window-log" ? 0 : (state.lease?.tokens ?? 0);
}

describe("sequences that are known", () => {
  it.each(STORES)(
    "a bucket of 5/s and 10: 10 of 12 at once, 0.2 s to wait; at 0.2 s yes, no; after 10 s 10 of 20 (%s)",
    async (store) => {
      const { limiter: make, pass } = await open(store);
      const limiter = make({ name: "bucket", limit: 5, period: "1s", burst: 10 });
      expect(await admittedOf(limiter, 12)).toBe(10);
      expect(await limiter.consume("k")).toMatchObject({ allowed: false, retryAfterMs: 200 });
      await pass(200);
      expect(await admitted(limiter, 1, 1)).toEqual([true, false]);
      await pass(10_000);
      expect(await admittedOf(limiter, 20)).toBe(10);
    },
  );

  it.each(STORES)(
    "a log of 3 per 60 s at 0, 10, 59, 59.5, 60, 70 and 71 s: yes yes yes no yes yes no (%s)",
    async (store) => {
      const { limiter: make, pass } = await open(store);
      const limiter = make({ name: "log", limit: 3, period: "60s", algorithm: "sliding-window-log" });
      const decisions = [];
      let nowS = 0;
      for (const s of [0, 10, 59, 59.5, 60, 70, 71]) {
        await pass((s - nowS) * 1000);
        nowS = s;
        decisions.push(...(await admitted(limiter, 1)));
      }
      expect(decisions).toEqual([true, true, true, false, true, true, false]);
    },
  );
});

notFor([
  ["with leases on, sliding-window-log", "the instant of a spend is not known to the store, so a log is never leased"],
]);
