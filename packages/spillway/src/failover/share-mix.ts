import { WHOLE } from "../stores/share-ledger.ts";

/**
 * What part of each limit a process uses while the store is away: arithmetic on numbers. Every process mixes a share that
 * followed demand with one that is the same for all; each of the two sums to at most 1 over all processes, and so does any
 * mix of them that is the same for all.
 */

/** This part of a limit is always given out evenly, so that a process that nobody had asked anything can admit a little. */
const EVEN_PART = 0.1;
/** So long a process's share by demand is trusted; after that it fades, since load moves. */
const TRUST_MS = 30_000;
const FADE_MS = 60_000;

/** What the store last offered, in billionths. */
export interface HeldShares {
  readonly share: number;
  readonly even: number;
}

/**
 * The part of each limit, from 0 to 1.
 * @param sinceHeardMs for how long the store has not spoken to this process of shares: at least as long as it is away.
 * @param sinceAwayMs for how long this process knows that the store is away: at most as long as it is.
 *
 * The mix need not be the same at each instant: a share above the even one fades by the longer time, one below it grows by the
 * shorter. So whoever gives way does it first, and nowhere does the sum pass 1.
 */
export function shareInUse({ share, even }: HeldShares, sinceHeardMs: number, sinceAwayMs: number): number {
  // In whole seconds, against the side that would get more: so a share is a new one once a second at most.
  const seconds = share > even ? Math.ceil(sinceHeardMs / 1000) : Math.floor(sinceAwayMs / 1000);
  const byDemand = (1 - EVEN_PART) * trustAfter(seconds * 1000);
  return (byDemand * share + (1 - byDemand) * even) / WHOLE;
}

/** The least that {@link shareInUse} can come to, whatever time passes. */
export function leastInUse({ share, even }: HeldShares): number {
  return Math.min(even, (1 - EVEN_PART) * share + EVEN_PART * even) / WHOLE;
}

function trustAfter(ms: number): number {
  return Math.min(1, Math.max(0, 1 - (ms - TRUST_MS) / FADE_MS));
}
