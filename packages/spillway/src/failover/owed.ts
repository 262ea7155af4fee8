import type { Policy } from "../policy.ts";

/** Tokens of one policy that went in without the store. */
export interface Owed {
  admitted: number;
  /**
   * Of these, what refill has not made up for. While nobody asks it, the store's bucket fills, and then its refill goes to
   * waste: from then on this process's part of the refill pays for what it admitted.
   */
  unrefilled: number;
  /** Refill from then on has still to pay. */
  paidUntilUs: number;
}

/** For how long refill is not counted on when it is asked whether all is paid: the store may be back by then, unnoticed. */
const UNSURE_US = 5_000_000;

export function newOwed({ shape }: Policy, nowUs: number): Owed {
  const fillsUs = shape.kind === "token-bucket" ? shape.fullUs : 0;
  return { admitted: 0, unrefilled: 0, paidUntilUs: nowUs + fillsUs };
}

/** Must be called with a share that is nowhere above what the process had since the last time. */
export function advanceOwed(owed: Owed, { shape, limit, periodUs }: Policy, share: number, nowUs: number): void {
  if (shape.kind !== "token-bucket") return;
  const elapsedUs = nowUs - owed.paidUntilUs;
  if (elapsedUs <= 0) return;
  owed.unrefilled = Math.max(0, owed.unrefilled - share * elapsedUs * (limit / periodUs));
  owed.paidUntilUs = nowUs;
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

/** Whether refill has paid for all that went in, so that the store need not be told of it, whenever it is back. */
export function isPaid(owed: Owed, { limit, periodUs }: Policy, share: number, nowUs: number): boolean {
  if (owed.admitted === 0) return true;
  return share * (nowUs - UNSURE_US - owed.paidUntilUs) * (limit / periodUs) >= owed.unrefilled;
}
