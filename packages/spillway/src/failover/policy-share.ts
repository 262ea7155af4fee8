import { algorithmOf, type BucketShape, type BucketState } from "../algorithms/bucket.ts";
import { tokenBucketShape } from "../algorithms/token-bucket.ts";
import type { Policy } from "../policy.ts";
import { windowShare } from "./window-share.ts";

const LONGEST_PERIOD_US = Number.MAX_SAFE_INTEGER;

/**
 * A policy for one process alone: that part of its rate and of its burst, or of its window.
 * @param share from 0 to 1. However small, one token at a time can be saved up, since a burst of less admits nobody.
 */
export function shareOfPolicy(policy: Policy, share: number): Policy {
  const shape = shareOfShape(policy, share);
  return { ...policy, shape, capacity: algorithmOf(shape).capacity(shape) };
}

/** Whether two policies of one name count alike: limiters of one process may each have their own of what is one bucket. */
export function isSamePolicy(one: Policy, other: Policy): boolean {
  if (one === other) return true;
  const others = other.shape as unknown as Readonly<Record<string, unknown>>;
  return one.name === other.name && Object.entries(one.shape).every(([name, value]) => others[name] === value);
}

/** Policies as one process may use them, for one share at a time. */
export class SharesOfPolicies {
  readonly #known = new WeakMap<Policy, { readonly share: number; readonly own: Policy }>();

  of(policy: Policy, share: number): Policy {
    const known = this.#known.get(policy);
    if (known?.share === share) return known.own;
    const own = shareOfPolicy(policy, share);
    this.#known.set(policy, { share, own });
    return own;
  }
}

/** A key that was not seen for so long, nor for as long as its bucket takes to fill, begins with a share of the burst. */
const LONG_UNSEEN_MS = 60_000;

export function isUnseenForLong({ shape }: Policy, seenMs: number, nowMs: number): boolean {
  const quietMs = nowMs - seenMs;
  return quietMs >= LONG_UNSEEN_MS && (shape.kind !== "token-bucket" || quietMs * 1000 >= shape.fullUs);
}

function shareOfShape({ shape, limit, periodUs }: Policy, share: number): BucketShape {
  if (shape.kind !== "token-bucket") return windowShare(shape, share);
  const sharePeriodUs = Math.ceil(periodUs / share);
  const burst = Math.max(1, shape.burst * share);
  if (sharePeriodUs <= LONGEST_PERIOD_US) return tokenBucketShape(limit, sharePeriodUs, burst);
  const part = Math.floor((limit * share * LONGEST_PERIOD_US) / periodUs);
  return tokenBucketShape(Math.max(1, part), LONGEST_PERIOD_US, burst);
}

/**
 * Tokens that a share of a bucket starts with.
 * @param elapsedUs since when it has filled; below 0: when it will begin to.
 * @param least tokens that it has in any case, as far as it can hold them.
 */
export function startBucket(state: BucketState, { shape }: Policy, elapsedUs: number, least: number): void {
  if (state.kind !== "token-bucket" || shape.kind !== "token-bucket") return;
  const full = state.level;
  const filled = shape.unitsPerTick * Math.floor(elapsedUs / shape.tickUs);
  state.level = Math.max(-full, Math.min(full, Math.max(filled, least * shape.unitsPerToken)));
}

/** What a bucket gains in a time, as if it had passed; never above full. */
export function addRefill(state: BucketState, shape: BucketShape, us: number): void {
  if (state.kind !== "token-bucket" || shape.kind !== "token-bucket") return;
  const full = Math.floor(shape.burst * shape.unitsPerToken);
  state.level = Math.min(Math.max(full, state.level), state.level + shape.unitsPerTick * Math.floor(us / shape.tickUs));
}

/**
 * Sets tokens that are there aside until `deathUs`: what may still go in keeps its place, so that what fills the bucket meanwhile
 * and what comes back make no more than it can hold.
 */
export function reserve(state: BucketState, shape: BucketShape, tokens: number, deathUs: number): void {
  algorithmOf(shape).charge(state, shape, tokens);
  if (state.kind !== "token-bucket") return;
  state.newer.tokens += tokens;
  state.newer.deathUs = Math.max(state.newer.deathUs, deathUs);
}

/** Ends a reservation. One that has died meanwhile is spent. */
export function settle(state: BucketState, shape: BucketShape, tokens: number, isSpent: boolean): void {
  if (state.kind !== "token-bucket") {
    if (!isSpent) algorithmOf(shape).adjust(state, shape, tokens);
    return;
  }
  const open = Math.min(tokens, state.newer.tokens);
  state.newer.tokens -= open;
  if (!isSpent && open > 0) algorithmOf(shape).adjust(state, shape, open);
}
