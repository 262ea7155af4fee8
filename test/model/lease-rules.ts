import {
  settleLease,
  type TokenBucketShape,
  type TokenBucketState,
  tokenBucket,
} from "../../packages/spillway/src/algorithms/token-bucket.ts";
import type { LeaseGrant, LeaseReport, Settlement } from "../../packages/spillway/src/stores/store.ts";

/**
 * What a store does with a token bucket, step by step. The shipped rules stand here as they are; a broken twin has one of them
 * replaced. What is left out is done by `applyTake` itself.
 */
export interface StoreRules {
  /** @param before the policy under which the bucket was last written, and what had been leased then. */
  advance(state: TokenBucketState, shape: TokenBucketShape, nowUs: number, before: TokenBucketShape): void;
  expiryMs(state: TokenBucketState, shape: TokenBucketShape, nowUs: number): number;
  waitUs(state: TokenBucketState, shape: TokenBucketShape, cost: number, nowUs: number): number;
  /** Settles in place of `applyTake`: before the refill or after it. */
  readonly settle?: {
    readonly beforeRefill: boolean;
    run(state: TokenBucketState, shape: TokenBucketShape, settlement: Settlement): void;
  };
  /** Leases in place of `applyTake`. */
  readonly grant?: (state: TokenBucketState, shape: TokenBucketShape, report: LeaseReport, nowUs: number) => LeaseGrant;
}

export const SHIPPED_RULES: StoreRules = {
  advance: (state, shape, nowUs) => tokenBucket.advance(state, shape, nowUs),
  expiryMs: (state, shape, nowUs) => tokenBucket.expiryMs(state, shape, nowUs),
  waitUs: (state, shape, cost, nowUs) => tokenBucket.waitUs(state, shape, cost, nowUs),
};

/** Settlement as it is shipped, for twins that only do it at another time. */
export function settleAsShipped(state: TokenBucketState, shape: TokenBucketShape, settlement: Settlement): void {
  settleLease(state, shape, settlement.id, settlement.settled, settlement.returned);
}
