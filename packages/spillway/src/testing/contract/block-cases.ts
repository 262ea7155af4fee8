import assert from "node:assert/strict";
import { blockedUs } from "../../algorithms/block.ts";
import type { Policy } from "../../policy.ts";
import type { Store } from "../../stores/store.ts";
import {
  ALIGNED,
  COUNTER,
  type ContractCase,
  EACH_ALGORITHM,
  FAST,
  LOG,
  lease,
  newKey,
  peek,
  peekTokens,
  remaining,
  runOf,
  SLOW,
  settlement,
  stateOf,
  take,
  WINDOW,
} from "./contract-case.ts";

const HOUR_US = 3_600_000_000;
const YEAR_US = 366 * 24 * HOUR_US;

/** How much longer a bucket says that it is blocked, in us. */
async function blockedFor(store: Store, key: string, policy: Policy): Promise<number> {
  const { state, nowUs } = await peek(store, key, policy);
  return blockedUs(state, nowUs);
}

/** What a block does, and what it leaves alone. */
export const blockCases: readonly ContractCase[] = [
  {
    title: "a blocked bucket serves nobody, whatever the cost, though nothing of it was used",
    async run({ store }) {
      for (const policy of EACH_ALGORITHM) {
        const key = newKey();
        const { buckets, nowUs } = await store.block([{ key, policy }], HOUR_US);
        assert.equal(blockedUs(stateOf(buckets[0]), nowUs), HOUR_US);
        assert.deepEqual(await take(store, key, policy, runOf(1, 3), runOf(0), runOf(10)), [0, 0, 0]);
        const leftUs = await blockedFor(store, key, policy);
        assert.ok(leftUs > 0 && leftUs <= HOUR_US, `blocked for ${leftUs} us`);
      }
    },
  },
  {
    title: "the reply of a refusal says how long the block lasts",
    async run({ store }) {
      for (const policy of EACH_ALGORITHM) {
        const key = newKey();
        await store.block([{ key, policy }], HOUR_US);
        const { buckets, nowUs } = await store.take({
          buckets: [{ key, policy, report: undefined }],
          runs: [runOf(1)],
        });
        const leftUs = blockedUs(stateOf(buckets[0]), nowUs);
        assert.ok(leftUs > 0 && leftUs <= HOUR_US, `blocked for ${leftUs} us`);
      }
    },
  },
  {
    title: "a block holds up what it finds: refusals take nothing, and 0 ends it",
    async run({ store }) {
      for (const policy of EACH_ALGORITHM) {
        const key = newKey();
        await take(store, key, policy, runOf(1), runOf(2), runOf(1));
        await store.block([{ key, policy }], YEAR_US);
        await take(store, key, policy, runOf(1, 5));
        await store.block([{ key, policy }], 0);
        assert.equal(await blockedFor(store, key, policy), 0);
        assert.equal(await remaining(store, key, policy), 6);
        assert.deepEqual(await take(store, key, policy, runOf(6), runOf(1)), [1, 0]);
      }
    },
  },
  {
    title: "a block ends by itself",
    async run({ store, advance }) {
      const keys = EACH_ALGORITHM.map(newKey);
      for (const [i, policy] of EACH_ALGORITHM.entries()) {
        const key = keys[i] as string;
        await take(store, key, policy, runOf(4));
        await store.block([{ key, policy }], 500_000);
        assert.deepEqual(await take(store, key, policy, runOf(1)), [0]);
      }
      await advance(501);
      for (const [i, policy] of EACH_ALGORITHM.entries()) {
        const key = keys[i] as string;
        assert.equal(await blockedFor(store, key, policy), 0);
        assert.deepEqual(await take(store, key, policy, runOf(6), runOf(1)), [1, 0]);
      }
    },
  },
  {
    title: "a block outlives the bucket that it stands before",
    async run({ store, advance }) {
      const key = newKey();
      await store.block([{ key, policy: FAST }], HOUR_US);
      await advance(60);
      assert.deepEqual(await take(store, key, FAST, runOf(1)), [0]);
    },
  },
  {
    title: "a block takes the place of the one that there is, a longer one too",
    async run({ store }) {
      for (const policy of EACH_ALGORITHM) {
        const key = newKey();
        await store.block([{ key, policy }], HOUR_US);
        await store.block([{ key, policy }], YEAR_US);
        assert.ok((await blockedFor(store, key, policy)) > HOUR_US);
        await store.block([{ key, policy }], HOUR_US);
        assert.ok((await blockedFor(store, key, policy)) <= HOUR_US);
      }
    },
  },
  {
    title: "refunds and penalties reach a blocked bucket, and a reset ends the block",
    async run({ store }) {
      for (const policy of EACH_ALGORITHM) {
        const key = newKey();
        await take(store, key, policy, runOf(4), runOf(2));
        await store.block([{ key, policy }], HOUR_US);
        await store.adjust([{ key, policy, tokens: 3 }]);
        const { buckets, nowUs } = await store.adjust([{ key, policy, tokens: -1 }]);
        assert.ok(blockedUs(stateOf(buckets[0]), nowUs) > 0);
        await store.block([{ key, policy }], 0);
        assert.equal(await remaining(store, key, policy), 6);
        await store.block([{ key, policy }], HOUR_US);
        await store.reset([{ key, policy }]);
        assert.equal(await blockedFor(store, key, policy), 0);
        assert.deepEqual(await take(store, key, policy, runOf(10)), [1]);
      }
    },
  },
  {
    title: "one blocked bucket refuses an ask on several, and takes nothing of the others",
    async run({ store }) {
      const key = newKey();
      for (const policy of [WINDOW, ALIGNED, COUNTER, LOG]) {
        await store.block([{ key, policy }], HOUR_US);
        const reply = await store.take({
          buckets: [SLOW, policy].map((one) => ({ key, policy: one, report: undefined })),
          runs: [0, 1].map((cost) => ({
            count: 1,
            charges: [
              { bucket: 0, cost: 1 },
              { bucket: 1, cost },
            ],
          })),
        });
        assert.deepEqual(reply.served, [0, 0]);
      }
      assert.equal(await remaining(store, key, SLOW), 10);
    },
  },
  {
    title: "of a call about several buckets only the blocked one refuses",
    async run({ store }) {
      const key = newKey();
      await store.block([{ key, policy: SLOW }], HOUR_US);
      const reply = await store.take({
        buckets: [SLOW, FAST].map((policy) => ({ key, policy, report: undefined })),
        runs: [0, 1].map((bucket) => ({ count: 2, charges: [{ bucket, cost: 1 }] })),
      });
      assert.deepEqual(reply.served, [0, 2]);
    },
  },
  {
    title: "nothing of a blocked bucket is leased, and what is out on lease comes back to it",
    async run({ store }) {
      const key = newKey();
      const granted = await lease(store, key, SLOW, { wish: 4, demand: 4, weight: 4 });
      assert.equal(granted.lease.tokens, 4);
      await store.block([{ key, policy: SLOW }], HOUR_US);
      const settlements = settlement(granted.lease, 3);
      const told = await lease(store, key, SLOW, { wish: 4, demand: 4, weight: 4, settlements });
      assert.equal(told.lease.tokens, 0);
      await store.block([{ key, policy: SLOW }], 0);
      const { older, newer } = await peekTokens(store, key, SLOW);
      assert.equal(older.tokens + newer.tokens, 0);
      assert.equal(await remaining(store, key, SLOW), 9);
    },
  },
];
