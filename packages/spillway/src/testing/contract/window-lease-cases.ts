import assert from "node:assert/strict";
import type { BucketState } from "../../algorithms/bucket.ts";
import { leasedOfWindow } from "../../algorithms/window-lease.ts";
import type { Policy } from "../../policy.ts";
import type { LeaseGrant, LeaseReport, Store, TakeReply } from "../../stores/store.ts";
import {
  ALIGNED,
  COUNTER,
  type ContractCase,
  newKey,
  peek,
  policyOf,
  remaining,
  report,
  runOf,
  settlement,
  take,
  WINDOW,
} from "./contract-case.ts";

const LEASABLE: readonly Policy[] = [WINDOW, ALIGNED, COUNTER];
const LIFE_US = 10_000_000;

/** Windows whose tokens leave the store to be spent elsewhere. */
export const windowLeaseCases: readonly ContractCase[] = [
  {
    title: "a quarter of what is left in a window is leased at most, and counts as used",
    async run({ store }) {
      for (const policy of LEASABLE) {
        const key = newKey();
        const { reply, granted } = await leaseOf(store, key, policy, { wish: 9 }, 2);
        assert.deepEqual(reply.served, [2]);
        assert.equal(granted.tokens, 2);
        assert.ok(granted.id > 0);
        assert.equal(granted.contended, false);
        assert.equal(await remaining(store, key, policy), 6);
        assert.equal(await out(store, key, policy), 2);
        assert.equal((await leaseOf(store, newKey(), policy, { wish: 1 })).granted.tokens, 1);
      }
    },
  },
  {
    title: "what was spent of a window stays used, and what was not comes back, once",
    async run({ store }) {
      for (const policy of LEASABLE) {
        const key = newKey();
        const { granted } = await leaseOf(store, key, policy, { wish: 2 });
        const settlements = settlement(granted, 1);
        await leaseOf(store, key, policy, { settlements });
        assert.equal(await remaining(store, key, policy), 9);
        assert.equal(await out(store, key, policy), 0);
        await leaseOf(store, key, policy, { settlements });
        assert.equal(await remaining(store, key, policy), 9);
      }
    },
  },
  {
    title: "a settlement of a lease that a window does not know is ignored, and of one it knows what is out at most",
    async run({ store }) {
      for (const policy of LEASABLE) {
        const key = newKey();
        const { granted } = await leaseOf(store, key, policy, { wish: 2 });
        await leaseOf(store, key, policy, { settlements: [{ id: granted.id - 1, settled: 2, returned: 2 }] });
        assert.equal(await remaining(store, key, policy), 8);
        await leaseOf(store, key, policy, { settlements: [{ id: granted.id, settled: 50, returned: 50 }] });
        assert.equal(await remaining(store, key, policy), 10);
      }
    },
  },
  {
    title: "a refund and a reset leave what is on lease of a window where it is",
    async run({ store }) {
      for (const policy of LEASABLE) {
        const key = newKey();
        await leaseOf(store, key, policy, { wish: 2 }, 1);
        await store.adjust([{ key, policy, tokens: 9 }]);
        assert.equal(await remaining(store, key, policy), 8);
        assert.deepEqual(await take(store, key, policy, runOf(3)), [1]);
        await store.reset([{ key, policy }]);
        assert.equal(await remaining(store, key, policy), 8);
        assert.equal(await out(store, key, policy), 2);
      }
    },
  },
  {
    title: "a window leases nothing where an ask of the call was refused, nor to a wish of 0, nor when it is blocked",
    async run({ store }) {
      for (const policy of LEASABLE) {
        const key = newKey();
        const buckets = [{ key, policy, report: { wish: 4, lifeUs: LIFE_US, demand: 0, weight: 0, settlements: [] } }];
        const reply = await store.take({ buckets, runs: [runOf(1), runOf(11)] });
        assert.deepEqual(reply.served, [1, 0]);
        const [reading] = reply.buckets;
        assert.ok(reading?.kind === "state");
        assert.deepEqual(reading.lease, { id: 0, tokens: 0, contended: false });
        assert.equal((await leaseOf(store, key, policy, {})).granted.tokens, 0);
        await store.block([{ key, policy }], LIFE_US);
        assert.equal((await leaseOf(store, key, policy, { wish: 4 })).granted.tokens, 0);
      }
    },
  },
  {
    title: "a lease ends with its window: the next has nothing on lease, and what is settled of it changes nothing",
    async run({ store, advance }) {
      for (const algorithm of ["fixed-window", "sliding-window-counter"] as const) {
        const key = newKey();
        const policy = policyOf({ name: algorithm, limit: 40, period: 500, algorithm });
        const { granted } = await leaseOf(store, key, policy, { wish: 5, lifeUs: 1000 });
        assert.equal(granted.tokens, 5);
        await advance(510);
        const { reply, state } = await leaseOf(store, key, policy, { settlements: settlement(granted, 5) }, 1);
        assert.deepEqual(reply.served, [1]);
        assert.equal(leasedOfWindow(state), 0);
        if (state.kind === "fixed-window") assert.equal(state.used, 1);
        // A slow machine may have let two windows pass.
        if (state.kind === "sliding-window-counter") assert.ok(state.previous === 5 || state.previous === 0);
      }
    },
  },
  {
    title: "a window with less left of it than a quarter of a lease's life leases nothing",
    async run({ store }) {
      for (const policy of LEASABLE) {
        const lifeUs = 5 * policy.periodUs;
        assert.equal((await leaseOf(store, newKey(), policy, { wish: 2, lifeUs })).granted.tokens, 0);
      }
    },
  },
];

async function leaseOf(
  store: Store,
  key: string,
  policy: Policy,
  given: Partial<LeaseReport>,
  asks = 0,
): Promise<{ granted: LeaseGrant; state: BucketState; reply: TakeReply }> {
  const { lease, state, reply } = await report(store, key, policy, { lifeUs: LIFE_US, ...given }, asks);
  assert.ok(lease !== undefined, "a report of a window is answered");
  return { granted: lease, state, reply };
}

/** Tokens of a window that are out on lease. */
async function out(store: Store, key: string, policy: Policy): Promise<number> {
  return leasedOfWindow((await peek(store, key, policy)).state);
}
