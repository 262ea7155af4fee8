import assert from "node:assert/strict";
import { algorithmOf, type BucketState } from "../../algorithms/bucket.ts";
import type { Policy } from "../../policy.ts";
import type { AskRun, Store } from "../../stores/store.ts";
import {
  COUNTER,
  type ContractCase,
  EACH_ALGORITHM,
  LOG,
  newKey,
  peek,
  policyOf,
  remaining,
  runOf,
  SLOW,
  stateOf,
  take,
  WINDOW,
} from "./contract-case.ts";

/** One call about one bucket, with the time of the reply and how the bucket then stood. */
async function ask(
  store: Store,
  key: string,
  policy: Policy,
  ...runs: AskRun[]
): Promise<{ readonly nowUs: number; readonly state: BucketState; readonly served: readonly number[] }> {
  const { nowUs, buckets, served } = await store.take({ buckets: [{ key, policy, report: undefined }], runs });
  return { nowUs, state: stateOf(buckets[0]), served };
}

/** When a cost fits, by what a reply told. */
function fitsAtUs({ nowUs, state }: { nowUs: number; state: BucketState }, { shape }: Policy, cost: number): number {
  return nowUs + algorithmOf(shape).waitUs(state, shape, cost, nowUs);
}

/** How windows slide, and what is told of them. */
export const windowCases: readonly ContractCase[] = [
  {
    title:
      "a sliding window log has in no period more than its limit, and lets go of each token when it is a period old",
    async run({ store, advance }) {
      const key = newKey();
      const policy = policyOf({ name: "sliding", limit: 3, period: 400, algorithm: "sliding-window-log" });
      const taken: number[] = [];
      const times: number[] = [];
      for (let i = 0; i < 40 && taken.length < 9; i++) {
        const { nowUs, served } = await ask(store, key, policy, runOf(1));
        const within = taken.filter((us) => us > nowUs - 400_000).length;
        assert.equal(served[0], within < 3 ? 1 : 0, `${within} of 3 at ${nowUs} after ${taken.join()}`);
        if (served[0] === 1) taken.push(nowUs);
        times.push(nowUs);
        await advance(45);
      }
      assert.ok(times.length > taken.length, "nothing was refused");
    },
  },
  {
    title: "a sliding window counter counts the window before by the part of it that is not yet a period old",
    async run({ store, advance }) {
      const key = newKey();
      const policy = policyOf({ name: "sliding", limit: 100, period: 1000, algorithm: "sliding-window-counter" });
      const first = await ask(store, key, policy, runOf(100));
      assert.deepEqual(first.served, [1]);
      await advance(1100);
      const { nowUs, served, state } = await ask(store, key, policy, runOf(1, 1000));
      assert.ok(state.kind === "sliding-window-counter");
      const startUs = first.nowUs + 1_000_000;
      if (nowUs >= startUs + 1_000_000) return; // A machine that woke up so late has nothing to show.
      assert.equal(state.startUs, startUs);
      assert.equal(served[0], 100 - Math.ceil((100 * (startUs + 1_000_000 - nowUs)) / 1_000_000));
    },
  },
  {
    title: "a refused ask leaves a window as it is",
    async run({ store, advance }) {
      for (const policy of [WINDOW, COUNTER, LOG]) {
        const key = newKey();
        await take(store, key, policy, runOf(7));
        await advance(2);
        await take(store, key, policy, runOf(3));
        const before = await peek(store, key, policy);
        await advance(2);
        assert.deepEqual(await take(store, key, policy, runOf(1), runOf(10)), [0, 0]);
        const after = await peek(store, key, policy);
        for (const cost of [1, 10]) assert.equal(fitsAtUs(after, policy, cost), fitsAtUs(before, policy, cost));
      }
    },
  },
  {
    title: "a higher limit of a window counts at once, and what was used stays used",
    async run({ store }) {
      for (const policy of [WINDOW, COUNTER, LOG]) {
        const key = newKey();
        const { name, algorithm } = policy;
        await take(store, key, policy, runOf(10));
        const high = policyOf({ name, limit: 15, period: "1h", algorithm });
        assert.deepEqual(await take(store, key, high, runOf(1, 6)), [5]);
        assert.equal(await remaining(store, key, policy), 0);
      }
    },
  },
  {
    title: "old and new limits of a window can alternate without a token too many",
    async run({ store }) {
      for (const { name, algorithm } of [WINDOW, COUNTER, LOG]) {
        const key = newKey();
        const policies = [7, 12].map((limit) => policyOf({ name, limit, period: "1h", algorithm }));
        let served = 0;
        for (let i = 0; i < 30; i++) served += (await take(store, key, policies[i % 2] as Policy, runOf(1)))[0] ?? 0;
        assert.equal(served, 12);
      }
    },
  },
  {
    title: "a log under two periods keeps to both, whichever of them the calls come under",
    async run({ store, advance }) {
      const key = newKey();
      const [long, short] = [
        policyOf({ name: "two", limit: 6, period: "1h", algorithm: "sliding-window-log" }),
        policyOf({ name: "two", limit: 2, period: 40, algorithm: "sliding-window-log" }),
      ];
      let served = 0;
      for (let i = 0; i < 6; i++) {
        const now = (await take(store, key, short, runOf(1, 3)))[0] ?? 0;
        assert.ok(now <= 2);
        served += now + ((await take(store, key, long, runOf(1)))[0] ?? 0);
        if (served >= 6) break;
        await advance(50);
      }
      assert.deepEqual(await take(store, key, long, runOf(1)), [0]);
      assert.equal(await remaining(store, key, long), 0);
    },
  },
  {
    title: "each cost that is refused is told when it fits, and who comes then is served",
    async run({ store, advance }) {
      for (const policy of EACH_ALGORITHM) {
        const key = newKey();
        const times: number[] = [];
        for (let i = 0; i < 8; i++) {
          times.push((await ask(store, key, policy, runOf(1))).nowUs);
          await advance(2);
        }
        const reply = await ask(store, key, policy, runOf(3), runOf(5), runOf(4, 2), runOf(11));
        assert.deepEqual(reply.served, [0, 0, 0, 0]);
        const told = [1, 2, 3, 4, 5].map((cost) => fitsAtUs(reply, policy, cost));
        assert.deepEqual(
          told,
          [...told].sort((a, b) => a - b),
        );
        assert.deepEqual([told[0], told[1]], [reply.nowUs, reply.nowUs]);
        assert.ok((told[2] as number) > reply.nowUs);
        assert.equal(fitsAtUs(reply, policy, 11), Number.POSITIVE_INFINITY);
        if (policy !== LOG) continue;
        const ends = [0, 1, 2].map((i) => (times[i] as number) + policy.periodUs);
        assert.deepEqual(told.slice(2), ends);
      }
      const key = newKey();
      const brief = policyOf({ name: "brief", limit: 2, period: 60, algorithm: "sliding-window-log" });
      await ask(store, key, brief, runOf(1));
      await advance(10);
      await ask(store, key, brief, runOf(1));
      const refused = await ask(store, key, brief, runOf(2));
      await advance((fitsAtUs(refused, brief, 2) - refused.nowUs) / 1000);
      assert.deepEqual((await ask(store, key, brief, runOf(2))).served, [1]);
    },
  },
  {
    title: "a reply about a log is short, however much the log holds",
    async run({ store, advance }) {
      const key = newKey();
      const policy = policyOf({ name: "large", limit: 1000, period: "1h", algorithm: "sliding-window-log" });
      for (let i = 0; i < 30; i++) {
        await ask(store, key, policy, runOf(1, 3));
        await advance(1);
      }
      const { state } = await ask(store, key, policy, runOf(950));
      assert.ok(state.kind === "sliding-window-log");
      assert.equal(state.used, 90);
      assert.ok(state.times.length <= 6, `${state.times.length} entries`);
      assert.equal(await remaining(store, key, policy), 910);
    },
  },
  {
    title: "policies of every way of counting are charged together or not at all",
    async run({ store }) {
      const key = newKey();
      const buckets = EACH_ALGORITHM.map((policy) => ({ key, policy, report: undefined }));
      const charges = buckets.map((_, bucket) => ({ bucket, cost: 1 + (bucket % 3) }));
      const { served } = await store.take({ buckets, runs: [{ count: 10, charges }] });
      assert.deepEqual(served, [3]);
      for (const [i, policy] of EACH_ALGORITHM.entries())
        assert.equal(await remaining(store, key, policy), 10 - 3 * (1 + (i % 3)));
      await take(store, key, LOG, runOf(await remaining(store, key, LOG)));
      assert.deepEqual((await store.take({ buckets, runs: [{ count: 1, charges }] })).served, [0]);
      assert.equal(await remaining(store, key, SLOW), 7);
    },
  },
];
