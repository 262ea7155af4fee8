import { algorithmOf, type BucketState, copyOf } from "../algorithms/bucket.ts";
import { allowed, refused, statusOf } from "../decide.ts";
import type { Decision, PolicyStatus } from "../decision.ts";
import { SpillwayError } from "../errors.ts";
import type { LastView } from "../failover/backstop.ts";
import type { Policy } from "../policy.ts";
import type { AskRun, LeaseReport, TakeBucket, TakeCall, TakeReply } from "../stores/store.ts";
import { holdUs } from "../stores/take.ts";
import type { Caller } from "./caller.ts";
import { Denial } from "./denial.ts";
import { type Lane, NOBODY } from "./lane.ts";
import type { Instant } from "./shelf.ts";

/** One lane's part of a call: where its buckets and runs stand in it, and who rides in each run. */
interface LanePart {
  readonly lane: Lane;
  readonly firstBucket: number;
  /** Where each bucket stands, when they are not all in a row from `firstBucket`: some are those of other lanes too. */
  readonly places: readonly number[] | undefined;
  readonly firstRun: number;
  /** Callers in a row that ask for the same. */
  readonly runs: readonly (readonly Caller[])[];
  readonly reports: readonly LeaseReport[] | undefined;
}

/** What settling a call needs from outside. */
export interface SettleContext {
  readonly now: Instant;
  readonly roundTripMs: number;
  readonly deadlineMs: number;
  /** Decides for a caller whom the store could not serve, or not in time. */
  fallBack(caller: Caller): void;
  onBucketFault(error: SpillwayError): void;
  /** The store has decided for a key again. */
  onAnswered(lane: Lane): void;
  /** How the store said that the buckets of a lane stand, at `storeUs` on its clock. */
  onStates(lane: Lane, states: readonly BucketState[], storeUs: number): void;
}

/** Callers of one key that travel in one call, and runs in one call: the others take the next. Redis serves nobody else meanwhile. */
const MOST_CALLERS = 1024;
const MOST_RUNS = 1024;

/** One call to the store with the callers that ride on it: written from lanes, and read back into decisions. */
export class StoreCall {
  readonly call: TakeCall;
  readonly lanes: readonly Lane[];
  readonly sent: Instant;
  readonly #parts: readonly LanePart[];

  /**
   * Takes waiting callers out of the lanes and marks the lanes as under way.
   * @param inDoubt whether the store may be silent: the callers then wait for this call without riding on it, since a store that
   * executes it late would serve those who have long been decided for.
   */
  constructor(lanes: readonly Lane[], sent: Instant, inDoubt = false) {
    this.lanes = lanes;
    this.sent = sent;
    const buckets: TakeBucket[] = [];
    const runs: AskRun[] = [];
    const mostRuns = inDoubt ? 0 : Math.ceil(MOST_RUNS / lanes.length);
    const isShared = lanes.some(({ keys }) => keys !== undefined);
    const known = isShared ? new KnownBuckets() : undefined;
    this.#parts = (isShared ? ownersFirst(lanes) : lanes).map((lane) => {
      const places = lane.keys === undefined ? undefined : known?.placesOf(lane, buckets.length);
      const part = partOf(lane, buckets.length, places, runs.length, mostRuns, sent);
      const { policies } = lane.set;
      for (let i = 0; i < policies.length; i++) {
        const policy = policies[i] as Policy;
        if (placeOf(part, i) < buckets.length) continue;
        buckets.push({ key: lane.keyOf(i), policy, report: part.reports?.[i] });
        known?.add(policy, lane.keyOf(i), buckets.length - 1);
      }
      for (const callers of part.runs) runs.push({ count: callers.length, charges: chargesOf(callers, part) });
      return part;
    });
    this.call = { buckets, runs };
  }

  /** When the oldest caller of the call arrived; when it was sent if nobody waits for it. */
  get oldestMs(): number {
    let oldestMs = this.sent.monotonicMs;
    for (const { runs } of this.#parts) oldestMs = Math.min(oldestMs, runs[0]?.[0]?.arrivedMs ?? oldestMs);
    return oldestMs;
  }

  /** Hands every caller of the call to the fallback. */
  abandon(fallBack: (caller: Caller) => void): void {
    for (const { runs } of this.#parts) for (const callers of runs) callers.forEach(fallBack);
  }

  /** Takes over the leases that a reply grants; also those of a late one, which live or die by their own age, or go back. */
  adoptLeases(reply: TakeReply, roundTripMs: number, isLate = false): void {
    for (const { lane, firstBucket, reports } of this.#parts) {
      // Who reports has its buckets in a row.
      if (reports === undefined) continue;
      const readings = reply.buckets.slice(firstBucket, firstBucket + reports.length);
      lane.lease?.adopt(readings, reports, reply.nowUs, this.sent, roundTripMs, isLate);
    }
  }

  /** Gives each caller what the reply says. */
  settle(reply: TakeReply, context: SettleContext): void {
    this.adoptLeases(reply, context.roundTripMs);
    const { now, deadlineMs } = context;
    // By the wall clock too: a machine that was suspended meanwhile shows in it only.
    const lateMs = now.wallMs - this.sent.wallMs > deadlineMs ? Number.POSITIVE_INFINITY : now.monotonicMs - deadlineMs;
    for (const part of this.#parts) {
      const states = statesOf(part, reply, context);
      if (states === undefined) for (const callers of part.runs) callers.forEach(context.fallBack);
      else settlePart(part, states, reply, lateMs, context);
    }
  }
}

/** The buckets of a call, to be found by lanes that may share them. */
class KnownBuckets {
  readonly #places = new Map<string, Map<string, number>>();

  add({ name, algorithm }: Policy, key: string, place: number): void {
    const ofPolicy = this.#places.get(`${name}:${algorithm}`);
    if (ofPolicy === undefined) this.#places.set(`${name}:${algorithm}`, new Map([[key, place]]));
    else ofPolicy.set(key, place);
  }

  /** Where the buckets of a lane stand, or will stand when those that are not there yet are added from `next` on. */
  placesOf(lane: Lane, next: number): number[] {
    let free = next;
    return lane.set.policies.map(
      ({ name, algorithm }, i) => this.#places.get(`${name}:${algorithm}`)?.get(lane.keyOf(i)) ?? free++,
    );
  }
}

/** Lanes that may share buckets come after those that own theirs. */
function ownersFirst(lanes: readonly Lane[]): readonly Lane[] {
  return [...lanes.filter(({ keys }) => keys === undefined), ...lanes.filter(({ keys }) => keys !== undefined)];
}

function placeOf({ firstBucket, places }: LanePart, index: number): number {
  return places === undefined ? firstBucket + index : (places[index] as number);
}

function partOf(
  lane: Lane,
  firstBucket: number,
  places: readonly number[] | undefined,
  firstRun: number,
  mostRuns: number,
  sent: Instant,
): LanePart {
  const runs = takeRuns(lane, mostRuns);
  const { lease, errand } = lane;
  lane.posted = false;
  lane.errand = undefined;
  lane.inFlight = true;
  // Of a store in doubt nothing is wished for: if the call is executed late or its reply is lost, tokens are leased for nobody.
  const wishes = runs.length > 0 || (errand === "prefetch" && mostRuns > 0);
  // Callers are here because what is held does not serve them: it goes back, so that the store can.
  const reports = lease?.report(sent, wishes, runs.length > 0 || errand === "settle");
  return { lane, firstBucket, places, firstRun, runs, reports: reports?.some(saysSomething) ? reports : undefined };
}

function saysSomething({ wish, settlements }: LeaseReport): boolean {
  return wish > 0 || settlements.length > 0;
}

/** How the buckets of a lane stood after the call; `undefined` when one of them could not be read. */
function statesOf(part: LanePart, reply: TakeReply, context: SettleContext): BucketState[] | undefined {
  const { length } = part.lane.set.policies;
  const states: BucketState[] = new Array(length);
  let isWhole = true;
  for (let i = 0; i < length; i++) {
    const reading = reply.buckets[placeOf(part, i)];
    // What is shared is walked back for each lane's callers apart.
    if (reading?.kind === "state") states[i] = part.places === undefined ? reading.state : copyOf(reading.state);
    else {
      isWhole = false;
      context.onBucketFault(
        reading?.error ?? new SpillwayError("ERR_SPILLWAY_STORE_REPLY", "The reply lacks a bucket."),
      );
    }
  }
  return isWhole ? states : undefined;
}

/**
 * Walks back from the state after the call, so that each admitted caller is told what was left at its own turn.
 * @param lateMs who arrived before it has waited past its deadline: what was served for it is lost, never admitted.
 */
function settlePart(
  part: LanePart,
  states: readonly BucketState[],
  reply: TakeReply,
  lateMs: number,
  context: SettleContext,
): void {
  const { lane, firstRun, runs } = part;
  lane.view = viewOf(states, reply, context);
  lane.decidedMs = context.now.monotonicMs;
  context.onAnswered(lane);
  let anyRefused = false;
  for (let r = 0; r < runs.length; r++)
    if ((reply.served[firstRun + r] as number) < (runs[r] as readonly Caller[]).length) anyRefused = true;
  const holdMs = holdOf(part, reply);
  const isBlocked = states.some(({ block }) => block !== undefined);
  const refusal = anyRefused || isBlocked || holdMs > 0 ? denialOf(part, states, holdMs, reply, context) : undefined;
  // A block that came after this call was served stands.
  if (lane.denial?.isBlocked !== true || lane.denial.storeUs <= reply.nowUs) {
    context.onStates(lane, states, reply.nowUs);
    lane.denial = refusal;
  }
  for (let r = runs.length - 1; r >= 0; r--) {
    const callers = runs[r] as readonly Caller[];
    const served = reply.served[firstRun + r] as number;
    for (let i = callers.length - 1; i >= 0; i--) {
      const caller = callers[i] as Caller;
      if (caller.settled || caller.arrivedMs < lateMs) context.fallBack(caller);
      else if (i < served) caller.settle(admit(lane, caller, states, reply.nowUs));
      else caller.settle(refuse(part, caller, refusal as Denial, context));
      if (i < served && (i > 0 || r > 0)) giveBack(lane.set.policies, states, caller.costs);
    }
  }
}

/** Of token buckets it is enough to know when the store last decided. */
function viewOf(states: readonly BucketState[], reply: TakeReply, { now }: SettleContext): LastView | undefined {
  for (const { kind } of states)
    if (kind !== "token-bucket") return { states: states.map(copyOf), storeUs: reply.nowUs, seenMs: now.monotonicMs };
  return undefined;
}

/**
 * How long this process is to leave a contended bucket alone. Only calls that asked or wished for something are held: else the
 * report of a silent holder would shut out its next caller.
 */
function holdOf({ lane, firstBucket, reports, runs }: LanePart, reply: TakeReply): number {
  if (reports === undefined) return 0;
  let holdMs = 0;
  for (const [i, report] of reports.entries()) {
    const reading = reply.buckets[firstBucket + i];
    const { shape } = lane.set.policies[i] as Policy;
    if (reading?.kind !== "state" || reading.lease?.contended !== true || shape.kind !== "token-bucket") continue;
    if (runs.length > 0 || report.wish > 0) holdMs = Math.max(holdMs, holdUs(shape, report.lifeUs) / 1000);
  }
  return holdMs;
}

/** What is remembered of the store's answer: how the buckets stood after the call. */
function denialOf(
  { lane }: LanePart,
  states: readonly BucketState[],
  holdMs: number,
  reply: TakeReply,
  { now }: SettleContext,
): Denial {
  return new Denial(lane.set, states.map(copyOf), reply.nowUs, now.monotonicMs, holdMs);
}

function refuse({ lane }: LanePart, { costs }: Caller, refusal: Denial, { now }: SettleContext): Decision {
  const statuses = refusal.statuses(costs, now.monotonicMs);
  const decision = refused(lane.key, costs, statuses, "store");
  if (costs.some((cost) => cost > 1)) lane.lease?.abstain(now.monotonicMs, decision.retryAfterMs);
  return decision;
}

function admit({ key, set, lease }: Lane, { costs }: Caller, states: readonly BucketState[], nowUs: number): Decision {
  const { policies } = set;
  const statuses: PolicyStatus[] = new Array(policies.length);
  for (let i = 0; i < policies.length; i++) {
    // Cost 0: who was admitted waits for nothing.
    const status = statusOf(policies[i] as Policy, states[i] as BucketState, 0, nowUs);
    statuses[i] = lease === undefined ? status : { ...status, remaining: status.remaining + lease.held(i) };
  }
  return allowed(key, costs, statuses, "store");
}

function giveBack(policies: readonly Policy[], states: readonly BucketState[], costs: readonly number[]): void {
  for (let i = 0; i < policies.length; i++) {
    const { shape } = policies[i] as Policy;
    const cost = costs[i] as number;
    if (cost > 0) algorithmOf(shape).adjust(states[i] as BucketState, shape, cost);
  }
}

/** By the number of the bucket: charges of one token, which are by far the commonest. */
const UNIT_CHARGES: (AskRun["charges"] | undefined)[] = [];

function chargesOf(callers: readonly Caller[], part: LanePart): AskRun["charges"] {
  const { costs } = callers[0] as Caller;
  const firstBucket = placeOf(part, 0);
  if (costs.length > 1 || costs[0] !== 1) return costs.map((cost, i) => ({ bucket: placeOf(part, i), cost }));
  let charges = UNIT_CHARGES[firstBucket];
  if (charges === undefined) {
    charges = [{ bucket: firstBucket, cost: 1 }];
    UNIT_CHARGES[firstBucket] = charges;
  }
  return charges;
}

/** Takes those who ride in the next call out of the lane, in order, as runs of equal costs, without those who went away. */
function takeRuns(lane: Lane, mostRuns: number): Caller[][] {
  const { waiting } = lane;
  if (mostRuns === 0) return [];
  if (waiting.length === 1 && !(waiting[0] as Caller).settled) {
    lane.waiting = NOBODY;
    return [waiting];
  }
  const runs: Caller[][] = [];
  let taken = 0;
  while (taken < waiting.length && taken < MOST_CALLERS) {
    const caller = waiting[taken] as Caller;
    if (!caller.settled) {
      const run = runs.at(-1);
      if (run !== undefined && sameCosts((run[0] as Caller).costs, caller.costs)) run.push(caller);
      else if (runs.length < mostRuns) runs.push([caller]);
      else break;
    }
    taken++;
  }
  lane.waiting = taken === waiting.length ? NOBODY : waiting.slice(taken);
  return runs;
}

function sameCosts(a: readonly number[], b: readonly number[]): boolean {
  return a === b || a.every((cost, i) => cost === b[i]);
}
