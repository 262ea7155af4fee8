import fc from "fast-check";
import { type Policy, resolvePolicy } from "../../packages/spillway/src/policy.ts";

const DAY_MS = 86_400_000;

/** Old and new numbers of two policies that share keys. */
export type Setup = readonly (readonly Policy[])[];

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

function tokenBucket(name: string): fc.Arbitrary<Policy> {
  return fc.record({ limit, period, burst }).map((numbers) => resolvePolicy({ name, ...numbers }, name));
}

function fixedWindow(name: string): fc.Arbitrary<Policy> {
  const windowStart = fc.constantFrom("first-request", "aligned");
  return fc
    .record({ limit, period, windowStart })
    .map((numbers) => resolvePolicy({ name, algorithm: "fixed-window", ...numbers }, name));
}

/** The first policy is of the suite's algorithm, the second of any. */
export function setups(algorithm: "token-bucket" | "fixed-window"): fc.Arbitrary<Setup> {
  const pair = (policy: fc.Arbitrary<Policy>): fc.Arbitrary<readonly Policy[]> => fc.tuple(policy, policy);
  const first = algorithm === "token-bucket" ? tokenBucket("first") : fixedWindow("first");
  return fc.tuple(pair(first), fc.oneof(pair(tokenBucket("second")), pair(fixedWindow("second"))));
}

/** Policies whose buckets do not expire while a test on a real clock runs, and refill fast enough to be seen. */
export function lastingSetups(): fc.Arbitrary<Setup> {
  const token = (name: string): fc.Arbitrary<Policy> =>
    fc
      .record({ limit: fc.constantFrom(1000, 7777, 100_000), burst: fc.constantFrom(200_000, 300_001) })
      .map((numbers) => resolvePolicy({ name, period: "1s", ...numbers }, name));
  const window = fc
    .record({ limit: fc.integer({ min: 1, max: 200 }), windowStart: fc.constantFrom("first-request", "aligned") })
    .map((numbers) =>
      resolvePolicy({ name: "window", algorithm: "fixed-window", period: "366d", ...numbers }, "window"),
    );
  return fc.tuple(fc.tuple(token("first"), token("first")), fc.tuple(window, window));
}
