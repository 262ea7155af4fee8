import type { Standing } from "../lease/lane-lease.ts";
import type { Policy } from "../policy.ts";

/**
 * For how long after a store went away its bucket can be full with tokens out on lease. Refill that would be lost meanwhile is not
 * the shares' either: what is leased and what the shares have must never be more than the bucket would hold. Where bucket and
 * leases together cannot come to a burst before the last lease is over, shares fill at once.
 * @param lifeMs how long a lease may be spent.
 * @param stood how the bucket last stood; unknown where this process has no lease of it.
 */
export function leaseStandsMs(
  { shape, limit, periodMs }: Policy,
  lifeMs: number,
  stood: Standing | undefined,
  awaySinceMs: number,
): number {
  if (shape.kind !== "token-bucket" || stood === undefined) return lifeMs;
  const perMs = limit / periodMs;
  const most = stood.tokens + perMs * (awaySinceMs + lifeMs - stood.sentMs);
  return Math.min(lifeMs, Math.max(0, (most - shape.burst) / perMs));
}
