import { LRUCache } from "lru-cache";
import { algorithmOf, type BucketShape } from "../../algorithms/bucket.ts";
import { LARGEST_LOG } from "../../algorithms/sliding-window-log.ts";
import type { Policy } from "../../policy.ts";
import { WHOLE } from "../share-ledger.ts";
import type { Adjustment, AskRun, Beat, BucketAddress, LeaseReport, TakeBucket, TakeCall } from "../store.ts";
import { readList, readNumber, readText, readWhole, strange } from "./wire-reading.ts";

/** Arguments of any call: its policies, each once, and its buckets as `[key, index of the policy, ...numbers]`. */
export type WireBuckets = readonly [
  policies: readonly (readonly unknown[])[],
  buckets: readonly (readonly unknown[])[],
];
/** Arguments of `take`: then the runs, as `[count, ...(index of the bucket, cost)]`. */
export type WireTake = readonly [...WireBuckets, runs: readonly (readonly number[])[]];

/** The arguments of `take`. The numbers of a bucket are its report, if it has one. */
export function encodeTake({ buckets, runs }: TakeCall): WireTake {
  const wireRuns = runs.map(({ count, charges }) => [count, ...charges.flatMap(({ bucket, cost }) => [bucket, cost])]);
  return [...encodeBuckets(buckets, ({ report }) => (report === undefined ? [] : encodeReport(report))), wireRuns];
}

/** The arguments of `peek` and `reset`. */
export function encodeAddresses(addresses: readonly BucketAddress[]): WireBuckets {
  return encodeBuckets(addresses, () => []);
}

/** The arguments of `adjust`. The number of a bucket is its tokens. */
export function encodeAdjustments(adjustments: readonly Adjustment[]): WireBuckets {
  return encodeBuckets(adjustments, ({ tokens }) => [tokens]);
}

/** The arguments of `block`: then for how long. */
export function encodeBlock(addresses: readonly BucketAddress[], durationUs: number): readonly unknown[] {
  return [...encodeAddresses(addresses), durationUs];
}

function encodeBuckets<B extends BucketAddress>(
  buckets: readonly B[],
  numbersOf: (bucket: B) => number[],
): WireBuckets {
  const indices = new Map<Policy, number>();
  const policies: unknown[][] = [];
  const encoded = buckets.map((bucket) => {
    let index = indices.get(bucket.policy);
    if (index === undefined) {
      index = policies.push(encodePolicy(bucket.policy)) - 1;
      indices.set(bucket.policy, index);
    }
    return [bucket.key, index, ...numbersOf(bucket)];
  });
  return [policies, encoded];
}

/** What counts of a policy: what happens while the store cannot answer is the worker's own matter. */
function encodePolicy({ name, limit, periodUs, shape }: Policy): unknown[] {
  const head = [name, limit, periodUs, shape.kind];
  switch (shape.kind) {
    case "token-bucket":
      return [...head, shape.unitsPerToken, shape.unitsPerTick, shape.tickUs, shape.burst, shape.fullUs];
    case "fixed-window":
      return [...head, shape.limit, shape.periodUs, shape.aligned ? 1 : 0];
    case "sliding-window-counter":
    case "sliding-window-log":
      return [...head, shape.limit, shape.periodUs];
  }
}

function encodeReport({ wish, lifeUs, demand, weight, settlements }: LeaseReport): number[] {
  return [
    ...[wish, lifeUs, demand, weight],
    ...settlements.flatMap(({ id, settled, returned }) => [id, settled, returned]),
  ];
}

/** @throws SpillwayError `ERR_SPILLWAY_STORE_REPLY` for anything that {@link encodeTake} does not write. */
export function reviveTake(args: unknown): TakeCall {
  const [policies, wireBuckets, wireRuns] = readList(args, "a take", 3);
  const buckets = reviveBuckets(
    policies,
    wireBuckets,
    (numbers): Pick<TakeBucket, "report"> => ({
      report: numbers.length === 0 ? undefined : reviveReport(numbers),
    }),
  );
  const runs = readList(wireRuns, "the runs").map((run) => reviveRun(run, buckets.length));
  return { buckets, runs };
}

/** @throws SpillwayError as {@link reviveTake}. */
export function reviveAddresses(args: unknown): BucketAddress[] {
  const [policies, buckets] = readList(args, "a call", 2);
  return reviveBuckets(policies, buckets, (numbers) => {
    readList(numbers, "the numbers of an address", 0);
    return {};
  });
}

/** @throws SpillwayError as {@link reviveTake}. */
export function reviveAdjustments(args: unknown): Adjustment[] {
  const [policies, buckets] = readList(args, "a call", 2);
  return reviveBuckets(policies, buckets, (numbers) => {
    const [tokens] = readList(numbers, "the numbers of an adjustment", 1);
    return { tokens: readWhole(tokens, "an adjustment", -Number.MAX_SAFE_INTEGER) };
  });
}

/** @throws SpillwayError as {@link reviveTake}. */
export function reviveBlock(args: unknown): { readonly addresses: BucketAddress[]; readonly durationUs: number } {
  const [policies, buckets, durationUs] = readList(args, "a block", 3);
  return { addresses: reviveAddresses([policies, buckets]), durationUs: readWhole(durationUs, "a duration", 0) };
}

/** The arguments of `allotShares`. */
export function encodeBeat({ id, number, lifeMs, share, even, demand, replicas, leaves }: Beat): unknown[] {
  return [id, number, lifeMs, share, even, demand, replicas, leaves];
}

/** @throws SpillwayError as {@link reviveTake}. */
export function reviveBeat(args: unknown): Beat {
  const [id, number, lifeMs, share, even, demand, replicas, leaves] = readList(args, "a beat", 8);
  return {
    id: readText(id, "a process"),
    number: readWhole(number, "the number of a beat", 1),
    lifeMs: readWhole(lifeMs, "a life", 1),
    share: readWhole(share, "a share", 0, WHOLE),
    even: readWhole(even, "an even share", 0, WHOLE),
    demand: readWhole(demand, "a demand", 0),
    replicas: readWhole(replicas, "a number of processes", 1),
    leaves: leaves === true,
  };
}

function reviveBuckets<T>(
  wirePolicies: unknown,
  wireBuckets: unknown,
  rest: (numbers: readonly unknown[]) => T,
): (BucketAddress & T)[] {
  const policies = readList(wirePolicies, "the policies").map(revivePolicy);
  return readList(wireBuckets, "the buckets").map((bucket) => {
    const [key, index, ...numbers] = readList(bucket, "a bucket");
    const policy = policies[readWhole(index, "the index of a policy", 0, policies.length - 1)] as Policy;
    return { key: readText(key, "a key"), policy, ...rest(numbers) };
  });
}

/** One object for one policy, as stores expect it. */
const KNOWN_POLICIES = new LRUCache<string, Policy>({ max: 1000 });

function revivePolicy(wire: unknown): Policy {
  const text = JSON.stringify(wire);
  let policy = KNOWN_POLICIES.get(text);
  if (policy === undefined) {
    policy = readPolicy(wire);
    KNOWN_POLICIES.set(text, policy);
  }
  return policy;
}

function readPolicy(wire: unknown): Policy {
  const [name, limit, periodUs, kind, ...numbers] = readList(wire, "a policy");
  const shape = reviveShape(kind, numbers);
  return {
    name: readText(name, "the name of a policy"),
    algorithm: shape.kind,
    limit: readWhole(limit, "a limit", 1),
    periodMs: readWhole(periodUs, "a period", 1) / 1000,
    periodUs: periodUs as number,
    capacity: algorithmOf(shape).capacity(shape),
    shape,
    onStoreFailure: undefined,
  };
}

function reviveShape(kind: unknown, numbers: readonly unknown[]): BucketShape {
  switch (kind) {
    case "token-bucket": {
      const [unitsPerToken, unitsPerTick, tickUs, burst] = readList(numbers, "a token bucket", 5)
        .slice(0, 4)
        .map((number) => readWhole(number, "a number of a token bucket", 1)) as [number, number, number, number];
      // A bucket may take longer to fill than 2^53 us.
      const fullUs = readNumber(numbers[4], "the time to full of a token bucket", 1);
      if (!Number.isSafeInteger(burst * unitsPerToken)) throw strange(`a token bucket of ${burst} x ${unitsPerToken}`);
      return { kind, unitsPerToken, unitsPerTick, tickUs, burst, fullUs };
    }
    case "fixed-window": {
      const [limit, periodUs, aligned] = readList(numbers, "a fixed window", 3);
      return {
        kind,
        limit: readWhole(limit, "the limit of a window", 1),
        periodUs: readWhole(periodUs, "the period of a window", 1),
        aligned: readWhole(aligned, "the alignment of a window", 0, 1) === 1,
      };
    }
    case "sliding-window-counter":
    case "sliding-window-log": {
      const [limit, periodUs] = readList(numbers, "a sliding window", 2);
      const most = kind === "sliding-window-log" ? LARGEST_LOG : Number.MAX_SAFE_INTEGER;
      return {
        kind,
        limit: readWhole(limit, "the limit of a window", 1, most),
        periodUs: readWhole(periodUs, "the period of a window", 1),
      };
    }
    default:
      throw strange(`the algorithm is ${String(kind)}`);
  }
}

function reviveReport(numbers: readonly unknown[]): LeaseReport {
  const [wish, lifeUs, demand, weight, ...settlements] = numbers;
  if (settlements.length % 3 !== 0) throw strange(`a report of ${numbers.length} numbers`);
  return {
    wish: readWhole(wish, "a wish", 0),
    lifeUs: readWhole(lifeUs, "a life", 0),
    demand: readNumber(demand, "a demand", 0),
    weight: readNumber(weight, "a weight", 0),
    settlements: Array.from({ length: settlements.length / 3 }, (_, i) => ({
      id: readWhole(settlements[3 * i], "the id of a lease", 0),
      settled: readWhole(settlements[3 * i + 1], "what is settled", 0),
      returned: readWhole(settlements[3 * i + 2], "what is returned", 0),
    })),
  };
}

function reviveRun(wire: unknown, buckets: number): AskRun {
  const [count, ...numbers] = readList(wire, "a run");
  if (numbers.length % 2 !== 0) throw strange(`a run of ${numbers.length + 1} numbers`);
  return {
    count: readWhole(count, "the count of a run", 0),
    charges: Array.from({ length: numbers.length / 2 }, (_, i) => ({
      bucket: readWhole(numbers[2 * i], "the index of a bucket", 0, buckets - 1),
      cost: readWhole(numbers[2 * i + 1], "a cost", 0),
    })),
  };
}
