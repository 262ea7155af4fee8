import { algorithmOf, type BucketShape, type BucketState } from "../../packages/spillway/src/algorithms/bucket.ts";
import {
  settleLease,
  type TokenBucketShape,
  type TokenBucketState,
} from "../../packages/spillway/src/algorithms/token-bucket.ts";
import type { LeaseGrant, LeaseReport, Settlement } from "../../packages/spillway/src/stores/store.ts";

/**
 * What a store does with a bucket, step by step. The shipped rules stand here as they are; a broken twin, of one kind of bucket,
 * has one of them replaced. What is left out is done by `applyTake` itself.
 */
export interface StoreRules<Shape extends BucketShape = BucketShape, State extends BucketState = BucketState> {
  /** @param before the policy under which the bucket was last written, and what had been leased then. */
  advance(state: State, shape: Shape, nowUs: number, before: Shape): void;
  expiryMs(state: State, shape: Shape, nowUs: number): number;
  waitUs(state: State, shape: Shape, cost: number, nowUs: number): number;
  adjust(state: State, shape: Shape, tokens: number): void;
  reset(state: State, shape: Shape): void;
  /** Settles in place of `applyTake`: before the refill or after it. */
  readonly settle?: {
    readonly beforeRefill: boolean;
    run(state: State, shape: Shape, settlement: Settlement): void;
  };
  /** Leases in place of `applyTake`. */
  grant?(state: State, shape: Shape, report: LeaseReport, nowUs: number): LeaseGrant;
}

export const SHIPPED_RULES: StoreRules = {
  advance: (state, shape, nowUs) => algorithmOf(shape).advance(state, shape, nowUs),
  expiryMs: (state, shape, nowUs) => algorithmOf(shape).expiryMs(state, shape, nowUs),
  waitUs: (state, shape, cost, nowUs) => algorithmOf(shape).waitUs(state, shape, cost, nowUs),
  adjust: (state, shape, tokens) => algorithmOf(shape).adjust(state, shape, tokens),
  reset: (state, shape) => algorithmOf(shape).reset(state, shape),
};

/** Settlement as it is shipped, for twins that only do it at another time. */
export function settleAsShipped(state: TokenBucketState, shape: TokenBucketShape, settlement: Settlement): void {
  settleLease(state, shape, settlement.id, settlement.settled, settlement.returned);
}
