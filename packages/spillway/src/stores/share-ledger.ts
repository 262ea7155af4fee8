import type { Allotment, Beat } from "./store.ts";

/** All of a limit: shares are whole numbers of billionths, so that sums of them are exact. */
export const WHOLE = 1_000_000_000;
/** A share that is above what is due by no more than this factor is left alone: demand is noisy. */
const SLACK = 1.05;

/** What one process may be using, whatever of its replies was lost. */
interface Entry {
  readonly number: number;
  readonly share: number;
  readonly even: number;
  readonly demand: number;
  readonly heardMs: number;
  readonly lifeMs: number;
  readonly offered: Pick<Allotment, "share" | "even">;
}

/**
 * Who shares the limits, and what each may be using of them: pure arithmetic, the model of `lua/allot-shares.lua`.
 *
 * For each process the ledger keeps a ceiling: the larger of what the process said that it uses and of what was last offered to
 * it. A reply may be lost, so only the next beat, which says what is used now, can lower it. What is offered is never more than
 * the ceilings of all others leave. So shares in use never sum to more than the whole, while demand moves, beats or replies
 * are lost or doubled, and processes come and go.
 */
export class ShareLedger {
  readonly #entries = new Map<string, Entry>();
  #share = 0;
  #even = 0;
  #demand = 0;
  #sweptMs = Number.NEGATIVE_INFINITY;

  /** @param nowMs whole, on the store's clock. */
  allot(beat: Beat, nowMs: number): Allotment {
    this.#sweep(beat.lifeMs, nowMs);
    const { id } = beat;
    const known = this.#entries.get(id);
    if (known !== undefined && beat.number <= known.number) return this.#answer(known.offered, beat);
    if (known !== undefined) this.#remove(id, known);
    if (beat.leaves) return this.#answer({ share: 0, even: 0 }, beat);
    const offered = this.#offer(beat);
    const share = Math.max(beat.share, offered.share);
    const even = Math.max(beat.even, offered.even);
    this.#add(id, {
      number: beat.number,
      share,
      even,
      demand: beat.demand,
      heardMs: nowMs,
      lifeMs: beat.lifeMs,
      offered,
    });
    return this.#answer(offered, beat);
  }

  /** What the others leave, towards what is due. */
  #offer({ share, demand, replicas }: Beat): Pick<Allotment, "share" | "even"> {
    const count = this.#entries.size + 1;
    const pool = poolOf(count, replicas);
    const due = dueOf(pool, demand, this.#demand + demand);
    const wanted = share > due && share <= due * SLACK ? share : due;
    return {
      share: Math.max(0, Math.min(wanted, pool - this.#share)),
      even: Math.max(0, Math.min(Math.floor(WHOLE / Math.max(count, replicas)), WHOLE - this.#even)),
    };
  }

  #answer({ share, even }: Pick<Allotment, "share" | "even">, { demand, replicas, leaves }: Beat): Allotment {
    const count = this.#entries.size;
    const due = leaves ? 0 : dueOf(poolOf(count, replicas), demand, this.#demand);
    return { replicas: count, share, even, due, demand: this.#demand };
  }

  /** Now and then, and not at each beat: forgets the processes that were not heard of for their life. */
  #sweep(lifeMs: number, nowMs: number): void {
    if (nowMs >= this.#sweptMs && nowMs - this.#sweptMs < lifeMs / 4) return;
    this.#sweptMs = nowMs;
    for (const [id, entry] of this.#entries)
      if (Math.abs(nowMs - entry.heardMs) >= entry.lifeMs) this.#remove(id, entry);
  }

  #add(id: string, entry: Entry): void {
    this.#entries.set(id, entry);
    this.#share += entry.share;
    this.#even += entry.even;
    this.#demand += entry.demand;
  }

  #remove(id: string, entry: Entry): void {
    this.#entries.delete(id);
    this.#share -= entry.share;
    this.#even -= entry.even;
    this.#demand -= entry.demand;
  }
}

/** What may be given out by demand: the part of processes that are there but were not counted yet is kept for them. */
function poolOf(count: number, replicas: number): number {
  return count >= replicas ? WHOLE : Math.floor((WHOLE * count) / replicas);
}

function dueOf(pool: number, demand: number, ofAll: number): number {
  return ofAll > 0 ? Math.min(pool, Math.floor(pool * (demand / ofAll))) : 0;
}
