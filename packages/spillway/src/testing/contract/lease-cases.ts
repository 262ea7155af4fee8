import assert from "node:assert/strict";
import { escrowed } from "../../algorithms/token-bucket.ts";
import {
  type ContractCase,
  FAST,
  LOG,
  lease,
  newKey,
  peekTokens,
  remaining,
  report,
  reportOf,
  runOf,
  SLOW,
  settlement,
  take,
} from "./contract-case.ts";

const LIFE_US = 10_000_000;

/** Tokens that leave the store to be spent elsewhere. */
export const leaseCases: readonly ContractCase[] = [
  {
    title: "a wish is granted from the level, half of it at most, and stands in the escrow for its life",
    async run({ store }) {
      const key = newKey();
      const granted = await lease(store, key, SLOW, { wish: 4, demand: 4, weight: 4 });
      assert.equal(granted.lease.tokens, 4);
      assert.ok(granted.lease.id > 0);
      assert.equal(granted.lease.contended, false);
      assert.equal(granted.state.newer.tokens, 4);
      assert.ok(granted.state.newer.deathUs >= granted.reply.nowUs + LIFE_US);
      assert.equal(await remaining(store, key, SLOW), 6);
      const most = await lease(store, newKey(), SLOW, { wish: 100, demand: 4, weight: 4 });
      assert.equal(most.lease.tokens, 5);
    },
  },
  {
    title: "asks of the call are served before its wish",
    async run({ store }) {
      const key = newKey();
      const { reply, lease: granted } = await lease(store, key, SLOW, { wish: 100, demand: 4, weight: 4 }, 4);
      assert.deepEqual(reply.served, [4]);
      assert.equal(granted.tokens, 3);
      assert.equal(await remaining(store, key, SLOW), 3);
    },
  },
  {
    title: "nothing is leased where an ask of the call was refused",
    async run({ store }) {
      const key = newKey();
      const buckets = [{ key, policy: SLOW, report: reportOf({ wish: 3, demand: 3, weight: 3 }) }];
      const reply = await store.take({ buckets, runs: [runOf(1), runOf(11)] });
      assert.deepEqual(reply.served, [1, 0]);
      const reading = reply.buckets[0];
      assert.ok(reading?.kind === "state");
      assert.equal(reading.lease?.tokens, 0);
      assert.equal(reading.lease?.id, 0);
      assert.equal(await remaining(store, key, SLOW), 9);
    },
  },
  {
    title: "nothing is leased from an empty bucket or from debt",
    async run({ store }) {
      const key = newKey();
      await take(store, key, SLOW, runOf(10));
      assert.equal((await lease(store, key, SLOW, { wish: 3, demand: 3, weight: 3 })).lease.tokens, 0);
      await store.adjust([{ key, policy: SLOW, tokens: -5 }]);
      const { lease: granted, state } = await lease(store, key, SLOW, { wish: 3, demand: 3, weight: 3 });
      assert.equal(granted.tokens, 0);
      assert.equal(escrowed(state), 0);
    },
  },
  {
    title: "a bucket without a report has no lease in its reading, and a log never has",
    async run({ store }) {
      const key = newKey();
      const plain = await store.take({ buckets: [{ key, policy: SLOW, report: undefined }], runs: [] });
      assert.ok(plain.buckets[0]?.kind === "state");
      assert.equal(plain.buckets[0].lease, undefined);
      const log = await report(store, key, LOG, { wish: 3, demand: 3, weight: 3 }, 2);
      assert.equal(log.lease, undefined);
      assert.deepEqual(log.reply.served, [2]);
      assert.equal(await remaining(store, key, LOG), 8);
    },
  },
  {
    title: "leased tokens that were spent leave the escrow and do not come back",
    async run({ store }) {
      const key = newKey();
      const first = await lease(store, key, SLOW, { wish: 4, demand: 4, weight: 4 });
      const { state } = await lease(store, key, SLOW, { settlements: settlement(first.lease, 0) });
      assert.equal(escrowed(state), 0);
      assert.equal(await remaining(store, key, SLOW), 6);
    },
  },
  {
    title: "leased tokens that were not spent go back on the shelf",
    async run({ store }) {
      const key = newKey();
      const first = await lease(store, key, SLOW, { wish: 4, demand: 4, weight: 4 });
      const { state } = await lease(store, key, SLOW, { settlements: settlement(first.lease, 3) });
      assert.equal(escrowed(state), 0);
      assert.equal(await remaining(store, key, SLOW), 9);
    },
  },
  {
    title: "a settlement comes before the asks of its call",
    async run({ store }) {
      const key = newKey();
      const first = await lease(store, key, SLOW, { wish: 4, demand: 4, weight: 4 });
      await take(store, key, SLOW, runOf(6));
      const { reply } = await lease(store, key, SLOW, { weight: 4, settlements: settlement(first.lease, 2) }, 3);
      assert.deepEqual(reply.served, [2]);
    },
  },
  {
    title: "a lease can be settled in parts, and no more of it than is out",
    async run({ store }) {
      const key = newKey();
      const { id } = (await lease(store, key, SLOW, { wish: 4, demand: 4, weight: 4 })).lease;
      const part = await lease(store, key, SLOW, { settlements: [{ id, settled: 1, returned: 0 }] });
      assert.equal(escrowed(part.state), 3);
      const rest = await lease(store, key, SLOW, { settlements: [{ id, settled: 100, returned: 100 }] });
      assert.equal(escrowed(rest.state), 0);
      assert.equal(await remaining(store, key, SLOW), 9);
      await lease(store, key, SLOW, { settlements: [{ id, settled: 1, returned: 1 }] });
      assert.equal(await remaining(store, key, SLOW), 9, "a settlement that comes twice gives nothing");
    },
  },
  {
    title: "a settlement of an unknown lease is let be",
    async run({ store }) {
      const key = newKey();
      const { id } = (await lease(store, key, SLOW, { wish: 4, demand: 4, weight: 4 })).lease;
      const { state } = await lease(store, key, SLOW, { settlements: [{ id: id + 1, settled: 4, returned: 4 }] });
      assert.equal(escrowed(state), 4);
      assert.equal(await remaining(store, key, SLOW), 6);
      await lease(store, newKey(), SLOW, { settlements: [{ id, settled: 4, returned: 4 }] });
    },
  },
  {
    title: "refill leaves room for what is out on lease, and fills it once that is settled",
    async run({ store, advance }) {
      const key = newKey();
      const first = await lease(store, key, FAST, { wish: 4, demand: 4, weight: 4 });
      assert.ok(first.lease.tokens > 0);
      await advance(20);
      assert.equal(await remaining(store, key, FAST), 10 - first.lease.tokens);
      await lease(store, key, FAST, { settlements: settlement(first.lease, 0) });
      await advance(20);
      assert.equal(await remaining(store, key, FAST), 10);
    },
  },
  {
    title: "leased tokens that nobody settles die with their life, and their room fills only after it",
    async run({ store, advance }) {
      const key = newKey();
      const { lease: granted } = await lease(store, key, SLOW, { wish: 4, lifeUs: 100_000, demand: 4, weight: 4 });
      assert.equal(granted.tokens, 4);
      await advance(110);
      const state = await peekTokens(store, key, SLOW);
      assert.equal(escrowed(state), 0);
      assert.equal(await remaining(store, key, SLOW), 6);
      const { state: after } = await lease(store, key, SLOW, { settlements: settlement(granted, 4) });
      assert.equal(escrowed(after), 0);
      assert.equal(await remaining(store, key, SLOW), 6, "a dead lease cannot be returned");
    },
  },
  {
    title: "leases of one bucket have ids of their own while an escrow is free, and share the newer one after that",
    async run({ store }) {
      const key = newKey();
      const wish = { wish: 1, demand: 1, weight: 3 };
      const first = await lease(store, key, SLOW, wish);
      const second = await lease(store, key, SLOW, wish);
      const third = await lease(store, key, SLOW, { ...wish, lifeUs: 2 * LIFE_US });
      assert.deepEqual(
        [first, second, third].map(({ lease: { tokens } }) => tokens),
        [1, 1, 1],
      );
      assert.ok(second.lease.id > first.lease.id);
      assert.equal(third.lease.id, second.lease.id);
      assert.equal(third.state.older.tokens, 1);
      assert.equal(third.state.newer.tokens, 2);
      assert.ok(third.state.newer.deathUs >= third.reply.nowUs + 2 * LIFE_US, "a life is only ever lengthened");
    },
  },
  {
    title: "a later escrow never dies before an earlier one",
    async run({ store }) {
      const key = newKey();
      await lease(store, key, SLOW, { wish: 1, demand: 1, weight: 1 });
      const { state } = await lease(store, key, SLOW, { wish: 1, lifeUs: 1000, demand: 1, weight: 2 });
      assert.ok(state.newer.tokens === 1 && state.newer.deathUs >= state.older.deathUs);
    },
  },
  {
    title: "holders are leased their share of the demand of all",
    async run({ store }) {
      const key = newKey();
      const { lease: granted } = await lease(store, key, SLOW, { wish: 10, demand: 8, weight: 2 });
      assert.equal(granted.tokens, 1, "a quarter of half of ten, rounded down");
    },
  },
  {
    title: "a low bucket that many want is contended, and each holder is kept to twice its share",
    async run({ store }) {
      const key = newKey();
      await take(store, key, SLOW, runOf(9));
      const busy = { demand: 100, weight: 25 };
      const kept = await lease(store, key, SLOW, { ...busy, wish: 1 });
      assert.equal(kept.lease.contended, true);
      assert.equal(kept.lease.tokens, 0, "half a token");
      const first = await lease(store, key, SLOW, busy, 2);
      assert.deepEqual(first.reply.served, [1], "the first ask of a call is served where it fits");
      const calm = await lease(store, newKey(), SLOW, busy);
      assert.equal(calm.lease.contended, false, "a full bucket is not contended");
    },
  },
  {
    title: "demand fades while nobody reports",
    async run({ store, advance }) {
      const key = newKey();
      await take(store, key, SLOW, runOf(9));
      const brief = { lifeUs: 1000, weight: 1 };
      const busy = await lease(store, key, SLOW, { ...brief, wish: 1, demand: 100 });
      assert.equal(busy.lease.contended, true);
      assert.equal(busy.lease.tokens, 0, "one part in a hundred");
      await advance(50);
      const later = await lease(store, key, SLOW, { ...brief, wish: 1 });
      assert.equal(later.lease.tokens, 1, "fifty lives later a weight of 1 is all the demand there is");
    },
  },
];
