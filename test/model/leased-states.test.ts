import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { algorithmOf } from "../../packages/spillway/src/algorithms/bucket.ts";
import { type Policy, resolvePolicy } from "../../packages/spillway/src/policy.ts";
import { bucketKey } from "../../packages/spillway/src/stores/redis/key-layout.ts";
import type { LeaseReport, TakeCall } from "../../packages/spillway/src/stores/store.ts";
import { applyTake, type OpenBucket } from "../../packages/spillway/src/stores/take.ts";
import { ownRedis } from "../support/redis-fixture.ts";
import { told } from "./model-store.ts";
import { packStored, stateOfStored, storedValueOf } from "./stored-value.ts";
import { TimedRedisStore } from "./timed-redis.ts";
import { mistaken, STATE_TWINS } from "./twins.ts";

const NOW_US = 1_791_187_200_123_456;
const POLICIES: readonly Policy[] = ["a", "b", "c"].map((name, i) =>
  resolvePolicy({ name, limit: 20 + i, period: "1s", burst: 20 + i }, "policy"),
);

const redis = ownRedis();

/** A bucket as it may be stored: low more often than full, with groups of leased tokens that are alive, dead or empty. */
interface StoredPlan {
  readonly level: number;
  readonly quietUs: number;
  readonly older: readonly [tokens: number, restUs: number];
  readonly newer: readonly [tokens: number, restUs: number];
  /** The newer id, from now on; above 0 after the clock went back. */
  readonly newerId: number;
  readonly demand: number;
  readonly wish: number;
  /** Tokens settled and returned of each group. */
  readonly settled: readonly (readonly [group: "older" | "newer" | "none", settled: number, returned: number])[];
}

const group = fc.tuple(fc.integer({ min: 0, max: 6 }), fc.constantFrom(-1000, 0, 1, 1000, 300_000));
const stored: fc.Arbitrary<StoredPlan> = fc.record({
  level: fc.oneof(fc.integer({ min: -2, max: 8 }), fc.double({ min: 0, max: 23, noNaN: true })),
  quietUs: fc.constantFrom(0, 1, 500, 70_000, 2_000_000),
  older: group,
  newer: group,
  newerId: fc.constantFrom(-400_000, 0, 5),
  demand: fc.constantFrom(0, 5, 40, 1000),
  wish: fc.constantFrom(0, 1, 5, 40),
  settled: fc.array(
    fc.tuple(
      fc.constantFrom("older" as const, "newer" as const, "none" as const),
      fc.integer({ min: 0, max: 6 }),
      fc.integer({ min: 0, max: 6 }),
    ),
    { maxLength: 2 },
  ),
});
const calls = fc.record({
  buckets: fc.oneof(
    stored.map((one) => [one]),
    fc.array(stored, { minLength: 2, maxLength: POLICIES.length }),
  ),
  demand: fc.constantFrom(0, 0.5, 3, 1000),
  /** Of the demand of all on the first bucket. */
  share: fc.constantFrom(0, 0.1, 0.3, 0.45, 2),
  lifeUs: fc.constantFrom(1000, 100_000, 500_000, 4_000_000),
  asks: fc.option(fc.record({ count: fc.integer({ min: 0, max: 9 }), cost: fc.integer({ min: 0, max: 3 }) })),
});

interface SearchOptions {
  readonly numRuns: number;
  readonly seed?: number;
  readonly endOnFailure?: boolean;
}

/** A first difference between scripts and model on leased calls that meet any such state. */
async function differenceIn(change: (text: string) => string, runs: SearchOptions): Promise<string | undefined> {
  const openStore = await TimedRedisStore.load(redis.client, change);
  let run = 0;
  const property = fc.asyncProperty(calls, async ({ buckets, demand, share, lifeUs, asks }) => {
    const store = openStore(`states-${++run}-${Math.random()}`, NOW_US);
    const open: OpenBucket[] = [];
    const weight = share * ((buckets[0]?.demand ?? 0) + demand);
    const call: TakeCall = {
      buckets: buckets.map((plan, i) => {
        const policy = POLICIES[i] as Policy;
        const report: LeaseReport = { wish: plan.wish, lifeUs, demand, weight, settlements: settlementsOf(plan) };
        const value = { form: 2, numbers: numbersOf(plan, policy) };
        const state = stateOfStored(value);
        algorithmOf(policy.shape).advance(state, policy.shape, NOW_US);
        open.push({ state, shape: policy.shape, report, quietUs: plan.quietUs });
        return { key: "k", policy, report };
      }),
      runs:
        asks === null
          ? []
          : [{ count: asks.count, charges: buckets.map((_, bucket) => ({ bucket, cost: asks.cost })) }],
    };
    for (const [i, plan] of buckets.entries()) {
      const policy = POLICIES[i] as Policy;
      await store.spoil({ key: "k", policy }, packStored({ form: 2, numbers: numbersOf(plan, policy) }));
    }
    const reply = await store.take(call);
    const { served, leases } = applyTake(open, call.runs, NOW_US);
    expect(reply.served).toEqual(served);
    const keys = call.buckets.map((address) => bucketKey(store.prefix, address));
    const records = await store.records(keys);
    for (const [i, { state, shape }] of open.entries()) {
      if (state === undefined) continue;
      const lease = leases[i];
      expect(told(reply.buckets[i] as Parameters<typeof told>[0])).toEqual(told({ kind: "state", state, lease }));
      const lifeMs = algorithmOf(shape).expiryMs(state, shape, NOW_US);
      expect(records.get(keys[i] as string)).toEqual({ stored: storedValueOf(state), lifeMs });
    }
  });
  const details = await fc.check(property, runs);
  await redis.client.flushall();
  return details.failed ? `${await fc.asyncDefaultReportMessage(details)}\n${details.errorInstance}` : undefined;
}

const OLDER_ID = NOW_US - 900_000;

function settlementsOf({ settled, newerId }: StoredPlan): LeaseReport["settlements"] {
  const ids = { older: OLDER_ID, newer: NOW_US + newerId, none: 7 };
  return settled.map(([group, tokens, returned]) => ({ id: ids[group], settled: tokens, returned }));
}

function numbersOf({ level, quietUs, older, newer, newerId, demand }: StoredPlan, { shape }: Policy): number[] {
  if (shape.kind !== "token-bucket") throw new Error("A token bucket was expected.");
  const units = Math.floor(level * shape.unitsPerToken);
  const escrow = [older[0], OLDER_ID, NOW_US + older[1], newer[0], NOW_US + newerId, NOW_US + newer[1]];
  return [units, NOW_US - quietUs, shape.unitsPerToken, shape.fullUs, ...escrow, demand];
}

describe("leased calls on buckets in any state", () => {
  it("equal the model in reply, stored value and life", { timeout: 60_000 }, async () => {
    expect(await differenceIn((text) => text, { numRuns: 1500 })).toBeUndefined();
  });

  it.each(STATE_TWINS.map((twin) => [twin.mistake, twin] as const))(
    "would show that %s",
    { timeout: 120_000 },
    async (_, twin) => {
      const difference = await differenceIn(mistaken(twin), { numRuns: 12_000, seed: 1, endOnFailure: true });
      expect(difference).toBeDefined();
      // A script that does not run at all would be found by any test.
      expect(difference).not.toMatch(/user_script|ReplyError/);
    },
  );
});
