import { type MemoryStore, memoryStore, type Store } from "spillway";
import { manualClock, type StoreUnderTest, storeContract } from "spillway/testing";
import { describe, expect, it } from "vitest";

type Call = Parameters<Store["take"]>[0];
type Reply = Awaited<ReturnType<Store["take"]>>;

/** A memory store with one mistake: its own methods take the place of the sound ones. */
type Mistake = (sound: MemoryStore) => Partial<Store>;

const MISTAKES: Readonly<Record<string, Mistake>> = {
  "charges a refused ask": (sound) => ({
    async take(call) {
      const reply = await sound.take(call);
      for (const [index, { count, charges }] of call.runs.entries()) {
        const bucket = call.buckets[charges[0]?.bucket ?? 0];
        if (bucket !== undefined && (reply.served[index] ?? 0) < count)
          await sound.adjust([{ key: bucket.key, policy: bucket.policy, tokens: -1 }]);
      }
      return reply;
    },
  }),
  "serves an ask on one of its buckets though another refuses": (sound) => ({
    async take(call) {
      const replies: Reply[] = [];
      for (const [index, bucket] of call.buckets.entries()) replies.push(await sound.take(part(call, bucket, index)));
      const served = call.runs.map((_, run) => Math.min(...replies.map((reply) => reply.served[run] ?? 0)));
      return { nowUs: replies[0]?.nowUs ?? 0, buckets: replies.flatMap(({ buckets }) => buckets), served };
    },
  }),
  "serves equal asks as one sum": (sound) => ({
    async take(call) {
      const runs = call.runs.map(({ count, charges }) => ({
        count: 1,
        charges: charges.map(({ bucket, cost }) => ({ bucket, cost: cost * count })),
      }));
      const reply = await sound.take({ ...call, runs });
      return { ...reply, served: reply.served.map((served, run) => (served === 1 ? (call.runs[run]?.count ?? 0) : 0)) };
    },
  }),
  "takes a token at each peek": (sound) => ({
    async peek(addresses) {
      await sound.adjust(addresses.map((address) => ({ ...address, tokens: -1 })));
      return await sound.peek(addresses);
    },
  }),
  "hands out its live states": (sound) => ({ take: async (call) => sound.takeNow(call) }),
  "forgets what is out on lease when it resets": (sound) => ({
    async reset(addresses) {
      await sound.reset(addresses);
      for (const { key, policy } of addresses) {
        const reply = sound.takeNow({ buckets: [{ key, policy, report: undefined }], runs: [] });
        const reading = reply.buckets[0];
        if (reading?.kind !== "state" || reading.state.kind !== "token-bucket") continue;
        reading.state.older.tokens = 0;
        reading.state.newer.tokens = 0;
      }
    },
  }),
  "forgets what is out on lease of a window when it resets": (sound) => ({
    async reset(addresses) {
      await sound.reset(addresses);
      for (const { key, policy } of addresses) {
        const reading = sound.takeNow({ buckets: [{ key, policy, report: undefined }], runs: [] }).buckets[0];
        if (reading?.kind === "state" && reading.state.kind === "fixed-window") reading.state.used = 0;
        if (reading?.kind === "state" && reading.state.kind === "sliding-window-counter") reading.state.current = 0;
      }
    },
  }),
  "leases no window": (sound) => ({
    take: (call) => sound.take(withoutWishes(call)),
  }),
  "loses what settlements return": (sound) => ({ take: (call) => sound.take(withReports(call, { returned: 0 })) }),
  "never settles": (sound) => ({ take: (call) => sound.take(withReports(call, { settled: 0 })) }),
  "forgives what a penalty takes beyond empty": (sound) => ({
    async adjust(adjustments) {
      const reply = await sound.adjust(adjustments);
      for (const { key, policy } of adjustments) {
        const reading = sound.takeNow({ buckets: [{ key, policy, report: undefined }], runs: [] }).buckets[0];
        if (reading?.kind === "state" && reading.state.kind === "token-bucket")
          reading.state.level = Math.max(0, reading.state.level);
      }
      return reply;
    },
  }),
  "gives each policy object a bucket of its own": (sound) => {
    const ids = new Map<object, number>();
    const own = <T extends { readonly key: string; readonly policy: object }>(address: T): T => {
      ids.set(address.policy, ids.get(address.policy) ?? ids.size);
      return { ...address, key: `${address.key}:${ids.get(address.policy)}` };
    };
    return {
      take: (call) => sound.take({ ...call, buckets: call.buckets.map(own) }),
      peek: (addresses) => sound.peek(addresses.map(own)),
      adjust: (adjustments) => sound.adjust(adjustments.map(own)),
      block: (addresses, durationUs) => sound.block(addresses.map(own), durationUs),
      reset: (addresses) => sound.reset(addresses.map(own)),
    };
  },
  "keeps the longer of two blocks": (sound) => {
    const longestUs = new Map<string, number>();
    return {
      async block(addresses, durationUs) {
        const id = addresses.map(({ key, policy }) => `${policy.name} ${key}`).join();
        if (durationUs > 0) longestUs.set(id, Math.max(durationUs, longestUs.get(id) ?? 0));
        return await sound.block(addresses, durationUs && (longestUs.get(id) as number));
      },
    };
  },
  "lets a penalty end a block": (sound) => ({
    async adjust(adjustments) {
      await sound.block(adjustments, 0);
      return await sound.adjust(adjustments);
    },
  }),
  "serves what costs nothing of a blocked bucket": (sound) => ({
    async take(call) {
      const reply = await sound.take(call);
      const isFree = (run: Call["runs"][number]): boolean => run.charges.every(({ cost }) => cost === 0);
      const served = reply.served.map((count, i) => (isFree(call.runs[i] as Call["runs"][number]) ? 1 : count));
      return { ...reply, served };
    },
  }),
  "cannot be closed twice": (sound) => {
    let closed = false;
    return {
      async close() {
        if (closed) throw new Error("closed already");
        closed = true;
        await sound.close();
      },
    };
  },
};

function part({ runs }: Call, bucket: Call["buckets"][number], index: number): Call {
  const own = runs.map(({ count, charges }) => ({
    count,
    charges: charges.filter((charge) => charge.bucket === index).map(({ cost }) => ({ bucket: 0, cost })),
  }));
  return { buckets: [bucket], runs: own };
}

/** A call that wishes for nothing of windows. */
function withoutWishes(call: Call): Call {
  return {
    ...call,
    buckets: call.buckets.map(({ report, ...address }) => ({
      ...address,
      report: report && address.policy.algorithm !== "token-bucket" ? { ...report, wish: 0 } : report,
    })),
  };
}

function withReports(call: Call, changed: { readonly settled?: number; readonly returned?: number }): Call {
  const buckets = call.buckets.map((bucket) => {
    if (bucket.report === undefined) return bucket;
    const settlements = bucket.report.settlements.map((settlement) => ({ ...settlement, ...changed }));
    return { ...bucket, report: { ...bucket.report, settlements } };
  });
  return { ...call, buckets };
}

/** Runs the contract and returns the titles of the tests that failed. */
async function failuresOf(open: () => StoreUnderTest): Promise<string[]> {
  const tests: [title: string, body: () => Promise<void>][] = [];
  const define = (title: string, body: () => Promise<void>): void => void tests.push([title, body]);
  const runner = {
    describe: (_: string, body: () => void): void => body(),
    it: Object.assign(define, { skip: () => {} }),
  };
  const skips = { "foreign-values": "nobody else can write to this process's memory", "take-now": "of the mistakes" };
  storeContract(runner, { name: "a store with a mistake", open, skips });
  const failed: string[] = [];
  for (const [title, body] of tests) await body().catch(() => failed.push(title));
  return failed;
}

function open(mistake: Mistake): StoreUnderTest {
  const clock = manualClock();
  const sound = memoryStore({ clock, maxKeys: 1000 });
  const methods = ["take", "peek", "adjust", "block", "reset", "close"] as const;
  const bound = Object.fromEntries(
    methods.map((name) => [name, (...args: never[]) => Reflect.apply(sound[name], sound, args)]),
  );
  const store = { name: "broken", ...bound, ...mistake(sound) } as unknown as Store;
  return { store, advance: (ms) => clock.advance(ms), close: async () => {} };
}

describe("the store contract", () => {
  it("has no fault to find in a sound store", async () => {
    expect(await failuresOf(() => open(() => ({})))).toEqual([]);
  });

  it.each(Object.entries(MISTAKES))("fails for a store that %s", async (_, mistake) => {
    expect((await failuresOf(() => open(mistake))).length).toBeGreaterThan(0);
  });
});
