import type { Policy } from "../policy.ts";

/** Tokens of one policy that went in without the store. */
export interface Owed {
  admitted: number;
  /**
   * Of these, what refill has not made up for. While nobody asks it, the store's bucket fills, and then its refill goes to
   * waste: from then on this process's part of the refill pays for what it admitted.
   */
  unrefilled: number;
  readonly sinceUs: number;
  refilledUs: number;
}

export function newOwed(nowUs: number): Owed {
  return { admitted: 0, unrefilled: 0, sinceUs: nowUs, refilledUs: nowUs };
}

/** Must be called with a share that is nowhere above what the process had since the last time. */
export function advanceOwed(owed: Owed, { shape, limit, periodUs }: Policy, share: number, nowUs: number): void {
  if (shape.kind !== "token-bucket") return;
  const fromUs = Math.max(owed.refilledUs, owed.sinceUs + shape.fullUs);
  if (nowUs > fromUs) owed.unrefilled = Math.max(0, owed.unrefilled - share * (nowUs - fromUs) * (limit / periodUs));
  owed.refilledUs = Math.max(owed.refilledUs, nowUs);
}

/**
 * What the store is to take from its bucket, in whole tokens. Together, all processes' reports bring it to where it would be if it
 * had decided itself, or below.
 * @param unnoticedMs for how long the store may have been back: others may have told it of theirs, and its refill since then
 * did not go to waste.
 */
export function owedTokens(owed: Owed, { limit, periodUs }: Policy, share: number, unnoticedMs: number): number {
  const unwasted = share * unnoticedMs * 1000 * (limit / periodUs);
  return Math.ceil(Math.min(owed.admitted, owed.unrefilled + unwasted));
}
