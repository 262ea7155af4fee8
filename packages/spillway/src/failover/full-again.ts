import { algorithmOf, type BucketState } from "../algorithms/bucket.ts";
import { logOfEntries } from "../algorithms/sliding-window-log.ts";
import type { TokenBucketShape, TokenBucketState } from "../algorithms/token-bucket.ts";
import type { Policy } from "../policy.ts";
import type { WindowState } from "./window-share.ts";

/**
 * When a bucket would be full if nobody asked for it and its process had no more than the least share, in microseconds of the
 * clock of its state. With that time alone it can be opened again: see `lowerTo`.
 * @param least the policy as a process with that share may use it.
 */
export function fullAgainUs(state: BucketState, { shape }: Policy, least: Policy): number {
  if (state.kind === "token-bucket") return bucketFullUs(state, least.shape as TokenBucketShape);
  if (shape.kind === "token-bucket") return Number.NEGATIVE_INFINITY;
  switch (state.kind) {
    case "fixed-window":
      return state.used > 0 ? state.startUs + shape.periodUs : Number.NEGATIVE_INFINITY;
    case "sliding-window-counter":
      if (state.current > 0) return state.startUs + 2 * shape.periodUs;
      return state.previous > 0 ? state.startUs + shape.periodUs : Number.NEGATIVE_INFINITY;
    case "sliding-window-log":
      return (state.times.at(-1) ?? Number.NEGATIVE_INFINITY) + shape.periodUs;
  }
}

function bucketFullUs(state: TokenBucketState, least: TokenBucketShape): number {
  const missing = least.burst - state.level / state.unitsPerToken;
  if (missing <= 0) return Number.NEGATIVE_INFINITY;
  return state.timeUs + Math.ceil((missing * least.unitsPerToken) / least.unitsPerTick) * least.tickUs;
}

/**
 * Takes from a bucket that has just been opened what one before it had used: a token bucket has no more than the least share has
 * brought since, and a window is used up.
 * @param own the policy as this process may use it now.
 * @param fullUs when the bucket before it is full again.
 */
export function lowerTo(state: BucketState, own: Policy, least: Policy, fullUs: number, nowUs: number): void {
  if (state.kind === "token-bucket") lowerBucket(state, least.shape as TokenBucketShape, fullUs, nowUs);
  else if (fullUs > nowUs) useUp(state, own, fullUs, nowUs);
}

/**
 * At most what the least share can hold: a bucket that is full again had that, whatever the share has been since.
 * Not below empty where it was not: those whose time is not known alone were not below it either.
 */
function lowerBucket(state: TokenBucketState, least: TokenBucketShape, fullUs: number, nowUs: number): void {
  const missing = Math.max(0, ((fullUs - nowUs) / least.tickUs) * least.unitsPerTick) / least.unitsPerToken;
  const left = Math.floor(Math.max(0, least.burst - missing) * state.unitsPerToken);
  state.level = Math.min(state.level, left);
}

/** By as much as the whole policy allows: no share of it has used more. */
function useUp(state: WindowState, { shape, limit }: Policy, fullUs: number, nowUs: number): void {
  if (shape.kind === "token-bucket") return;
  const usedUs = (periods: number): number => Math.min(nowUs, fullUs - periods * shape.periodUs);
  switch (state.kind) {
    case "fixed-window":
      state.startUs = usedUs(1);
      state.used = limit;
      break;
    case "sliding-window-counter":
      state.startUs = usedUs(2);
      Object.assign(state, { previous: 0, current: limit });
      break;
    case "sliding-window-log":
      if (shape.kind === "sliding-window-log") Object.assign(state, logOfEntries(shape, [usedUs(1), limit], nowUs));
  }
  algorithmOf(shape).advance(state, shape, nowUs);
}
