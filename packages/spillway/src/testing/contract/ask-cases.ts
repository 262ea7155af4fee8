import assert from "node:assert/strict";
import { advance, algorithmOf, type BucketState, copyOf } from "../../algorithms/bucket.ts";
import {
  type ContractCase,
  EACH_ALGORITHM,
  keysOfOneGroup,
  newKey,
  policyOf,
  remaining,
  runOf,
  SLOW,
  stateOf,
  take,
  WINDOW,
} from "./contract-case.ts";

/** Refills a hundred times a second, so that it has changed when it is looked at again, and is not full. */
const QUICK = policyOf({ name: "quick", limit: 100, period: "1s", burst: 20 });

const unreported = (key: string, policy: typeof SLOW): { key: string; policy: typeof SLOW; report: undefined } => ({
  key,
  policy,
  report: undefined,
});

/** How asks are served. */
export const askCases: readonly ContractCase[] = [
  {
    title: "asks are served in order, each whole or not at all",
    async run({ store }) {
      for (const policy of EACH_ALGORITHM) {
        const key = newKey();
        assert.deepEqual(await take(store, key, policy, runOf(2, 3), runOf(5), runOf(1, 6)), [3, 0, 4]);
        assert.equal(await remaining(store, key, policy), 0);
      }
    },
  },
  {
    title: "of a run of equal asks the first ones are served, as many as fit",
    async run({ store }) {
      for (const policy of EACH_ALGORITHM) {
        assert.deepEqual(await take(store, newKey(), policy, runOf(3, 1000), runOf(1, 1000)), [3, 1]);
      }
    },
  },
  {
    title: "a refused ask takes nothing",
    async run({ store }) {
      for (const policy of EACH_ALGORITHM) {
        const key = newKey();
        await take(store, key, policy, runOf(4));
        for (let i = 0; i < 3; i++) assert.deepEqual(await take(store, key, policy, runOf(7, 2)), [0]);
        assert.equal(await remaining(store, key, policy), 6);
      }
    },
  },
  {
    title: "an ask that exceeds the capacity is refused, one that equals it is served",
    async run({ store }) {
      for (const policy of EACH_ALGORITHM) {
        assert.deepEqual(await take(store, newKey(), policy, runOf(11), runOf(10)), [0, 1]);
      }
    },
  },
  {
    title: "an ask of cost 0 is served on an empty bucket and changes nothing",
    async run({ store }) {
      for (const policy of EACH_ALGORITHM) {
        const key = newKey();
        await take(store, key, policy, runOf(10));
        assert.deepEqual(await take(store, key, policy, runOf(0, 3), runOf(1)), [3, 0]);
        assert.equal(await remaining(store, key, policy), 0);
      }
    },
  },
  {
    title: "an ask on several buckets is served on all of them or on none",
    async run({ store }) {
      const key = newKey();
      await take(store, key, WINDOW, runOf(8));
      const buckets = [unreported(key, SLOW), unreported(key, WINDOW)];
      const charges = [
        { bucket: 0, cost: 1 },
        { bucket: 1, cost: 1 },
      ];
      const { served } = await store.take({ buckets, runs: [{ count: 5, charges }] });
      assert.deepEqual(served, [2]);
      assert.equal(await remaining(store, key, SLOW), 8);
      assert.equal(await remaining(store, key, WINDOW), 0);
    },
  },
  {
    title: "costs may differ by bucket, and a bucket without a charge is left alone",
    async run({ store }) {
      const key = newKey();
      const buckets = [unreported(key, SLOW), unreported(key, WINDOW)];
      const both = [
        { bucket: 0, cost: 4 },
        { bucket: 1, cost: 1 },
      ];
      const runs = [
        { count: 3, charges: both },
        { count: 1, charges: [{ bucket: 1, cost: 3 }] },
      ];
      assert.deepEqual((await store.take({ buckets, runs })).served, [2, 1]);
      assert.equal(await remaining(store, key, SLOW), 2);
      assert.equal(await remaining(store, key, WINDOW), 5);
    },
  },
  {
    title: "an ask without a charge is served",
    async run({ store }) {
      for (const policy of EACH_ALGORITHM) {
        const key = newKey();
        await take(store, key, policy, runOf(10));
        const free = { count: 2, charges: [] };
        assert.deepEqual(await take(store, key, policy, free), [2]);
        assert.deepEqual(await take(store, key, policy, free, free), [2, 2]);
        assert.deepEqual(await take(store, key, policy, free, runOf(1), free), [2, 0, 2]);
      }
    },
  },
  {
    title: "a call without asks tells how buckets stand and takes nothing",
    async run({ store }) {
      for (const policy of EACH_ALGORITHM) {
        const key = newKey();
        assert.deepEqual(await take(store, key, policy), []);
        assert.equal(await remaining(store, key, policy), 10);
      }
    },
  },
  {
    title: "keys of one call do not meet: what one refuses, another serves",
    async run({ store }) {
      const [empty, full] = keysOfOneGroup(store, 2) as [string, string];
      await take(store, empty, SLOW, runOf(10));
      const buckets = [unreported(empty, SLOW), unreported(full, SLOW)];
      const runs = [0, 1].map((bucket) => ({ count: 2, charges: [{ bucket, cost: 1 }] }));
      const reply = await store.take({ buckets, runs });
      assert.deepEqual(reply.served, [0, 2]);
      assert.deepEqual(
        reply.buckets.map((reading) => stateOf(reading).kind),
        ["token-bucket", "token-bucket"],
      );
      assert.equal(await remaining(store, full, SLOW), 8);
    },
  },
  {
    title: "replies give readings in the order of the call's buckets, whatever their kind",
    async run({ store }) {
      const key = newKey();
      await take(store, key, WINDOW, runOf(3));
      const reply = await store.peek([WINDOW, SLOW].map((policy) => ({ key, policy })));
      const kinds = reply.buckets.map((reading) => stateOf(reading).kind);
      assert.deepEqual(kinds, ["fixed-window", "token-bucket"]);
    },
  },
  {
    title: "calls at the same time serve no more than there is",
    async run({ store }) {
      for (const policy of EACH_ALGORITHM) {
        const key = newKey();
        const replies = await Promise.all(Array.from({ length: 50 }, () => take(store, key, policy, runOf(1))));
        assert.equal(replies.flat().filter((served) => served === 1).length, 10);
      }
    },
  },
  {
    title: "a refusal by one policy leaves the others' level, brought to the same instant, as it was",
    async run({ store, advance: pass }) {
      for (const refusing of EACH_ALGORITHM) {
        const key = newKey();
        const others = [...EACH_ALGORITHM, QUICK].filter((policy) => policy !== refusing);
        await take(store, key, refusing, runOf(10));
        const charges = others.map((_, bucket) => ({ bucket, cost: 7 }));
        const buckets = others.map((policy) => unreported(key, policy));
        const before = await store.take({ buckets, runs: [{ count: 1, charges }] });
        assert.deepEqual(before.served, [1]);
        await pass(3);
        const all = [...buckets, unreported(key, refusing)];
        const refused = { count: 2, charges: all.map((_, bucket) => ({ bucket, cost: 1 })) };
        const after = await store.take({ buckets: all, runs: [refused] });
        assert.deepEqual(after.served, [0]);
        for (const [i, { shape, name }] of others.entries()) {
          const state = copyOf(stateOf(before.buckets[i]));
          advance(state, shape, after.nowUs);
          const found = stateOf(after.buckets[i]);
          const stands = (one: BucketState): unknown => [
            algorithmOf(shape).remaining(one, shape),
            algorithmOf(shape).waitUs(one, shape, 10, after.nowUs),
            one.kind === "token-bucket" ? one.level : 0,
          ];
          assert.deepEqual(stands(found), stands(state), `${name} beside ${refusing.name}`);
        }
      }
    },
  },
  {
    title: "a reply is a snapshot: later calls do not change it",
    async run({ store }) {
      for (const policy of EACH_ALGORITHM) {
        const key = newKey();
        const reply = await store.take({ buckets: [unreported(key, policy)], runs: [runOf(1)] });
        const before = JSON.stringify(reply);
        await take(store, key, policy, runOf(5));
        await store.reset([{ key, policy }]);
        assert.equal(JSON.stringify(reply), before);
      }
    },
  },
  {
    title: "takeNow() decides as take() does, on the same buckets",
    needs: "take-now",
    async run({ store }) {
      assert.ok(store.takeNow !== undefined, 'the store has no takeNow: name "take-now" in skips, with the reason');
      for (const policy of EACH_ALGORITHM) {
        const key = newKey();
        const call = { buckets: [unreported(key, policy)], runs: [runOf(2, 3), runOf(5), runOf(1, 6)] };
        assert.deepEqual(store.takeNow(call).served, [3, 0, 4]);
        assert.equal(await remaining(store, key, policy), 0);
        assert.deepEqual((await store.take(call)).served, [0, 0, 0]);
      }
    },
  },
];
