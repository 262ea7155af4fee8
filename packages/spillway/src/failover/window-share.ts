import { algorithmOf, type BucketShape, type BucketState } from "../algorithms/bucket.ts";
import type { SlidingWindowLogShape, SlidingWindowLogState } from "../algorithms/sliding-window-log.ts";
import { logOfEntries } from "../algorithms/sliding-window-log.ts";
import type { TokenBucketShape, TokenBucketState } from "../algorithms/token-bucket.ts";

export type WindowShape = Exclude<BucketShape, TokenBucketShape>;
export type WindowState = Exclude<BucketState, TokenBucketState>;

/**
 * One process's part of a window policy, at least one token. A share's windows begin with its first use: the clock that aligned
 * windows follow is the store's.
 */
export function windowShare(shape: WindowShape, replicas: number): WindowShape {
  const limit = Math.max(1, Math.floor(shape.limit / replicas));
  return shape.kind === "fixed-window" ? { ...shape, limit, aligned: false } : { ...shape, limit };
}

/**
 * What a share begins with where the store has told how the whole stands: its part of what was left, which comes back when the
 * whole would.
 * @param seen how the window stood, as `advance` left it for `shape`.
 * @param aheadUs what the clock of `seen` is ahead of the share's.
 */
export function windowShareOf(
  seen: WindowState,
  shape: WindowShape,
  share: WindowShape,
  replicas: number,
  aheadUs: number,
  nowUs: number,
): WindowState {
  if (seen.kind === "sliding-window-log")
    return logShare(seen, share as SlidingWindowLogShape, replicas, aheadUs, nowUs);
  const startUs = seen.startUs - aheadUs;
  if (seen.kind === "sliding-window-counter") {
    const [previous, current] = [Math.ceil(seen.previous / replicas), Math.ceil(seen.current / replicas)];
    return { ...seen, startUs, previous, current, nowUs };
  }
  const left = Math.floor(algorithmOf(shape).remaining(seen, shape) / replicas);
  return { ...seen, startUs, used: Math.max(0, share.limit - left) };
}

/** Of what is still used at each time, this process's part, rounded up. */
function logShare(
  { times, tokens, used }: SlidingWindowLogState,
  share: SlidingWindowLogShape,
  replicas: number,
  aheadUs: number,
  nowUs: number,
): SlidingWindowLogState {
  const entries: number[] = [];
  let left = used;
  let part = Math.ceil(left / replicas);
  for (const [i, timeUs] of times.entries()) {
    left -= tokens[i] as number;
    const later = Math.ceil(left / replicas);
    if (part > later) entries.push(timeUs - aheadUs, part - later);
    part = later;
  }
  return logOfEntries(share, entries, nowUs);
}
