import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { algorithmOf, type BucketState } from "../../algorithms/bucket.ts";
import type { TokenBucketState } from "../../algorithms/token-bucket.ts";
import { type Policy, type PolicyOptions, resolvePolicy } from "../../policy.ts";
import type {
  AskRun,
  BucketReading,
  LeaseGrant,
  LeaseReport,
  PeekReply,
  Settlement,
  Store,
  TakeReply,
} from "../../stores/store.ts";
import type { ContractCapability, StoreUnderTest } from "../store-contract.ts";

/** One test of the contract. */
export interface ContractCase {
  readonly title: string;
  readonly needs?: ContractCapability;
  run(subject: StoreUnderTest): Promise<void>;
}

/** A policy from the options that a user would write. */
export function policyOf(options: PolicyOptions): Policy {
  return resolvePolicy(options, "policy");
}

/** Refills one token in six minutes: as good as none while a test runs. */
export const SLOW: Policy = policyOf({ name: "slow", limit: 10, period: "1h" });
/** Refills a token each millisecond. */
export const FAST: Policy = policyOf({ name: "fast", limit: 1000, period: "1s", burst: 10 });
/** A window that does not end while a test runs. */
export const WINDOW: Policy = policyOf({ name: "window", limit: 10, period: "1h", algorithm: "fixed-window" });
/** The same, at a multiple of its period since 1970. */
export const ALIGNED: Policy = policyOf({
  name: "aligned",
  limit: 10,
  period: "366d",
  algorithm: "fixed-window",
  windowStart: "aligned",
});

/** A sliding window that is estimated from two counts, and one that is counted exactly. Neither slides far while a test runs. */
export const COUNTER: Policy = policyOf({
  name: "counter",
  limit: 10,
  period: "1h",
  algorithm: "sliding-window-counter",
});
export const LOG: Policy = policyOf({ name: "log", limit: 10, period: "1h", algorithm: "sliding-window-log" });

/** A policy of each way of counting, each with room for ten. */
export const EACH_ALGORITHM: readonly Policy[] = [SLOW, WINDOW, ALIGNED, COUNTER, LOG];

/** A key that nobody else uses. */
export function newKey(): string {
  return `contract-${randomUUID()}`;
}

/** Keys that may travel in one call. */
export function keysOfOneGroup(store: Store, count: number): string[] {
  const byGroup = new Map<number, string[]>();
  for (let tries = 0; tries < 200_000; tries++) {
    const key = newKey();
    const group = store.groupOf?.(key) ?? 0;
    const keys = byGroup.get(group) ?? [];
    byGroup.set(group, keys);
    keys.push(key);
    if (keys.length === count) return keys;
  }
  return assert.fail(`no ${count} keys of one group among 200,000`);
}

/** A report that wishes nothing and settles nothing, but for what is given. */
export function reportOf(given: Partial<LeaseReport>): LeaseReport {
  return { wish: 0, lifeUs: 10_000_000, demand: 0, weight: 0, settlements: [], ...given };
}

/** One run of asks on the first bucket of a call. */
export function runOf(cost: number, count = 1): AskRun {
  return { count, charges: [{ bucket: 0, cost }] };
}

/** Takes from one bucket. Returns how many asks of each run were served. */
export async function take(store: Store, key: string, policy: Policy, ...runs: AskRun[]): Promise<readonly number[]> {
  const reply = await store.take({ buckets: [{ key, policy, report: undefined }], runs });
  assert.equal(reply.buckets.length, 1, "one reading per bucket");
  return reply.served;
}

/** Sends a lease report for one bucket, with asks of cost 1 if any. */
export async function report(
  store: Store,
  key: string,
  policy: Policy,
  given: Partial<LeaseReport>,
  asks = 0,
): Promise<{ state: BucketState; lease: LeaseGrant | undefined; reply: TakeReply }> {
  const runs = asks > 0 ? [runOf(1, asks)] : [];
  const reply = await store.take({ buckets: [{ key, policy, report: reportOf(given) }], runs });
  const reading = reply.buckets[0];
  return { state: stateOf(reading), lease: leaseOf(reading), reply };
}

/** As {@link report}, for a token bucket. */
export async function lease(
  store: Store,
  key: string,
  policy: Policy,
  given: Partial<LeaseReport>,
  asks = 0,
): Promise<{ state: TokenBucketState; lease: LeaseGrant; reply: TakeReply }> {
  const told = await report(store, key, policy, given, asks);
  assert.ok(told.lease !== undefined, "a report of a token bucket is answered");
  assert.ok(told.state.kind === "token-bucket", "the state of a token bucket");
  return { state: told.state, lease: told.lease, reply: told.reply };
}

/** A settlement of everything a lease gave, of which `returned` were not spent. */
export function settlement({ id, tokens }: LeaseGrant, returned: number): Settlement[] {
  return [{ id, settled: tokens, returned }];
}

/** The state of a bucket that could be read. */
export function stateOf(reading: BucketReading | undefined): BucketState {
  assert.ok(reading !== undefined, "a reading for each bucket");
  assert.ok(reading.kind === "state", reading.kind === "fault" ? reading.error.message : "");
  return reading.state;
}

function leaseOf(reading: BucketReading | undefined): LeaseGrant | undefined {
  return reading?.kind === "state" ? reading.lease : undefined;
}

/** Reads one bucket. */
export async function peek(store: Store, key: string, policy: Policy): Promise<{ state: BucketState; nowUs: number }> {
  const reply: PeekReply = await store.peek([{ key, policy }]);
  assert.equal(reply.buckets.length, 1, "one reading per bucket");
  return { state: stateOf(reply.buckets[0]), nowUs: reply.nowUs };
}

/** Reads one token bucket. */
export async function peekTokens(store: Store, key: string, policy: Policy): Promise<TokenBucketState> {
  const { state } = await peek(store, key, policy);
  assert.ok(state.kind === "token-bucket", "the state of a token bucket");
  return state;
}

/** Whole tokens that one bucket has left. */
export async function remaining(store: Store, key: string, policy: Policy): Promise<number> {
  const { state } = await peek(store, key, policy);
  return algorithmOf(policy.shape).remaining(state, policy.shape);
}
