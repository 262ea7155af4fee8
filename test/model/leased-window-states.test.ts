import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { blockedUs } from "../../packages/spillway/src/algorithms/block.ts";
import { advance, algorithmOf, type BucketState } from "../../packages/spillway/src/algorithms/bucket.ts";
import { type Policy, type PolicyOptions, resolvePolicy } from "../../packages/spillway/src/policy.ts";
import { bucketKey } from "../../packages/spillway/src/stores/redis/key-layout.ts";
import type { LeaseReport, Settlement, TakeCall } from "../../packages/spillway/src/stores/store.ts";
import { applyTake, type OpenBucket } from "../../packages/spillway/src/stores/take.ts";
import { ownRedis } from "../support/redis-fixture.ts";
import { told } from "./model-store.ts";
import { packStored, type StoredValue, stateOfStored, storedValueOf } from "./stored-value.ts";
import { TimedRedisStore } from "./timed-redis.ts";

const NOW_US = 1_791_187_200_123_456;
const LEASE_ID = NOW_US - 900_000;
const POLICIES: readonly Policy[] = [
  { name: "fixed", limit: 40, period: "1s", algorithm: "fixed-window" },
  { name: "aligned", limit: 41, period: "1s", algorithm: "fixed-window", windowStart: "aligned" },
  { name: "counter", limit: 42, period: "1s", algorithm: "sliding-window-counter" },
  { name: "short", limit: 20, period: 10, algorithm: "sliding-window-counter" },
  { name: "huge", limit: 1e12, period: "366d", algorithm: "sliding-window-counter" },
  { name: "year", limit: 1e12, period: "366d", algorithm: "fixed-window", windowStart: "aligned" },
  { name: "bucket", limit: 20, period: "1s" },
].map((options, i) => resolvePolicy(options as PolicyOptions, `policies[${i}]`));

const redis = ownRedis();

/** A window as it may be stored: young, old, over or ahead of the clock, with room, full or over full, and with tokens on lease. */
interface StoredPlan {
  readonly policy: Policy;
  /** Since its start, in periods, and so many microseconds more. */
  readonly age: readonly [periods: number, us: number];
  /** Parts of the limit, and so many tokens more. */
  readonly used: readonly [part: number, tokens: number];
  readonly before: number;
  /** How much of the used ones is on lease. */
  readonly leased: number;
  /** Until when it is blocked, from now on; a block that is over is still stored. */
  readonly blockedUs: number | null;
  readonly wish: number;
  readonly settled: readonly (readonly [isKnown: boolean, settled: number, returned: number])[];
}

const plans = (policy: Policy): fc.Arbitrary<StoredPlan> =>
  fc.record({
    policy: fc.constant(policy),
    age: fc.tuple(fc.constantFrom(0, 0.5, 0.9, 1, 2), fc.integer({ min: -2, max: 2 })),
    used: fc.tuple(fc.constantFrom(0, 0.5, 1, 1, 2), fc.integer({ min: -6, max: 2 })),
    before: fc.constantFrom(0, 0.1, 1, 2),
    leased: fc.constantFrom(0, 0, 0.3, 1),
    blockedUs: fc.constantFrom(null, null, null, null, 0, 5000),
    wish: fc.constantFrom(0, 1, 5, 1000),
    settled: fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 50 })), {
      maxLength: 2,
    }),
  });

const calls = fc.record({
  buckets: fc.subarray([...POLICIES], { minLength: 1, maxLength: 3 }).chain((some) => fc.tuple(...some.map(plans))),
  lifeUs: fc.constantFrom(1000, 100_000, 4_000_000),
  asks: fc.option(fc.record({ count: fc.integer({ min: 0, max: 9 }), cost: fc.integer({ min: 0, max: 3 }) })),
});

function storedOf({ policy, age, used, before, leased, blockedUs: us }: StoredPlan): StoredValue {
  const { shape, limit, periodUs } = policy;
  const block = us === null ? undefined : { fromUs: NOW_US - 7, untilUs: NOW_US + us };
  const startUs = NOW_US - Math.round(age[0] * periodUs) - age[1];
  if (shape.kind === "token-bucket") {
    const state: BucketState = { ...algorithmOf(shape).open(shape, NOW_US - 70_000) };
    return storedValueOf(block === undefined ? state : { ...state, block });
  }
  const count = Math.max(0, Math.floor(used[0] * limit) + used[1]);
  const out = Math.floor(leased * count);
  const lease = out > 0 ? { lease: { tokens: out, id: LEASE_ID } } : {};
  const blocked = block === undefined ? {} : { block };
  if (shape.kind === "fixed-window")
    return storedValueOf({ kind: shape.kind, startUs, used: count, ...lease, ...blocked });
  const previous = Math.floor(before * limit);
  const counter = { kind: "sliding-window-counter", startUs, previous, current: count, nowUs: NOW_US } as const;
  return storedValueOf({ ...counter, ...lease, ...blocked });
}

function reportOf({ policy, wish, settled }: StoredPlan, lifeUs: number): LeaseReport {
  const settlements = settled.map(
    ([isKnown, tokens, returned]): Settlement => ({ id: isKnown ? LEASE_ID : 7, settled: tokens, returned }),
  );
  // Alike in all, as in the calls of a limiter.
  return { wish: Math.min(wish, policy.limit), lifeUs, demand: 3, weight: 3, settlements };
}

describe("leased calls on windows in any state, alone and beside others", () => {
  it("equal the model in reply, stored value and life", { timeout: 120_000 }, async () => {
    const openStore = await TimedRedisStore.load(redis.client);
    let run = 0;
    let leased = 0;
    const property = fc.asyncProperty(calls, async ({ buckets, lifeUs, asks }) => {
      const store = openStore(`windows-${++run}`, NOW_US);
      const open: OpenBucket[] = [];
      for (const plan of buckets) {
        const { policy } = plan;
        const stored = storedOf(plan);
        const state = stateOfStored(stored);
        const quietUs = state.kind === "token-bucket" ? NOW_US - state.timeUs : 0;
        advance(state, policy.shape, NOW_US);
        open.push({ state, shape: policy.shape, report: reportOf(plan, lifeUs), quietUs });
        await store.spoil({ key: "k", policy }, packStored(stored));
      }
      const call: TakeCall = {
        buckets: buckets.map(({ policy }, i) => ({ key: "k", policy, report: open[i]?.report })),
        runs:
          asks === null
            ? []
            : [{ count: asks.count, charges: buckets.map((_, bucket) => ({ bucket, cost: asks.cost })) }],
      };
      const reply = await store.take(call);
      const { served, leases } = applyTake(open, call.runs, NOW_US);
      expect(reply.served).toEqual(served);
      const keys = call.buckets.map((address) => bucketKey(store.prefix, address));
      const records = await store.records(keys);
      for (const [i, { state, shape }] of open.entries()) {
        if (state === undefined) continue;
        const lease = leases[i];
        if ((lease?.tokens ?? 0) > 0) leased++;
        expect(told(reply.buckets[i] as Parameters<typeof told>[0])).toEqual(told({ kind: "state", state, lease }));
        const restUs = blockedUs(state, NOW_US);
        const blockMs = restUs > 0 ? Math.ceil(restUs / 1000) + 1 : 0;
        const lifeMs = Math.max(blockMs, algorithmOf(shape).expiryMs(state, shape, NOW_US));
        expect(records.get(keys[i] as string)).toEqual({ stored: storedValueOf(state), lifeMs });
      }
    });
    await fc.assert(property, { numRuns: 3000 });
    expect(leased).toBeGreaterThan(300);
  });
});
