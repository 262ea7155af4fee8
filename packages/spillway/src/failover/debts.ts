import { LRUCache } from "lru-cache";
import type { Policy } from "../policy.ts";
import { advanceOwed, isPaid, type Owed, owedTokens } from "./owed.ts";

/** What went in on a bucket that is kept no more, and the store has not been told of. */
export interface Debt {
  readonly key: string;
  readonly policy: Policy;
  readonly owed: Owed;
  /** `undefined` where refill pays it; else all of it is owed, until then. */
  readonly untilMs: number | undefined;
}

/** One of several that a key has, by policy. */
interface Link extends Debt {
  readonly next: Link | undefined;
}

/** Debts of buckets that were let go. Where there is no room for one more, it or the oldest is dropped, whichever is smaller by then. */
export class Debts {
  readonly #mostKeys: number;
  readonly #byKey: LRUCache<string, Link>;
  /** Keys that this round of `dropPaid` has still to look at, the oldest last. */
  #unlooked: string[] = [];
  /** As long as nothing has changed. */
  #oldest: Link | undefined;

  constructor(mostKeys: number) {
    this.#mostKeys = mostKeys;
    this.#byKey = new LRUCache({ max: mostKeys });
  }

  /** How many keys have some. */
  get size(): number {
    return this.#byKey.size;
  }

  /** @param leftOf what is left of a debt by now. */
  add({ key, policy, owed, untilMs }: Debt, leftOf: (debt: Debt) => number): void {
    if (this.#byKey.size >= this.#mostKeys && !this.#byKey.has(key)) {
      this.#oldest ??= this.#byKey.peek(this.#byKey.rkeys().next().value as string) as Link;
      if (leftOf(this.#oldest) >= owed.unrefilled) return;
    }
    this.#oldest = undefined;
    this.#byKey.set(key, { key, policy, owed, untilMs, next: this.#byKey.get(key) });
  }

  /** Takes the debt of a bucket that is there again: refill pays for each token once, whichever debt it is of. */
  reclaim(key: string, policy: Policy): Debt | undefined {
    const first = this.#byKey.get(key);
    let found: Debt | undefined;
    let rest: Link | undefined;
    for (let link = first; link !== undefined; link = link.next)
      if (link.policy === policy) found = link;
      else rest = { ...link, next: rest };
    if (found === undefined) return undefined;
    this.#oldest = undefined;
    if (rest === undefined) this.#forget(key);
    else this.#byKey.set(key, rest);
    return found;
  }

  /** Looks at `most` keys, from the oldest on and then from the start again, and drops the debts of those where all are paid. */
  dropPaid(share: number, nowMs: number, most: number): void {
    if (this.#unlooked.length === 0) this.#unlooked = [...this.#byKey.keys()];
    for (const key of this.#unlooked.splice(-most)) if (isOver(this.#byKey.peek(key), share, nowMs)) this.#forget(key);
  }

  /** Those that have some, in order of age. */
  keys(): string[] {
    return [...this.#byKey.rkeys()];
  }

  /** Takes those of a key. */
  take(key: string): Debt[] {
    const taken: Debt[] = [];
    for (let link = this.#byKey.get(key); link !== undefined; link = link.next) taken.push(link);
    if (taken.length === 0) return taken;
    this.#forget(key);
    return taken;
  }

  #forget(key: string): void {
    this.#oldest = undefined;
    this.#byKey.delete(key);
    // There may be no next round for long.
    if (this.#byKey.size === 0) this.#unlooked = [];
  }
}

function isOver(first: Link | undefined, share: number, nowMs: number): boolean {
  for (let link = first; link !== undefined; link = link.next) {
    const { untilMs, owed, policy } = link;
    if (untilMs === undefined ? !isPaid(owed, policy, share, nowMs * 1000) : nowMs < untilMs) return false;
  }
  return true;
}

/**
 * What is left of a debt, in whole tokens.
 * @param share nowhere above what the process had since the bucket was let go.
 * @param unnoticedMs as in `owedTokens`.
 */
export function tokensOf({ policy, owed, untilMs }: Debt, share: number, unnoticedMs: number, nowMs: number): number {
  if (untilMs !== undefined) return nowMs < untilMs ? Math.min(owed.admitted, policy.capacity) : 0;
  advanceOwed(owed, policy, share, Math.floor(nowMs * 1000));
  return owedTokens(owed, policy, share, unnoticedMs);
}
