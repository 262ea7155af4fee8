import fc from "fast-check";
import type { AlgorithmName } from "../../packages/spillway/src/algorithms/bucket.ts";
import type { PolicyOptions } from "../../packages/spillway/src/policy.ts";

const DAY_MS = 86_400_000;
/** Objects that a report shows as one would write them. */
const PLAIN = { noNullPrototype: true } as const;

/** Old and new numbers of two policies that share keys. */
export type Setup = readonly (readonly PolicyOptions[])[];

const limit = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 20 }) },
  { weight: 2, arbitrary: fc.constantFrom(7, 70, 1000, 700_000, 999_983, 1_000_000) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 1_000_000 }) },
);
const period = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(1, 7, 49, 1000) },
  { weight: 2, arbitrary: fc.constantFrom(1.5, 60_000, 3_600_000, 30 * DAY_MS, 366 * DAY_MS) },
);
const burst = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 20 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 1_000_000 }) },
  { weight: 1, arbitrary: fc.constantFrom(1_000_000, 1e12) },
);

function tokenBucket(name: string): fc.Arbitrary<PolicyOptions> {
  return fc.record({ name: fc.constant(name), limit, period, burst }, PLAIN);
}

function fixedWindow(name: string): fc.Arbitrary<PolicyOptions> {
  const algorithm = fc.constant("fixed-window" as const);
  const windowStart = fc.constantFrom("first-request" as const, "aligned" as const);
  return fc.record({ name: fc.constant(name), algorithm, limit, period, windowStart }, PLAIN);
}

function slidingCounter(name: string): fc.Arbitrary<PolicyOptions> {
  const algorithm = fc.constant("sliding-window-counter" as const);
  const vast = fc.constantFrom(1_000_000_000_000, 999_999_999_989);
  const anyLimit = fc.oneof({ weight: 5, arbitrary: limit }, { weight: 1, arbitrary: vast });
  return fc.record({ name: fc.constant(name), algorithm, limit: anyLimit, period }, PLAIN);
}

function slidingLog(name: string): fc.Arbitrary<PolicyOptions> {
  const algorithm = fc.constant("sliding-window-log" as const);
  const logLimit = fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: 1, max: 20 }) },
    { weight: 1, arbitrary: fc.constantFrom(70, 1000, 10_000) },
  );
  return fc.record({ name: fc.constant(name), algorithm, limit: logLimit, period }, PLAIN);
}

const POLICIES: Readonly<Record<AlgorithmName, (name: string) => fc.Arbitrary<PolicyOptions>>> = {
  "token-bucket": tokenBucket,
  "fixed-window": fixedWindow,
  "sliding-window-counter": slidingCounter,
  "sliding-window-log": slidingLog,
};

const pair = (policy: fc.Arbitrary<PolicyOptions>): fc.Arbitrary<readonly PolicyOptions[]> => fc.tuple(policy, policy);

/** The first policy is of the suite's algorithm, the second of any. */
export function setups(algorithm: AlgorithmName): fc.Arbitrary<Setup> {
  const second = Object.values(POLICIES).map((policy) => pair(policy("second")));
  return fc.tuple(pair(POLICIES[algorithm]("first")), fc.oneof(...second));
}

/** The suites of a model test, one or two for each algorithm. */
export const SUITES: readonly (readonly [name: string, algorithm: AlgorithmName, leases: boolean])[] = [
  ["token buckets", "token-bucket", false],
  ["token buckets with leases", "token-bucket", true],
  ["fixed windows", "fixed-window", false],
  ["fixed windows with leases", "fixed-window", true],
  ["sliding window counters", "sliding-window-counter", false],
  ["sliding window counters with leases", "sliding-window-counter", true],
  ["sliding window logs", "sliding-window-log", false],
];

/** Policies whose buckets do not expire while a test on a real clock runs, and refill fast enough to be seen. */
export function lastingSetups(): fc.Arbitrary<Setup> {
  const bucket = fc.record({
    name: fc.constant("first"),
    limit: fc.constantFrom(1000, 7777, 100_000),
    period: fc.constant("1s" as const),
    burst: fc.constantFrom(2_000_000, 3_000_001),
  });
  const window = fixedWindow("second").map((options): PolicyOptions => ({ ...options, period: "366d" }));
  return fc.tuple(pair(bucket), pair(window));
}

/**
 * Sliding windows that slide while a test on a real clock runs. Old and new numbers are of one period: under the longer of two
 * periods it would matter in which millisecond a key dies, and only the server knows that.
 */
export function slidingSetups(): fc.Arbitrary<Setup> {
  const someLimit = fc.integer({ min: 1, max: 20 });
  const twoOf = (name: string, algorithm: AlgorithmName): fc.Arbitrary<readonly PolicyOptions[]> =>
    fc
      .tuple(fc.constantFrom(5, 10, 50, 100), someLimit, someLimit)
      .map(([period, ...limits]) => limits.map((limit) => ({ name, algorithm, limit, period })));
  return fc.tuple(twoOf("first", "sliding-window-counter"), twoOf("second", "sliding-window-log"));
}
