import { algorithmOf, type BucketShape, type BucketState } from "../algorithms/bucket.ts";
import type { SlidingWindowLogShape, SlidingWindowLogState } from "../algorithms/sliding-window-log.ts";
import { logOfEntries } from "../algorithms/sliding-window-log.ts";
import type { TokenBucketShape, TokenBucketState } from "../algorithms/token-bucket.ts";

export type WindowShape = Exclude<BucketShape, TokenBucketShape>;
export type WindowState = Exclude<BucketState, TokenBucketState>;

/** Parts are written with nine digits: a third of 60 is 20 all the same. */
const ROUNDING = 1e-3;

/**
 * One process's part of a window policy, at least one token. A share's windows begin with its first use: the clock that aligned
 * windows follow is the store's.
 * @param part from 0 to 1, as all parts here.
 */
export function windowShare(shape: WindowShape, part: number): WindowShape {
  const limit = Math.max(1, roundedDown(shape.limit, part));
  return shape.kind === "fixed-window" ? { ...shape, limit, aligned: false } : { ...shape, limit };
}

/**
 * How a window may have stood when the store went away. Who spends leased tokens does not ask, and hears nothing of what others
 * take meanwhile: they are taken to have gone on at the pace of the window so far.
 * @param others their part of the limit, from 0 to 1.
 * @param storeUs when the window stood as `seen` on the store's clock.
 * @param unseenUs from then until the store went away, as far as leases were spent; 0 where none are.
 * @param leaseUs how long a lease is spent. In a window that is younger no more than its tokens are taken to have come again.
 */
export function windowSince(
  seen: WindowState,
  shape: WindowShape,
  others: number,
  storeUs: number,
  unseenUs: number,
  leaseUs: number,
): WindowState {
  if (seen.kind === "sliding-window-log" || unseenUs <= 0) return seen;
  const used = seen.kind === "fixed-window" ? seen.used : seen.current;
  const since = { ...seen };
  const pacePerUs = used / Math.max(storeUs - seen.startUs, leaseUs);
  algorithmOf(shape).charge(since, shape, Math.ceil(pacePerUs * others * unseenUs));
  return since;
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
  part: number,
  aheadUs: number,
  nowUs: number,
): WindowState {
  if (seen.kind === "sliding-window-log") return logShare(seen, share as SlidingWindowLogShape, part, aheadUs, nowUs);
  // What is on lease is among the used; nothing of a share is leased.
  const startUs = seen.startUs - aheadUs;
  if (seen.kind === "sliding-window-counter") {
    const [previous, current] = [roundedUp(seen.previous, part), roundedUp(seen.current, part)];
    return { kind: seen.kind, startUs, previous, current, nowUs };
  }
  const left = roundedDown(algorithmOf(shape).remaining(seen, shape), part);
  return { kind: seen.kind, startUs, used: Math.max(0, share.limit - left) };
}

/** Of what is still used at each time, this process's part, rounded up. */
function logShare(
  { times, tokens, used }: SlidingWindowLogState,
  share: SlidingWindowLogShape,
  part: number,
  aheadUs: number,
  nowUs: number,
): SlidingWindowLogState {
  const entries: number[] = [];
  let left = used;
  let own = roundedUp(left, part);
  for (const [i, timeUs] of times.entries()) {
    left -= tokens[i] as number;
    const later = roundedUp(left, part);
    if (own > later) entries.push(timeUs - aheadUs, own - later);
    own = later;
  }
  return logOfEntries(share, entries, nowUs);
}

function roundedDown(tokens: number, part: number): number {
  return Math.floor(tokens * part + ROUNDING);
}

function roundedUp(tokens: number, part: number): number {
  return Math.ceil(tokens * part - ROUNDING);
}
