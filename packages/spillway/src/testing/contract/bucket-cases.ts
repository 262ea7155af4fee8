import assert from "node:assert/strict";
import { algorithmOf } from "../../algorithms/bucket.ts";
import {
  ALIGNED,
  type ContractCase,
  EACH_ALGORITHM,
  FAST,
  newKey,
  peek,
  policyOf,
  remaining,
  runOf,
  SLOW,
  take,
} from "./contract-case.ts";

/** How buckets begin, live in time, and follow their policy. */
export const bucketCases: readonly ContractCase[] = [
  {
    title: "a bucket that nobody has used is full",
    async run({ store }) {
      for (const policy of EACH_ALGORITHM) {
        const { state, nowUs } = await peek(store, newKey(), policy);
        const algorithm = algorithmOf(policy.shape);
        assert.equal(algorithm.remaining(state, policy.shape), 10);
        assert.equal(algorithm.waitUs(state, policy.shape, 10, nowUs), 0);
      }
    },
  },
  {
    title: "a peek changes nothing",
    async run({ store }) {
      for (const policy of EACH_ALGORITHM) {
        const key = newKey();
        await take(store, key, policy, runOf(3));
        for (let i = 0; i < 3; i++) assert.equal(await remaining(store, key, policy), 7);
        assert.deepEqual(await take(store, key, policy, runOf(1, 8)), [7]);
      }
    },
  },
  {
    title: "the time of replies is in microseconds since 1970 and moves forward",
    async run({ store, advance }) {
      const key = newKey();
      const first = (await peek(store, key, SLOW)).nowUs;
      assert.ok(Number.isSafeInteger(first) && first > 1.5e15, `${first} is no time in microseconds`);
      let lastUs = first;
      for (let i = 0; i < 20; i++) {
        const { nowUs } = await store.take({ buckets: [{ key, policy: SLOW, report: undefined }], runs: [] });
        assert.ok(nowUs >= lastUs, `${nowUs} came after ${lastUs}`);
        lastUs = nowUs;
      }
      await advance(20);
      const passedUs = (await peek(store, key, SLOW)).nowUs - lastUs;
      assert.ok(passedUs >= 19_000, `20 ms passed, ${passedUs} us of them in the store`);
    },
  },
  {
    title: "a token bucket refills at its rate, and no further than its burst",
    async run({ store, advance }) {
      const key = newKey();
      const policy = policyOf({ name: "twenty", limit: 20, period: "1s", burst: 2 });
      assert.deepEqual(await take(store, key, policy, runOf(1, 3)), [2]);
      await advance(60);
      assert.ok((await remaining(store, key, policy)) >= 1, "a token comes each 50 ms");
      await advance(200);
      assert.equal(await remaining(store, key, policy), 2);
    },
  },
  {
    title: "a fixed window counts from its first request and starts afresh when it ends",
    async run({ store, advance }) {
      const key = newKey();
      const policy = policyOf({ name: "short", limit: 2, period: 200, algorithm: "fixed-window" });
      await take(store, key, policy, runOf(1));
      const { state, nowUs } = await peek(store, key, policy);
      assert.ok(state.kind === "fixed-window" && state.startUs <= nowUs && state.startUs > nowUs - 200_000);
      await advance(210);
      assert.deepEqual(await take(store, key, policy, runOf(1, 3)), [2]);
    },
  },
  {
    title: "an aligned fixed window starts at a multiple of its period since 1970",
    async run({ store }) {
      const key = newKey();
      await take(store, key, ALIGNED, runOf(1));
      const { state, nowUs } = await peek(store, key, ALIGNED);
      assert.ok(state.kind === "fixed-window");
      assert.equal(state.startUs % ALIGNED.periodUs, 0);
      assert.ok(state.startUs <= nowUs && nowUs < state.startUs + ALIGNED.periodUs);
    },
  },
  {
    title: "two policies of one name and algorithm share their buckets",
    async run({ store }) {
      for (const policy of EACH_ALGORITHM) {
        const key = newKey();
        await take(store, key, policy, runOf(4));
        assert.equal(await remaining(store, key, { ...policy }), 6);
      }
    },
  },
  {
    title: "policies of other names, ways of counting and keys do not",
    async run({ store }) {
      const key = newKey();
      await take(store, key, SLOW, runOf(4));
      assert.equal(await remaining(store, key, policyOf({ name: "other", limit: 10, period: "1h" })), 10);
      const window = policyOf({ name: SLOW.name, limit: 10, period: "1h", algorithm: "fixed-window" });
      assert.equal(await remaining(store, key, window), 10);
      assert.equal(await remaining(store, newKey(), SLOW), 10);
    },
  },
  {
    title: "a higher burst adds nothing to a token bucket at once, and a lower one cuts it",
    async run({ store }) {
      const key = newKey();
      await take(store, key, SLOW, runOf(4));
      assert.equal(await remaining(store, key, policyOf({ name: SLOW.name, limit: 1000, period: "10d" })), 6);
      const low = policyOf({ name: SLOW.name, limit: 3, period: "1h" });
      assert.equal(await remaining(store, key, low), 3);
      assert.deepEqual(await take(store, key, low, runOf(1, 4)), [3]);
      assert.equal(await remaining(store, key, SLOW), 0);
    },
  },
  {
    title: "old and new numbers of a policy can alternate without a token too many",
    async run({ store }) {
      const key = newKey();
      const other = policyOf({ name: SLOW.name, limit: 7, period: "49m", burst: 12 });
      let served = 0;
      for (let i = 0; i < 20; i++) served += (await take(store, key, i % 2 ? SLOW : other, runOf(1)))[0] ?? 0;
      assert.ok(served <= 12, `${served} were served`);
      assert.ok(served >= 10, `${served} were served`);
    },
  },
  {
    title: "a policy with the largest numbers is counted",
    async run({ store }) {
      const key = newKey();
      const policy = policyOf({ name: "vast", limit: 1e12, period: "366d" });
      assert.deepEqual(await take(store, key, policy, runOf(1e12), runOf(1e12)), [1, 0]);
      assert.deepEqual(await take(store, key, policy, runOf(Number.MAX_SAFE_INTEGER)), [0]);
    },
  },
  {
    title: "a refill of less than a token is not lost between calls",
    async run({ store, advance }) {
      const key = newKey();
      const policy = policyOf({ name: "slowish", limit: 10, period: "1s", burst: 1 });
      await take(store, key, policy, runOf(1));
      for (let i = 0; i < 12; i++) {
        await advance(10);
        await store.take({ buckets: [{ key, policy, report: undefined }], runs: [] });
      }
      assert.equal(await remaining(store, key, policy), 1);
    },
  },
  {
    title: "close() can be called twice",
    async run({ store }) {
      await take(store, newKey(), FAST, runOf(1));
      await store.close();
      await store.close();
    },
  },
];
