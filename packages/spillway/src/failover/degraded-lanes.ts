import type { BucketState } from "../algorithms/bucket.ts";
import type { Clock } from "../clock.ts";
import type { Decision } from "../decision.ts";
import type { Lane } from "../lease/lane.ts";
import type { Lanes } from "../lease/lanes.ts";
import { escrowLifeMs, spendLifeMs } from "../lease/lease-budget.ts";
import type { Policy, StoreFailureMode } from "../policy.ts";
import type { PolicySet } from "../policy-set.ts";
import type { Counters } from "../stats.ts";
import type { Store } from "../stores/store.ts";
import { Backstop, type BackstopBucket, type BackstopStart } from "./backstop.ts";
import { BlockedKeys } from "./blocked-keys.ts";
import { CommonReturn } from "./common-return.ts";
import { leaseStandsMs } from "./lease-stands.ts";
import type { LetGoBuckets } from "./let-go-buckets.ts";
import type { Absence, NodeGuards } from "./node-guards.ts";
import { type ProcessBuckets, processBucketsOf } from "./process-buckets.ts";
import { Repayments } from "./repayments.ts";
import type { Phase, ReplicaShares, ShareUser } from "./replica-shares.ts";
import { Rounds } from "./rounds.ts";
import type { ShareBuckets } from "./share-buckets.ts";

export interface DegradedLanesOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly deadlineMs: number;
  readonly maxKeys: number;
  readonly replicas: number;
  readonly onStoreFailure: StoreFailureMode;
  readonly counters: Counters;
  readonly lanes: Lanes;
  readonly guards: NodeGuards;
  /** The drain time of a set's leases; `undefined` for a set that is never leased. */
  drainMsOf(set: PolicySet): number | undefined;
}

/** What a lane has to do with the shares. Its buckets may belong to other lanes too, whose asks are about several keys. */
export interface LaneBackstop {
  readonly buckets: readonly BackstopBucket[];
  /** Of the buckets: another one means that some of them may have been let go. */
  readonly age: number;
  /** Callers whose cost is charged to the share and who wait for the store's word. */
  reserved: number;
}

/** Names a round through all that can be told. */
const ALL = "all";

type KnownStart = Omit<BackstopStart, "leaseMs" | "withheldMs">;

/** Lanes that are decided for without the store, and held to their share for a while once it is back. */
export class DegradedLanes implements ShareUser {
  readonly replicas: number;
  readonly #options: DegradedLanesOptions;
  readonly #process: ProcessBuckets;
  readonly #backstop: Backstop;
  readonly #repayments: Repayments;
  readonly #returns: CommonReturn;
  readonly #blocked: BlockedKeys;
  readonly #rounds: Rounds;
  /** When the store was not back yet for sure, for those who are told of in the round through all. */
  #awayUntilMs = 0;

  constructor(options: DegradedLanesOptions) {
    const { store, clock, deadlineMs, maxKeys, replicas, onStoreFailure } = options;
    this.#options = options;
    this.replicas = replicas;
    this.#process = processBucketsOf(store, clock, maxKeys);
    this.#backstop = new Backstop((awaySinceMs) => this.#shares.inUse(awaySinceMs), onStoreFailure);
    this.#repayments = new Repayments(store, clock, 2 * deadlineMs, 2 * maxKeys, (key) => this.#canTell(key));
    this.#returns = new CommonReturn(clock, deadlineMs, (node) => this.#end(node));
    this.#blocked = new BlockedKeys(maxKeys);
    this.#rounds = new Rounds(clock);
    this.#shares.join(this);
  }

  get #shares(): ReplicaShares {
    return this.#process.shares;
  }

  get #buckets(): ShareBuckets {
    return this.#process.buckets;
  }

  get #letGo(): LetGoBuckets {
    return this.#process.letGo;
  }

  /** Called when a decision is asked of the store. */
  noteAtWork(): void {
    this.#shares.noteAtWork();
  }

  decided(): number {
    const { allowed, refused } = this.#options.counters;
    return allowed + refused;
  }

  get hasCallersWaiting(): boolean {
    return this.#options.guards.isAsked;
  }

  /** How many keys have a share that was asked for. */
  get keys(): number {
    return this.#buckets.keys;
  }

  /** How many processes share the limits. */
  get processes(): number {
    return this.#shares.replicas;
  }

  /** The part of each limit that this process could use if the store went away now. */
  get share(): number {
    return this.#shares.inUse(this.#options.clock.monotonicMs());
  }

  /** Whether a part of the store is coming back, so that callers may have to be held to the share. Read at each decision. */
  get isReturning(): boolean {
    return this.#returns.isUnderWay;
  }

  phase(): Phase {
    if (this.#returns.isEnding) return "returning";
    return this.#options.guards.isAnswering ? "ready" : "away";
  }

  awaySinceMs(key: string): number | undefined {
    const { guards } = this.#options;
    const guard = guards.guardOf(guards.groupOf(key));
    // One that answers probes is back, though nobody has asked it for a decision yet.
    const guardSinceMs = guard.state.kind === "half-open" ? undefined : guard.awaySinceMs;
    return guardSinceMs ?? this.#returns.awaySinceMs(guards.nodeOf(key));
  }

  /** A decision without the store: no where the key is known to be blocked, else by this process's share, or as the policies say. */
  decide(lane: Lane, costs: readonly number[]): Decision {
    const { clock } = this.#options;
    const nowMs = clock.monotonicMs();
    const blocked = this.#blocked.refuse(lane, costs, nowMs);
    if (blocked !== undefined) return blocked;
    const { guards, lanes } = this.#options;
    const { isOverdue } = guards.guardOf(guards.groupOf(lane.keyOf(0)));
    const awaySinceMs = this.awaySinceMs(lane.keyOf(0)) ?? nowMs;
    const { buckets } = this.#backstopOf(lane, awaySinceMs, nowMs);
    lanes.noteDecided(lane, nowMs);
    return this.#backstop.decide(lane.key, costs, buckets, awaySinceMs, Math.floor(nowMs * 1000), isOverdue);
  }

  /** Whether what is admitted on this lane has to be charged to the share as well. */
  isHeld(lane: Lane): boolean {
    return this.#isHeld(lane.keyOf(0));
  }

  /** Of a lane that is held: the refusal by the share, or `undefined` where it has room. */
  hold(lane: Lane, costs: readonly number[]): Decision | undefined {
    const { clock } = this.#options;
    const nowMs = clock.monotonicMs();
    const awaySinceMs = this.awaySinceMs(lane.keyOf(0)) ?? nowMs;
    const { buckets } = this.#backstopOf(lane, awaySinceMs, nowMs);
    return this.#backstop.hold(lane.key, costs, buckets, awaySinceMs, Math.floor(nowMs * 1000));
  }

  /** Charges the share of a lane that is held for what went in by a lease. */
  charge({ backstop }: Lane, costs: readonly number[]): void {
    if (backstop !== undefined) this.#backstop.charge(costs, backstop.buckets);
  }

  /** The same for a caller who is going to ask the store. What comes of it goes to `settle`. */
  reserve({ backstop }: Lane, costs: readonly number[]): LaneBackstop | undefined {
    if (backstop === undefined) return undefined;
    const { clock, deadlineMs } = this.#options;
    const deathUs = Math.floor((clock.monotonicMs() + 2 * deadlineMs) * 1000);
    this.#backstop.reserve(costs, backstop.buckets, deathUs);
    backstop.reserved++;
    return backstop;
  }

  /** A degraded decision has taken care of the reservation already. */
  settle(reserved: LaneBackstop | undefined, costs: readonly number[], decision: Decision): void {
    if (reserved === undefined || decision.degraded) return;
    reserved.reserved--;
    const isSpent = decision.allowed && decision.waived === undefined;
    this.#backstop.settle(costs, reserved.buckets, isSpent);
  }

  /** As {@link decide}, for a caller who has asked the store in vain: what was reserved is given back first. */
  decideAsked(lane: Lane, costs: readonly number[]): Decision {
    const { backstop } = lane;
    if (backstop !== undefined && backstop.reserved > 0) {
      backstop.reserved--;
      this.#backstop.settle(costs, backstop.buckets, false);
    }
    return this.decide(lane, costs);
  }

  /** The store has decided for a lane: it is told what went in there without it. */
  onAnswered(lane: Lane): void {
    if (this.#buckets.keys > 0) {
      // Where the round through all may not have come to it yet, it is told here what it would be told there.
      const unnoticedMs = this.#rounds.has(ALL) ? this.#options.clock.monotonicMs() - this.#awayUntilMs : 0;
      for (const [i, { name }] of lane.set.policies.entries()) {
        const bucket = this.#buckets.find(lane.keyOf(i), name);
        if (bucket !== undefined) this.#tell(bucket, unnoticedMs);
      }
    }
    if (lane.backstop !== undefined && !this.isHeld(lane)) lane.backstop = undefined;
  }

  /** A node answers again: it is told of every key what went in without it, also of those that nobody asks for any more. */
  onAnswering(node: string, { awaySinceMs, unnoticedMs, silentMs }: Absence): void {
    this.#returns.begin(node, awaySinceMs, silentMs);
    this.tellAll(unnoticedMs);
  }

  /** A node is left alone; for good when its keys have moved. */
  onGone(node: string, isForGood: boolean): void {
    if (isForGood) {
      this.#returns.cancel(node);
      this.#shares.noteReady();
      return;
    }
    this.#returns.putOff(node);
    for (const bucket of this.#buckets.values())
      if (bucket.withheldMs > 0 && this.#options.guards.nodeOf(bucket.key) === node) this.#backstop.release(bucket);
  }

  /** A node has not answered a probe: it is away still. */
  onStillAway(): void {
    this.#process.tidy();
  }

  /** Tells the store all that it can be told, beginning now. */
  tellAll(unnoticedMs = 0): void {
    const awayUntilMs = this.#options.clock.monotonicMs() - unnoticedMs;
    // Of those whom an earlier round has not come to, too little must not be told.
    this.#awayUntilMs = this.#rounds.has(ALL) ? Math.min(this.#awayUntilMs, awayUntilMs) : awayUntilMs;
    this.#rounds.start(
      ALL,
      this.#tellEach((key) => this.#canTell(key), this.#awayUntilMs),
    );
    this.#repayments.send();
  }

  #canTell(key: string): boolean {
    const { guards } = this.#options;
    return guards.guardOf(guards.groupOf(key)).state.kind !== "open";
  }

  /** Step by step; what is there when it begins. */
  *#tellEach(isMeant: (key: string) => boolean, awayUntilMs?: number): Generator<undefined, undefined> {
    const { clock } = this.#options;
    const unnoticedMs = (): number => (awayUntilMs === undefined ? 0 : clock.monotonicMs() - awayUntilMs);
    for (const bucket of this.#buckets.values()) {
      const { key } = bucket;
      if (this.#buckets.has(bucket) && isMeant(key)) this.#tell(bucket, unnoticedMs());
      yield;
    }
    for (const key of this.#letGo.debtors()) {
      if (isMeant(key))
        for (const { policy, tokens } of this.#letGo.takeOwed(key, unnoticedMs(), clock.monotonicMs()))
          this.#repayments.add({ key, policy }, tokens);
      yield;
    }
  }

  /** Takes over whether the buckets of a lane are blocked: that holds while the store cannot be asked. */
  noteStates(lane: Lane, states: readonly BucketState[], storeUs: number): void {
    this.#blocked.note(lane, states, storeUs, this.#options.clock.monotonicMs());
  }

  /** The key of a lane is as if unused. */
  forget(lane: Lane): void {
    this.#blocked.forget(lane);
    this.#options.lanes.forgetDecided(lane);
    for (const [i, { name }] of lane.set.policies.entries()) this.#buckets.delete(lane.keyOf(i), name);
  }

  /** Gives the shares back, as far as the store hears of it. */
  async close(): Promise<void> {
    this.#returns.close();
    this.#rounds.finish();
    const left = this.#shares.leave(this);
    this.#tellAtEnd();
    await Promise.all([this.#repayments.sendNow(), left]);
  }

  /**
   * Whether or not the store is known to be back: there is no other time to tell it, and buckets that only this limiter needs go.
   * Those that others of this process need they tell themselves, once it is back for them.
   */
  #tellAtEnd(): void {
    const { guards } = this.#options;
    const unnoticedMs = (key: string): number => guards.guardOf(guards.groupOf(key)).unnoticedMs;
    const isLeft = (key: string): boolean => !this.#shares.isReady && this.#shares.awaySinceMs(key) !== undefined;
    for (const bucket of this.#buckets.values()) if (!isLeft(bucket.key)) this.#tell(bucket, unnoticedMs(bucket.key));
  }

  #isHeld(key: string): boolean {
    return this.#returns.awaySinceMs(this.#options.guards.nodeOf(key)) !== undefined;
  }

  #tell(bucket: BackstopBucket, unnoticedMs: number): void {
    const { clock } = this.#options;
    const { key, policy } = bucket;
    const nowMs = clock.monotonicMs();
    const tokens = this.#backstop.takeOwed(
      bucket,
      this.awaySinceMs(key) ?? nowMs,
      unnoticedMs,
      Math.floor(nowMs * 1000),
    );
    if (this.#shares.awaySinceMs(key) === undefined) this.#buckets.delete(key, policy.name);
    if (tokens > 0) this.#repayments.add({ key, policy }, tokens);
  }

  /** Everybody is back: what was kept to hold the lanes of a node to their share is not needed any more. */
  #end(node: string): void {
    this.#options.guards.countOn(node);
    this.#rounds.start(`end of ${node}`, this.#letGoOf(node));
    this.#shares.noteReady();
  }

  *#letGoOf(node: string): Generator<undefined, undefined> {
    const { guards } = this.#options;
    yield* this.#tellEach((key) => guards.nodeOf(key) === node && !this.#isHeld(key));
    if (!this.#returns.isUnderWay && this.#shares.isReady) this.#letGo.forgetTimes();
  }

  #backstopOf(lane: Lane, awaySinceMs: number, nowMs: number): LaneBackstop {
    this.#letGo.watchShare(nowMs);
    if (lane.backstop?.age === this.#buckets.age) return lane.backstop;
    const buckets = lane.set.policies.map((_, i) => this.#bucketOf(lane, i, awaySinceMs, nowMs));
    lane.backstop = { buckets, age: this.#buckets.age, reserved: 0 };
    return lane.backstop;
  }

  #bucketOf(lane: Lane, index: number, awaySinceMs: number, nowMs: number): BackstopBucket {
    const policy = lane.set.policies[index] as Policy;
    const key = lane.keyOf(index);
    const known = this.#buckets.find(key, policy.name);
    if (known !== undefined && this.#backstop.isOf(known, policy) && this.#isInUse(known)) return known;
    if (known !== undefined) this.#letGo.add(known, nowMs);
    const start = { decidedMs: this.#options.lanes.decidedMs(lane, nowMs), view: lane.view, awaySinceMs };
    const bucket = this.#backstop.open(key, policy, index, { ...start, ...this.#delays(lane, index, start) }, nowMs);
    this.#letGo.reopen(bucket, nowMs);
    this.#buckets.add(bucket);
    return bucket;
  }

  /** Whether a bucket is of this outage: one that a short stall has left behind knows nothing of what the store did since. */
  #isInUse({ key, seenUs }: BackstopBucket): boolean {
    const sinceMs = this.#shares.awaySinceMs(key);
    return sinceMs === undefined || seenUs >= Math.floor(sinceMs * 1000);
  }

  /**
   * Leases that are alive when the store goes away can be in the way of shares (see `leaseStandsMs`). As long as it may only be
   * slow, shares wait until all of them are over: it is not told yet that anybody does without it.
   */
  #delays(lane: Lane, index: number, { awaySinceMs }: KnownStart): Pick<BackstopStart, "leaseMs" | "withheldMs"> {
    const { guards, drainMsOf } = this.#options;
    const drainMs = drainMsOf(lane.set);
    if (drainMs === undefined) return { leaseMs: 0, withheldMs: 0 };
    const lifeMs = spendLifeMs(escrowLifeMs(drainMs));
    const policy = lane.set.policies[index] as Policy;
    const leaseMs = leaseStandsMs(policy, lifeMs, lane.lease?.standing(index), awaySinceMs);
    const isAway = guards.guardOf(guards.groupOf(lane.keyOf(index))).state.kind !== "closed";
    return { leaseMs, withheldMs: isAway ? 0 : lifeMs - leaseMs };
  }
}
