import { bindingOf } from "../decide.ts";
import type { Decision } from "../decision.ts";
import type { LastView } from "../failover/backstop.ts";
import type { LaneBackstop } from "../failover/degraded-lanes.ts";
import type { PolicySet } from "../policy-set.ts";
import type { Caller } from "./caller.ts";
import type { Denial } from "./denial.ts";
import type { LaneLease } from "./lane-lease.ts";

/** Why a call is wanted though nobody waits: to fetch tokens early, or to settle and give back. */
export type Errand = "prefetch" | "settle";

/** Shared by all lanes on which nobody waits. */
export const NOBODY: Caller[] = Object.freeze([]) as unknown as Caller[];

/** What this process keeps for one key: who waits, what is leased, what the store last refused, what the backstop has left. */
export class Lane {
  readonly key: string;
  readonly set: PolicySet;
  /** The key of each policy, where one ask is about several keys; then `key` only tells such lanes apart. */
  readonly keys: readonly string[] | undefined;
  /** Callers not yet sent, in order of arrival. Changed by `append` and by being replaced. */
  waiting: Caller[] = NOBODY;
  errand: Errand | undefined;
  /** Whether the lane is in line to be sent. */
  posted = false;
  /** Whether the key has another lane by now, since its policies have changed. */
  superseded = false;
  /** Whether a call for this key is under way; the next one takes all who came meanwhile. */
  inFlight = false;
  lastAskedMs: number = Number.NEGATIVE_INFINITY;
  /** When the store last decided for this key, or its share did; `undefined` as long as only `Lanes` can tell. */
  decidedMs: number | undefined;
  lease: LaneLease | undefined;
  denial: Denial | undefined;
  /** In use while the store cannot answer; let go when it answers again. */
  backstop: LaneBackstop | undefined;
  /** How the store last said that the windows of this key stand. */
  view: LastView | undefined;

  constructor(key: string, set: PolicySet, keys?: readonly string[]) {
    this.key = key;
    this.set = set;
    this.keys = keys;
  }

  /** The key of a policy. */
  keyOf(index: number): string {
    return this.keys === undefined ? this.key : (this.keys[index] as string);
  }

  /** A decision as its caller is told it: with the key of the binding policy. */
  told<D extends Decision>(decision: D): D {
    const { keys } = this;
    if (keys === undefined) return decision;
    return { ...decision, key: keys[bindingOf(decision)] as string, keys };
  }

  append(caller: Caller): void {
    if (this.waiting.length === 0) this.waiting = [caller];
    else this.waiting.push(caller);
  }

  /** Whether there is more to remember than when it was last decided for. */
  get isWorthKeeping(): boolean {
    const { lease, denial, backstop, view } = this;
    return lease !== undefined || denial !== undefined || backstop !== undefined || view !== undefined;
  }
}
