import { algorithmOf, type BucketState, copyOf } from "../algorithms/bucket.ts";
import { allowed, refused, statusOf } from "../decide.ts";
import type { Decision } from "../decision.ts";
import type { SpillwayError } from "../errors.ts";
import type { Policy } from "../policy.ts";
import type { AskRun, TakeBucket, TakeCall, TakeReply } from "../stores/store.ts";
import type { Caller } from "./caller.ts";
import { Denial } from "./denial.ts";
import type { Lane } from "./lane.ts";

/** One lane's part of a call: where its buckets and runs stand in it, and who rides in each run. */
interface LanePart {
  readonly lane: Lane;
  readonly firstBucket: number;
  readonly firstRun: number;
  /** Callers in a row that ask for the same. */
  readonly runs: readonly (readonly Caller[])[];
}

/** What settling a call needs from outside. */
export interface SettleContext {
  readonly nowMs: number;
  /** Whether a caller has waited past its deadline: what was served for it is lost, never admitted. */
  isLate(caller: Caller): boolean;
  /** Decides for a caller whom the store could not serve, or not in time. */
  fallBack(caller: Caller): void;
  onBucketFault(error: SpillwayError): void;
}

/** Callers of one key that travel in one call; the others take the next. */
const MOST_CALLERS = 1024;

/** One call to the store with the callers that ride on it: written from lanes, and read back into decisions. */
export class StoreCall {
  readonly call: TakeCall;
  readonly #parts: readonly LanePart[];

  /** Takes waiting callers out of the lanes and marks the lanes as under way. */
  constructor(lanes: readonly Lane[]) {
    const buckets: TakeBucket[] = [];
    const runs: AskRun[] = [];
    this.#parts = lanes.map((lane) => {
      const riders = lane.waiting.splice(0, MOST_CALLERS);
      const part = { lane, firstBucket: buckets.length, firstRun: runs.length, runs: runsOf(riders) };
      for (const policy of lane.set.policies) buckets.push({ key: lane.key, policy, report: undefined });
      for (const callers of part.runs)
        runs.push({ count: callers.length, charges: chargesOf(callers, part.firstBucket) });
      lane.inFlight = true;
      return part;
    });
    this.call = { buckets, runs };
  }

  /** When the oldest caller of the call arrived. */
  oldestMs(): number {
    let oldestMs = Number.POSITIVE_INFINITY;
    for (const { runs } of this.#parts) oldestMs = Math.min(oldestMs, runs[0]?.[0]?.arrivedMs ?? oldestMs);
    return oldestMs;
  }

  /** Hands every caller of the call to the fallback. */
  abandon(fallBack: (caller: Caller) => void): void {
    for (const { runs } of this.#parts) for (const callers of runs) callers.forEach(fallBack);
  }

  /** The lanes may be called for again. Returns those where somebody waits. */
  release(): Lane[] {
    for (const { lane } of this.#parts) lane.inFlight = false;
    return this.#parts.map(({ lane }) => lane).filter((lane) => lane.waiting.length > 0);
  }

  /** Gives each caller what the reply says. */
  settle(reply: TakeReply, context: SettleContext): void {
    for (const part of this.#parts) {
      const states = statesOf(part, reply, context);
      if (states === undefined) for (const callers of part.runs) callers.forEach(context.fallBack);
      else settlePart(part, states, reply, context);
    }
  }
}

function statesOf(
  { lane, firstBucket }: LanePart,
  reply: TakeReply,
  context: SettleContext,
): BucketState[] | undefined {
  const states: BucketState[] = [];
  for (let i = 0; i < lane.set.policies.length; i++) {
    const reading = reply.buckets[firstBucket + i];
    if (reading?.kind === "state") states.push(reading.state);
    else if (reading !== undefined) context.onBucketFault(reading.error);
  }
  return states.length === lane.set.policies.length ? states : undefined;
}

/** Walks back from the state after the call, so that each admitted caller is told what was left at its own turn. */
function settlePart(part: LanePart, states: BucketState[], reply: TakeReply, context: SettleContext): void {
  const { lane, firstRun, runs } = part;
  const final = remember(part, states, reply, context.nowMs);
  for (let r = runs.length - 1; r >= 0; r--) {
    const callers = runs[r] as readonly Caller[];
    const served = reply.served[firstRun + r] as number;
    for (let i = callers.length - 1; i >= 0; i--) {
      const caller = callers[i] as Caller;
      if (caller.settled || context.isLate(caller)) context.fallBack(caller);
      else if (i < served) caller.settle(decide(allowed, lane, caller, states, reply.nowUs));
      else caller.settle(decide(refused, lane, caller, final, reply.nowUs));
      if (i < served && (i > 0 || r > 0)) giveBack(lane.set.policies, states, caller.costs);
    }
  }
}

/** The states after the call, kept apart when somebody was refused, since that is where the waits are told from. */
function remember(
  { lane, firstRun, runs }: LanePart,
  states: BucketState[],
  reply: TakeReply,
  nowMs: number,
): BucketState[] {
  const isRefused = (callers: readonly Caller[], r: number): boolean =>
    (reply.served[firstRun + r] as number) < callers.length;
  if (!runs.some(isRefused)) {
    lane.denial = undefined;
    return states;
  }
  const final = states.map(copyOf);
  lane.denial = new Denial(lane.set, final, reply.nowUs, nowMs, 0);
  return final;
}

function decide(
  make: typeof allowed | typeof refused,
  { key, set }: Lane,
  { costs }: Caller,
  states: readonly BucketState[],
  nowUs: number,
): Decision {
  const statuses = set.policies.map((policy, i) => {
    const status = statusOf(policy, states[i] as BucketState, costs[i] as number, nowUs);
    return make === allowed ? { ...status, retryAfterMs: 0 } : status;
  });
  return make(key, costs, statuses, "store");
}

function giveBack(policies: readonly Policy[], states: readonly BucketState[], costs: readonly number[]): void {
  for (let i = 0; i < policies.length; i++) {
    const { shape } = policies[i] as Policy;
    const cost = costs[i] as number;
    if (cost > 0) algorithmOf(shape).adjust(states[i] as BucketState, shape, cost);
  }
}

function chargesOf(callers: readonly Caller[], firstBucket: number): AskRun["charges"] {
  return (callers[0] as Caller).costs.map((cost, i) => ({ bucket: firstBucket + i, cost }));
}

/** Splits callers into runs of equal costs, in order, without those who went away. */
function runsOf(callers: readonly Caller[]): Caller[][] {
  const runs: Caller[][] = [];
  for (const caller of callers) {
    if (caller.settled) continue;
    const run = runs.at(-1);
    if (run !== undefined && sameCosts((run[0] as Caller).costs, caller.costs)) run.push(caller);
    else runs.push([caller]);
  }
  return runs;
}

function sameCosts(a: readonly number[], b: readonly number[]): boolean {
  return a === b || a.every((cost, i) => cost === b[i]);
}
