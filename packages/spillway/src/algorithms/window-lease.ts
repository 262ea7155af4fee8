import { algorithmOf, type BucketShape, type BucketState } from "./bucket.ts";
import type { FixedWindowShape, FixedWindowState } from "./fixed-window.ts";
import type { SlidingWindowCounterShape, SlidingWindowCounterState } from "./sliding-window-counter.ts";

/** Tokens of a window that holders have on lease. The window counts them as used from the grant on. */
export interface WindowLease {
  /** How many of the used tokens are out and not settled: above 0, and no more than are used. */
  tokens: number;
  /** When the first of them was leased; settlements name it. */
  id: number;
}

/** A window whose tokens can be leased. Without `lease` none are out. */
export interface LeasableWindow {
  lease?: WindowLease;
}

export type LeasableWindowShape = FixedWindowShape | SlidingWindowCounterShape;
export type LeasableWindowState = FixedWindowState | SlidingWindowCounterState;

/** Of what is left in a window, the part that one call may lease: what is out near the end must not be what others wait for. */
const LEASE_PARTS = 4;
/** A window that has less left than this part of a lease's life leases nothing more. */
const LIFE_PARTS = 4;

/** Whether tokens of such a bucket can be leased as those of a window are. A log counts instants, which a holder does not tell. */
export function isLeasableWindow(bucket: BucketShape): bucket is LeasableWindowShape;
export function isLeasableWindow(bucket: BucketState): bucket is LeasableWindowState & BucketState;
export function isLeasableWindow({ kind }: BucketShape | BucketState): boolean {
  return kind === "fixed-window" || kind === "sliding-window-counter";
}

/** Tokens on lease of a window, of any kind. */
export function leasedOfWindow(state: BucketState): number {
  return "lease" in state && state.lease !== undefined ? state.lease.tokens : 0;
}

/**
 * How long tokens that are leased at `nowUs` may live: those of a window end with it. The holder works it out from the reply.
 * @param lifeUs what the holder asked for.
 */
export function leaseLifeUs(state: BucketState, shape: BucketShape, lifeUs: number, nowUs: number): number {
  if (!isLeasableWindow(state) || shape.kind === "token-bucket") return lifeUs;
  return Math.min(lifeUs, state.startUs + shape.periodUs - nowUs);
}

/**
 * Closes `settled` leased tokens of lease `id`, of which `returned` were not spent and count no more. A lease that this window
 * does not know, such as one of the window before, settles nothing.
 */
export function settleWindowLease(
  state: LeasableWindowState,
  shape: LeasableWindowShape,
  id: number,
  settled: number,
  returned: number,
): void {
  const { lease } = state;
  if (lease === undefined || lease.id !== id) return;
  const closed = Math.min(settled, lease.tokens);
  lease.tokens -= closed;
  if (lease.tokens === 0) delete state.lease;
  const back = Math.min(returned, closed);
  if (back > 0) algorithmOf(shape).adjust(state, shape, back);
}

/** Leases up to `wish` tokens and counts them as used. Returns how many, and the lease's id, 0 for none. */
export function grantWindowLease(
  state: LeasableWindowState,
  shape: LeasableWindowShape,
  wish: number,
  lifeUs: number,
  nowUs: number,
): { readonly id: number; readonly tokens: number } {
  const algorithm = algorithmOf(shape);
  const isEnding = LIFE_PARTS * (state.startUs + shape.periodUs - nowUs) < lifeUs;
  const tokens = isEnding ? 0 : Math.min(wish, Math.floor(algorithm.remaining(state, shape) / LEASE_PARTS));
  if (tokens <= 0) return { id: 0, tokens: 0 };
  algorithm.charge(state, shape, tokens);
  state.lease ??= { tokens: 0, id: nowUs };
  state.lease.tokens += tokens;
  return { id: state.lease.id, tokens };
}
