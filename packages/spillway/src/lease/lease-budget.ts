/**
 * How much to lease, for how long, and when to ask again: arithmetic on numbers, without clock or I/O. Times in milliseconds
 * here, since the lives of leases are measured on this process's clocks; the store's side is in microseconds.
 */
import { isLeasableWindow } from "../algorithms/window-lease.ts";
import type { Policy } from "../policy.ts";

/** A drain target below this is not worth a lease: the round trip would eat it. */
const SHORTEST_DRAIN_MS = 5;
/** Fewer tokens per drain than this, and a lease saves no call. */
const LEAST_WISH = 3;

/** A window of fewer tokens is used up before a lease saves a call. */
const LEAST_WINDOW = 20;

/**
 * How long the tokens of one lease should last: half the time in which the bucket fills, or half a window, at most `maxDrainMs`.
 * `undefined` for a policy too small to batch, and for a log, which cannot be leased; they are asked of the store each time.
 */
export function drainMs(policy: Policy, maxDrainMs: number): number | undefined {
  const { shape, limit, periodMs } = policy;
  if (shape.kind !== "token-bucket" && (!isLeasableWindow(shape) || limit < LEAST_WINDOW)) return undefined;
  const halfFullMs = shape.kind === "token-bucket" ? (shape.burst * periodMs) / limit / 2 : periodMs / 2;
  return halfFullMs < SHORTEST_DRAIN_MS ? undefined : Math.min(halfFullMs, maxDrainMs);
}

/** How long leased tokens count in the store: those of a bucket then come back by themselves, those of a window never do. */
export function escrowLifeMs(drain: number): number {
  return 2 * drain;
}

/** How long, of that life, the holder may spend them: the rest is for returns to arrive in time. */
export function spendLifeMs(lifeMs: number): number {
  return (lifeMs * 3) / 4;
}

/** How far the monotonic and the wall clock may part before a lease counts as over: one of them was stopped or stepped. */
export function clockToleranceMs(lifeMs: number): number {
  return lifeMs / 4 + 2;
}

/** After so much silence a holder settles and gives back what it has. */
export function settleAfterMs(drain: number): number {
  return 0.8 * drain;
}

/**
 * Tokens to wish for: what this holder's callers will ask for in one drain time, less what it holds.
 * @param weight its decayed demand, which counts two drain times.
 */
export function wishOf(weight: number, held: number): number {
  const perDrain = weight / 2;
  return perDrain < LEAST_WISH ? 0 : Math.max(0, Math.floor(perDrain) - held);
}

/** What is held when it is time to ask again: what goes in one and a half slow round trips. */
export function watermarkOf(weight: number, drain: number, roundTripMs: number): number {
  return Math.min(Math.ceil((1.5 * weight * roundTripMs) / (2 * drain)), Math.floor(weight / 4));
}

/** Whether a cost feeds the wish: one large ask is no sign of many. */
export function feedsWish(cost: number, capacity: number): boolean {
  return cost <= 1 || cost <= capacity / 16;
}
