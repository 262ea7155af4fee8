import assert from "node:assert/strict";
import { algorithmOf } from "../../algorithms/bucket.ts";
import {
  type ContractCase,
  EACH_ALGORITHM,
  lease,
  newKey,
  peek,
  peekTokens,
  remaining,
  runOf,
  SLOW,
  stateOf,
  take,
  WINDOW,
} from "./contract-case.ts";

/** What is done to buckets apart from asks. */
export const adjustCases: readonly ContractCase[] = [
  {
    title: "a refund gives tokens back, and never above full",
    async run({ store }) {
      for (const policy of EACH_ALGORITHM) {
        const key = newKey();
        await take(store, key, policy, runOf(6));
        await store.adjust([{ key, policy, tokens: 2 }]);
        assert.equal(await remaining(store, key, policy), 6);
        const reply = await store.adjust([{ key, policy, tokens: 1000 }]);
        assert.equal(algorithmOf(policy.shape).remaining(stateOf(reply.buckets[0]), policy.shape), 10);
        assert.equal(await remaining(store, key, policy), 10);
      }
    },
  },
  {
    title: "a refund of a bucket that nobody has used leaves it full",
    async run({ store }) {
      for (const policy of EACH_ALGORITHM) {
        const key = newKey();
        await store.adjust([{ key, policy, tokens: 5 }]);
        assert.equal(await remaining(store, key, policy), 10);
      }
    },
  },
  {
    title: "a penalty takes more than there is, one capacity deep at most",
    async run({ store }) {
      for (const policy of EACH_ALGORITHM) {
        const key = newKey();
        await take(store, key, policy, runOf(8));
        await store.adjust([{ key, policy, tokens: -6 }]);
        assert.equal(await remaining(store, key, policy), 0);
        await store.adjust([{ key, policy, tokens: 5 }]);
        assert.equal(await remaining(store, key, policy), 1, "4 tokens of debt, 5 given back");
        await store.adjust([{ key, policy, tokens: -1000 }]);
        await store.adjust([{ key, policy, tokens: 15 }]);
        assert.equal(await remaining(store, key, policy), 5, "10 tokens of debt, 15 given back");
      }
    },
  },
  {
    title: "a bucket in debt serves nothing but cost 0",
    async run({ store }) {
      for (const policy of EACH_ALGORITHM) {
        const key = newKey();
        await store.adjust([{ key, policy, tokens: -15 }]);
        assert.deepEqual(await take(store, key, policy, runOf(1), runOf(0)), [0, 1]);
      }
    },
  },
  {
    title: "several buckets are adjusted in one call",
    async run({ store }) {
      const key = newKey();
      const reply = await store.adjust([
        { key, policy: SLOW, tokens: -3 },
        { key, policy: WINDOW, tokens: -4 },
      ]);
      assert.equal(reply.buckets.length, 2);
      assert.equal(await remaining(store, key, SLOW), 7);
      assert.equal(await remaining(store, key, WINDOW), 6);
    },
  },
  {
    title: "a reset makes a bucket full, from debt too",
    async run({ store }) {
      for (const policy of EACH_ALGORITHM) {
        const key = newKey();
        await take(store, key, policy, runOf(7));
        await store.reset([{ key, policy }]);
        assert.equal(await remaining(store, key, policy), 10);
        await store.adjust([{ key, policy, tokens: -15 }]);
        await store.reset([{ key, policy }]);
        assert.equal(await remaining(store, key, policy), 10);
      }
    },
  },
  {
    title: "a reset touches only the buckets that it names",
    async run({ store }) {
      const key = newKey();
      await take(store, key, SLOW, runOf(3));
      await take(store, key, WINDOW, runOf(3));
      await store.reset([{ key, policy: SLOW }]);
      assert.equal(await remaining(store, key, SLOW), 10);
      assert.equal(await remaining(store, key, WINDOW), 7);
    },
  },
  {
    title: "a reset of a bucket that nobody has used leaves it full",
    async run({ store }) {
      for (const policy of EACH_ALGORITHM) {
        const key = newKey();
        await store.reset([{ key, policy }]);
        assert.equal(await remaining(store, key, policy), 10);
      }
    },
  },
  {
    title: "a reset leaves tokens that are out on lease where they are",
    async run({ store }) {
      const key = newKey();
      await take(store, key, SLOW, runOf(2));
      const granted = await lease(store, key, SLOW, { wish: 3, demand: 3, weight: 3 });
      assert.equal(granted.lease.tokens, 3);
      await store.reset([{ key, policy: SLOW }]);
      const state = await peekTokens(store, key, SLOW);
      assert.equal(state.older.tokens + state.newer.tokens, 3);
      assert.equal(await remaining(store, key, SLOW), 7);
    },
  },
  {
    title: "a refund does not fill the room of tokens that are out on lease",
    async run({ store }) {
      const key = newKey();
      await lease(store, key, SLOW, { wish: 4, demand: 4, weight: 4 });
      await store.adjust([{ key, policy: SLOW, tokens: 100 }]);
      assert.equal(await remaining(store, key, SLOW), 6);
      const { state } = await peek(store, key, SLOW);
      assert.ok(state.kind === "token-bucket" && state.newer.tokens === 4);
    },
  },
];
