import { algorithmOf, type BucketShape, type BucketState } from "../algorithms/bucket.ts";
import { grantLease, settleLease, type TokenBucketShape, type TokenBucketState } from "../algorithms/token-bucket.ts";
import {
  grantWindowLease,
  isLeasableWindow,
  type LeasableWindowShape,
  settleWindowLease,
} from "../algorithms/window-lease.ts";
import type { AskRun, Charge, LeaseGrant, LeaseReport } from "./store.ts";

/** A bucket as a call meets it, brought to the call's instant; `undefined` state means that it cannot be read. */
export interface OpenBucket {
  readonly state: BucketState | undefined;
  readonly shape: BucketShape;
  readonly report: LeaseReport | undefined;
  /** Time since the bucket was last written, for the decay of its demand. */
  readonly quietUs: number;
}

/** What a call did: per run how many asks were served, per bucket what was leased. */
export interface TakeOutcome {
  readonly served: number[];
  readonly leases: (LeaseGrant | undefined)[];
}

/** How much of a bucket one call may use. */
interface Budget {
  /** Tokens that this call may still take: all there are, or a share when the bucket is contended. */
  left: number;
  readonly contended: boolean;
  /** This holder's part of the demand of all, 0 to 1. */
  readonly share: number;
  /** Whether an ask of this call came to the bucket: the first one is served even beyond what is left. */
  asked: boolean;
  refused: boolean;
}

/**
 * One call of `Store.take` on buckets in memory: settles the reports, serves the asks in order, grants leases last. This is
 * the model that `lua/take.lua` must equal; it reads no clock.
 */
export function applyTake(buckets: readonly OpenBucket[], runs: readonly AskRun[], nowUs: number): TakeOutcome {
  // Without a report there is no budget to keep to, and nothing to lease.
  if (!buckets.some(isReported)) return { served: runs.map((run) => serveRun(buckets, undefined, run)), leases: [] };
  for (const bucket of buckets) settle(bucket);
  const budgets = buckets.map(budgetOf);
  const served = runs.map((run) => serveRun(buckets, budgets, run));
  const leases = buckets.map((bucket, index) => grant(bucket, budgets[index] as Budget, nowUs));
  return { served, leases };
}

function isReported({ report }: OpenBucket): boolean {
  return report !== undefined;
}

function settle({ state, shape, report, quietUs }: OpenBucket): void {
  if (report === undefined || state === undefined) return;
  if (isLeasableWindow(state)) {
    for (const { id, settled, returned } of report.settlements)
      settleWindowLease(state, shape as LeasableWindowShape, id, settled, returned);
  }
  if (state.kind !== "token-bucket" || shape.kind !== "token-bucket") return;
  state.demand = decayed(state.demand, quietUs, report.lifeUs) + report.demand;
  for (const { id, settled, returned } of report.settlements) settleLease(state, shape, id, settled, returned);
}

/** Decay by about e^-(elapsed / time) in operations that every IEEE machine rounds alike. */
export function decayed(amount: number, elapsedUs: number, timeUs: number): number {
  const step = timeUs / (timeUs + elapsedUs / 4);
  return amount * step * step * step * step;
}

function budgetOf({ state, shape, report }: OpenBucket): Budget {
  if (report === undefined || state?.kind !== "token-bucket" || shape.kind !== "token-bucket")
    return { left: Number.POSITIVE_INFINITY, contended: false, share: 0, asked: false, refused: false };
  const level = state.level / shape.unitsPerToken;
  const share = state.demand > 0 ? Math.min(1, report.weight / state.demand) : 1;
  const contended = isContended(state, shape, report.lifeUs, level);
  const left = contended ? Math.floor(Math.min(1, 2 * share) * level) : level;
  return { left, contended, share, asked: false, refused: false };
}

/** More is asked for than comes in, and the shelf holds no more than a couple of holds' refill. */
function isContended(state: TokenBucketState, shape: TokenBucketShape, lifeUs: number, level: number): boolean {
  const perUs = shape.unitsPerTick / (shape.unitsPerToken * shape.tickUs);
  const threshold = Math.min(shape.burst / 2, 2 * perUs * holdUs(shape, lifeUs) + 2);
  return state.demand > 0.9 * perUs * lifeUs && level < threshold;
}

/** How long a refused caller of a contended bucket is told to stay away at least. */
export function holdUs(shape: TokenBucketShape, lifeUs: number): number {
  const perUs = shape.unitsPerTick / (shape.unitsPerToken * shape.tickUs);
  return Math.min(lifeUs / 4, shape.burst / (4 * perUs));
}

function serveRun(
  buckets: readonly OpenBucket[],
  budgets: readonly Budget[] | undefined,
  { count, charges }: AskRun,
): number {
  for (let served = 0; served < count; served++) {
    const isServed = charges.every((charge) => fits(buckets, budgets, charge));
    if (budgets !== undefined) for (const charge of charges) note(budgets[charge.bucket] as Budget, charge, isServed);
    if (!isServed) return served;
    for (const { bucket, cost } of charges) {
      const { state, shape } = buckets[bucket] as OpenBucket;
      algorithmOf(shape).charge(state as BucketState, shape, cost);
    }
  }
  return count;
}

function fits(
  buckets: readonly OpenBucket[],
  budgets: readonly Budget[] | undefined,
  { bucket, cost }: Charge,
): boolean {
  const { state, shape } = buckets[bucket] as OpenBucket;
  if (state === undefined || state.block !== undefined || !algorithmOf(shape).fits(state, shape, cost)) return false;
  if (budgets === undefined || cost === 0) return true;
  const { left, asked } = budgets[bucket] as Budget;
  return !asked || cost <= left;
}

function note(budget: Budget, { cost }: Charge, isServed: boolean): void {
  if (cost > 0) budget.asked = true;
  if (isServed) budget.left -= cost;
  else budget.refused = true;
}

function grant({ state, shape, report }: OpenBucket, budget: Budget, nowUs: number): LeaseGrant | undefined {
  if (report === undefined || state === undefined) return undefined;
  const { contended, share, refused } = budget;
  if (isLeasableWindow(state)) {
    const wish = refused || state.block !== undefined ? 0 : report.wish;
    return { ...grantWindowLease(state, shape as LeasableWindowShape, wish, report.lifeUs, nowUs), contended };
  }
  if (state.kind !== "token-bucket" || shape.kind !== "token-bucket") return undefined;
  const level = state.level / shape.unitsPerToken;
  const most = contended ? Math.min(budget.left, level) : (share * level) / 2;
  const tokens = refused || state.block !== undefined ? 0 : Math.max(0, Math.min(report.wish, Math.floor(most)));
  const id = tokens > 0 ? grantLease(state, shape, tokens, report.lifeUs, nowUs) : 0;
  return { id, tokens, contended };
}
