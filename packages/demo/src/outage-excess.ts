import type { AwaySpan } from "./outage-tally.ts";

/**
 * What workers with a share of the limit each may admit beyond the bound when they lose the store and find it again: parts
 * that add up, in requests.
 */
export interface OutageExcess {
  /** A key that a worker has not seen begins with its share of the burst, and never with less than one. */
  readonly shares: number;
  /** What the bucket in the store saves up while nobody asks it. */
  readonly savedUp: number;
  /** What the shares of workers that decide alone admit while others are with the store. */
  readonly apart: number;
}

/**
 * The excess that one outage allows.
 * @param away when each worker decided without the store; `null` for one that never did.
 */
export function outageExcess(
  away: readonly (AwaySpan | null)[],
  limit: { readonly limit: number; readonly periodMs: number; readonly burst: number },
): OutageExcess {
  const perMs = limit.limit / limit.periodMs;
  const spans = away.map((span) => span ?? { fromMs: 0, toMs: 0 });
  const first = Math.min(...spans.map(({ toMs }) => toMs));
  const togetherMs = Math.max(0, first - Math.max(...spans.map(({ fromMs }) => fromMs)));
  const apartMs = spans.reduce((sum, { fromMs, toMs }) => sum + Math.max(0, toMs - fromMs - togetherMs), 0);
  return {
    shares: away.length * Math.max(1, limit.burst / away.length),
    savedUp: Math.min(limit.burst, perMs * togetherMs),
    apart: (perMs * apartMs) / away.length,
  };
}
