import { LRUCache } from "lru-cache";
import type { PolicySet } from "../policy-set.ts";
import type { Lane } from "./lane.ts";
import { RecentKeys } from "./recent-keys.ts";

/** How many keys more than those with lanes are known to have been decided for. */
const RECENT_PER_KEPT = 8;
/** Of longer keys (in UTF-16 code units) fewer are kept: who may choose their key must not choose how much memory it takes. */
const LONGEST_USUAL = 2048;
const KEPT_PER_LONG = 64;

/**
 * The lanes of this process: those at work, with callers, a call under way or leased tokens, and of the others the ones with
 * something to remember, at most `maxKeys` of these, and a 64th as many whose keys are long. Of all other keys no more is kept
 * than when the store last decided for them.
 */
export class Lanes {
  readonly #atWork = new Map<string, Lane>();
  readonly #kept: LRUCache<string, Lane>;
  readonly #keptLong: LRUCache<string, Lane>;
  readonly #recent: RecentKeys;

  constructor(maxKeys: number) {
    this.#recent = new RecentKeys(maxKeys * RECENT_PER_KEPT);
    const dispose = (lane: Lane, key: string, reason: string): void => {
      if (reason === "evict") this.#recent.note(key, lane.decidedMs ?? Number.NEGATIVE_INFINITY);
    };
    this.#kept = new LRUCache({ max: maxKeys, dispose, noDisposeOnSet: true });
    const mostLong = Math.ceil(maxKeys / KEPT_PER_LONG);
    this.#keptLong = new LRUCache({ max: mostLong, dispose, noDisposeOnSet: true });
  }

  /** How many keys have one. */
  get size(): number {
    let size = this.#kept.size + this.#keptLong.size;
    for (const key of this.#atWork.keys()) if (!this.#keptWith(key).has(key)) size++;
    return size;
  }

  /** The lane of a key, if there is one with these policies. */
  find(key: string, set: PolicySet): Lane | undefined {
    const lane = this.#atWork.get(key);
    return lane?.set === set ? lane : this.#findKept(key, set);
  }

  #findKept(key: string, set: PolicySet): Lane | undefined {
    const those = this.#keptWith(key);
    const kept = those.size === 0 ? undefined : those.get(key);
    return kept?.set === set ? kept : undefined;
  }

  #keptWith(key: string): LRUCache<string, Lane> {
    return key.length > LONGEST_USUAL ? this.#keptLong : this.#kept;
  }

  /** When the key of a lane was last decided for; minus infinity when nothing is known of it. */
  decidedMs(lane: Lane, nowMs: number): number {
    lane.decidedMs ??= this.#recent.lastMs(lane.key, nowMs);
    return lane.decidedMs;
  }

  /** The key of a lane is as if it had never been decided for. */
  forgetDecided(lane: Lane): void {
    lane.decidedMs = Number.NEGATIVE_INFINITY;
    this.#recent.forget(lane.key);
  }

  /** Of a lane that wants a call: whoever comes meanwhile must find it. */
  enter(lane: Lane): void {
    const other = this.#atWork.get(lane.key);
    if (other === lane || lane.superseded) return;
    if (other !== undefined) other.superseded = true;
    this.#atWork.set(lane.key, lane);
  }

  /** Of a lane that nobody waits on any more, and that holds nothing that must be given back. */
  leave(lane: Lane): void {
    if (lane.superseded) return;
    const { key } = lane;
    this.#atWork.delete(key);
    if (lane.isWorthKeeping) this.#keptWith(key).set(key, lane);
    else if (lane.decidedMs !== undefined) this.#recent.note(key, lane.decidedMs);
  }

  /** Of a lane that was decided for without a call, and has got nothing else to remember. */
  noteDecided(lane: Lane, nowMs: number): void {
    lane.decidedMs = nowMs;
    this.#recent.note(lane.key, nowMs);
  }

  /** Of a lane that has got something to remember without a call. */
  keep(lane: Lane): void {
    this.#keptWith(lane.key).set(lane.key, lane);
  }
}
