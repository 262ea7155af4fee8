import assert from "node:assert/strict";
import { isSpillwayError } from "../../errors.ts";
import type { BucketAddress } from "../../stores/store.ts";
import type { StoreUnderTest } from "../store-contract.ts";
import {
  type ContractCase,
  EACH_ALGORITHM,
  keysOfOneGroup,
  newKey,
  remaining,
  runOf,
  SLOW,
  take,
  WINDOW,
} from "./contract-case.ts";

async function spoil({ putForeignValue }: StoreUnderTest, address: BucketAddress): Promise<void> {
  assert.ok(putForeignValue !== undefined, 'name "foreign-values" in skips, with the reason, or give putForeignValue');
  await putForeignValue(address);
}

/** What happens where a bucket cannot be read. */
export const faultCases: readonly ContractCase[] = [
  {
    title: "a bucket that cannot be read is a fault of its own, with an error that names it",
    needs: "foreign-values",
    async run(subject) {
      const { store } = subject;
      for (const policy of EACH_ALGORITHM) {
        const key = newKey();
        await spoil(subject, { key, policy });
        const buckets = [{ key, policy, report: undefined }];
        for (const reply of [await store.take({ buckets, runs: [runOf(1, 2)] }), await store.peek([{ key, policy }])]) {
          const reading = reply.buckets[0];
          assert.ok(reading?.kind === "fault");
          assert.ok(isSpillwayError(reading.error));
          assert.equal(reading.error.code, "ERR_SPILLWAY_BUCKET_UNREADABLE");
          assert.ok(reading.error.message.includes(key), reading.error.message);
        }
        const adjusted = await store.adjust([{ key, policy, tokens: 1 }]);
        assert.equal(adjusted.buckets[0]?.kind, "fault");
      }
    },
  },
  {
    title: "an ask on a bucket that cannot be read is not served, and takes nothing from its other buckets",
    needs: "foreign-values",
    async run(subject) {
      const { store } = subject;
      const key = newKey();
      await spoil(subject, { key, policy: WINDOW });
      const buckets = [SLOW, WINDOW].map((policy) => ({ key, policy, report: undefined }));
      const charges = [0, 1].map((bucket) => ({ bucket, cost: 1 }));
      const reply = await store.take({ buckets, runs: [{ count: 2, charges }] });
      assert.deepEqual(reply.served, [0]);
      assert.deepEqual(
        reply.buckets.map(({ kind }) => kind),
        ["state", "fault"],
      );
      assert.equal(await remaining(store, key, SLOW), 10);
    },
  },
  {
    title: "other keys of the call are served as if nothing were wrong",
    needs: "foreign-values",
    async run(subject) {
      const { store } = subject;
      const [spoilt, sound] = keysOfOneGroup(store, 2) as [string, string];
      await spoil(subject, { key: spoilt, policy: SLOW });
      const buckets = [spoilt, sound].map((key) => ({ key, policy: SLOW, report: undefined }));
      const runs = [0, 1].map((bucket) => ({ count: 1, charges: [{ bucket, cost: 3 }] }));
      assert.deepEqual((await store.take({ buckets, runs })).served, [0, 1]);
      assert.equal(await remaining(store, sound, SLOW), 7);
    },
  },
  {
    title: "a reset heals a bucket that cannot be read",
    needs: "foreign-values",
    async run(subject) {
      const { store } = subject;
      for (const policy of EACH_ALGORITHM) {
        const key = newKey();
        await spoil(subject, { key, policy });
        await store.reset([{ key, policy }]);
        assert.equal(await remaining(store, key, policy), 10);
        assert.deepEqual(await take(store, key, policy, runOf(4, 3)), [2]);
      }
    },
  },
];
