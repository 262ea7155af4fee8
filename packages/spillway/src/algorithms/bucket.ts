import { advanceBlock, type Blockable } from "./block.ts";
import { type FixedWindowShape, type FixedWindowState, fixedWindow } from "./fixed-window.ts";
import {
  type SlidingWindowCounterShape,
  type SlidingWindowCounterState,
  slidingWindowCounter,
} from "./sliding-window-counter.ts";
import { type SlidingWindowLogShape, type SlidingWindowLogState, slidingWindowLog } from "./sliding-window-log.ts";
import { type TokenBucketShape, type TokenBucketState, tokenBucket } from "./token-bucket.ts";

/** A policy's way of counting, as integers. */
export type BucketShape = TokenBucketShape | FixedWindowShape | SlidingWindowCounterShape | SlidingWindowLogShape;
/** What a store keeps for one policy and one key. */
export type BucketState = Blockable &
  (TokenBucketState | FixedWindowState | SlidingWindowCounterState | SlidingWindowLogState);
/** The name of a way of counting, as policies and store keys spell it. */
export type AlgorithmName = BucketShape["kind"];

const ALGORITHMS: Readonly<Record<AlgorithmName, Algorithm<BucketShape, BucketState>>> = {
  "token-bucket": tokenBucket,
  "fixed-window": fixedWindow,
  "sliding-window-counter": slidingWindowCounter,
  "sliding-window-log": slidingWindowLog,
};

/** The names of all algorithms. */
export const ALGORITHM_NAMES: readonly AlgorithmName[] = [
  "token-bucket",
  "fixed-window",
  "sliding-window-counter",
  "sliding-window-log",
];

/** The arithmetic behind a shape. Give it only states that the same algorithm opened. */
export function algorithmOf(shape: BucketShape): Algorithm<BucketShape, BucketState> {
  return ALGORITHMS[shape.kind];
}

/** A copy of a bucket that shares nothing with the original. */
export function copyOf(state: BucketState): BucketState {
  return alike(state, ALGORITHMS[state.kind].copy(state));
}

/** What a reply tells of a bucket to callers who were refused `costs`: it shares nothing with the original. */
export function summaryOf(state: BucketState, shape: BucketShape, costs: readonly number[]): BucketState {
  const algorithm = ALGORITHMS[state.kind];
  return alike(state, algorithm.summary?.(state, shape, costs) ?? algorithm.copy(state));
}

/** A copy, blocked as its original is. */
function alike(state: BucketState, copy: BucketState): BucketState {
  if (state.block !== undefined) copy.block = { ...state.block };
  return copy;
}

/** Brings a bucket and its block to `nowUs`. */
export function advance(state: BucketState, shape: BucketShape, nowUs: number): void {
  ALGORITHMS[state.kind].advance(state, shape, nowUs);
  advanceBlock(state, nowUs);
}

/** As if nobody had used or blocked the bucket, but for tokens that are out on lease. */
export function reset(state: BucketState, shape: BucketShape): void {
  ALGORITHMS[state.kind].reset(state, shape);
  delete state.block;
}

/**
 * One way of counting: arithmetic on its arguments, without clock or randomness. Times are whole microseconds, costs whole
 * tokens. Every method but `open` and `advance` takes the state as `advance` left it for the same shape and `nowUs`.
 * (Methods, not function properties, so that an algorithm of one shape is an algorithm in the table above.)
 */
export interface Algorithm<Shape, State> {
  /** A bucket nobody has used. */
  open(shape: Shape, nowUs: number): State;
  /** A copy that shares nothing with the original. */
  copy(state: State): State;
  /** Brings a bucket to `nowUs` and to the numbers of `shape`; a stored time ahead of `nowUs` is pulled back to it. */
  advance(state: State, shape: Shape, nowUs: number): void;
  /** Whether `cost` can be taken now. Cost 0 always can. */
  fits(state: State, shape: Shape, cost: number): boolean;
  /** Takes a cost that fits. */
  charge(state: State, shape: Shape, cost: number): void;
  /** Gives `tokens` back, up to full (a refund); a negative number takes them without asking, one capacity deep at most. */
  adjust(state: State, shape: Shape, tokens: number): void;
  /** As if nobody had used the bucket, but for tokens that are out on lease. */
  reset(state: State, shape: Shape): void;
  /** Time until `cost` fits if nobody else takes anything: 0 when it does, `Infinity` when it never can. */
  waitUs(state: State, shape: Shape, cost: number, nowUs: number): number;
  /** Whether `waitUs` is the earliest time for a cost; else it is some later one. Left out: always. */
  knowsWait?(state: State, shape: Shape, cost: number): boolean;
  /** Whole tokens that can be taken now. */
  remaining(state: State, shape: Shape): number;
  /** How long the stored state matters. */
  expiryMs(state: State, shape: Shape, nowUs: number): number;
  /** The most that one request can cost. */
  capacity(shape: Shape): number;
  /**
   * A copy that is small whatever the limit, and from which all that a decision tells can still be worked out: for `costs`, and
   * for those who took what is newest in it. Left out: the copy is.
   */
  summary?(state: State, shape: Shape, costs: readonly number[]): State;
}
