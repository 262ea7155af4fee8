import type { AlgorithmName } from "../../packages/spillway/src/algorithms/bucket.ts";
import { type Policy, resolvePolicy } from "../../packages/spillway/src/policy.ts";
import type { LeaseRandom } from "./lease-random.ts";

/** A bucket and the policies that it lives under: one, or an old and a new one that alternate. */
export interface BucketSetup {
  readonly configs: readonly Policy[];
}

export type HolderKind = "adverse" | "shelf" | "limiter";
/** What is wrong with a machine's clocks, beside their drift. */
export type ClockTrouble = "none" | "suspends" | "steps";

export interface HolderSetup {
  readonly kind: HolderKind;
  /** Which buckets it uses, all in each call. */
  readonly buckets: readonly number[];
  /** How fast its clocks run; 1 is right. */
  readonly rate: number;
  readonly trouble: ClockTrouble;
  /** How much of its life an adverse holder spends a token in. */
  readonly lifePart: number;
}

/** What becomes of calls on their way: chances from 0 to 1, per call. */
export interface Weather {
  readonly lostRequest: number;
  readonly lostReply: number;
  readonly doubled: number;
  /** Answered with an error, though the store did what was asked. */
  readonly faulty: number;
  /** Chance that a call takes time, and how much at most, each way. */
  readonly slow: number;
  readonly slowUs: number;
}

export interface RunSetup {
  readonly buckets: readonly BucketSetup[];
  readonly holders: readonly HolderSetup[];
  readonly weather: Weather;
  readonly deadlineMs: number;
  readonly weights: Readonly<Record<StepKind, number>>;
}

/** Kinds of steps. How often each comes is drawn anew for each run: what never comes in one run is frequent in another. */
export const STEP_KINDS = [
  "wait",
  "waitForDeath",
  "waitForExpiry",
  "take",
  "takeAll",
  "lease",
  "report",
  "spend",
  "spendAll",
  "burst",
  "stream",
  "lastMoment",
  "reportLate",
  "crash",
  "leave",
  "sleep",
  "wake",
  "stepWall",
  "storeClockBack",
  "refund",
  "penalize",
  "reset",
  "reconfigure",
  "deploy",
  "lose",
  "comeBackWhenTold",
] as const;
export type StepKind = (typeof STEP_KINDS)[number];

/** Steps that make sense in every run. */
const ESSENTIAL: readonly StepKind[] = ["wait", "lease", "report", "spend"];
/** Steps after which little is left to go wrong, at most as often as this. */
const RARE: Partial<Record<StepKind, number>> = {
  take: 4,
  takeAll: 1,
  lastMoment: 2,
  reportLate: 2,
  crash: 1,
  leave: 1,
  reset: 0.5,
  deploy: 0,
  lose: 0.5,
  waitForExpiry: 1,
  storeClockBack: 2,
  penalize: 1,
};

const RATES = [
  { limit: 1, period: 1 },
  { limit: 1, period: 7 },
  { limit: 2, period: 1 },
  { limit: 3, period: 7 },
  { limit: 7, period: 5 },
] as const;

export interface SetupOptions {
  /** Kinds of holders that may take part. */
  readonly kinds?: readonly HolderKind[];
  /** Steps that never come. */
  readonly without?: readonly StepKind[];
  /** Steps that come in every run, and often. */
  readonly often?: readonly StepKind[];
  /** Whether all go over to a new policy at one time, and never back. */
  readonly deploys?: boolean;
  /** Whether a bucket may change between two policies; left out, it may in some runs. */
  readonly flapping?: boolean;
  /** Whether a window that changes between two policies changes its period too; left out, it does in half of those runs. */
  readonly periods?: boolean;
  readonly buckets?: number;
  /** What buckets may be, each as often. Left out: token buckets. */
  readonly algorithms?: readonly LeasedAlgorithm[];
}

export type LeasedAlgorithm = Exclude<AlgorithmName, "sliding-window-log">;

/** Draws what a run is about. */
export function drawSetup(random: LeaseRandom, options: SetupOptions = {}): RunSetup {
  const { kinds = ["adverse", "adverse", "shelf", "limiter"] } = options;
  const flaps = options.deploys ?? options.flapping ?? random.chance(0.3);
  const count = options.buckets ?? (random.chance(0.25) ? 2 : 1);
  const chosen = random.chance(0.3) ? [random.pick(kinds)] : kinds;
  const holders = Array.from({ length: random.whole(2, 5) }, () => drawHolder(random, chosen, count));
  // A limiter leases only what its callers will ask for within milliseconds: of the smallest buckets, nothing.
  const hasLimiter = holders.some(({ kind }) => kind === "limiter");
  const mostBurst = hasLimiter ? 60 : 20;
  const { algorithms } = options;
  const periods = flaps && algorithms !== undefined && (options.periods ?? random.chance(0.5));
  const buckets = Array.from({ length: count }, (_, i) => {
    const algorithm = algorithms === undefined ? "token-bucket" : random.pick(algorithms);
    const name = `policy-${i}`;
    if (algorithm === "token-bucket") return drawBucket(random, name, flaps, mostBurst);
    return drawWindow(random, name, algorithm, { flaps, periods, hasLimiter });
  });
  // After a change of policy nothing of the old one is still on its way.
  const doubles = options.deploys !== true && random.chance(0.1);
  const weights = drawWeights(random, options);
  if (holders.some(({ kind }) => kind !== "adverse")) weights.lose = 0;
  // Ids are opening times: a clock that was set back and a lost bucket together could repeat one, once in millions of times.
  if (weights.lose > 0) weights.storeClockBack = 0;
  // When a window of two periods is over is known as long as the store's clock goes on, and the store keeps it.
  if (buckets.some(hasTwoPeriods)) for (const kind of ["lose", "storeClockBack"] as const) weights[kind] = 0;
  if (!flaps || options.deploys === true) weights.reconfigure = 0;
  if (options.deploys === true) weights.deploy = 0.2;
  return {
    buckets,
    holders,
    weather: {
      lostRequest: random.pick([0, 0, 0.02, 0.2]),
      lostReply: random.pick([0, 0, 0.02, 0.2]),
      doubled: doubles ? 0.1 : 0,
      faulty: random.pick([0, 0, 0.1]),
      slow: options.deploys === true ? 0 : random.pick([0, 0.2, 1]),
      slowUs: random.pick([200, 2000, 20_000]),
    },
    deadlineMs: random.pick([1, 5, 50]),
    weights,
  };
}

function drawBucket(random: LeaseRandom, name: string, flaps: boolean, mostBurst: number): BucketSetup {
  return { configs: Array.from({ length: flaps ? 2 : 1 }, () => drawPolicy(random, name, mostBurst)) };
}

/** A window whose policies differ in their period, too: what is counted, and what is on lease, is forgotten with the shorter one. */
export function hasTwoPeriods({ configs: [old, changed = old] }: BucketSetup): boolean {
  return old !== undefined && old.shape.kind !== "token-bucket" && old.periodUs !== changed?.periodUs;
}

function drawWindow(
  random: LeaseRandom,
  name: string,
  algorithm: LeasedAlgorithm,
  { flaps, periods, hasLimiter }: Readonly<Record<"flaps" | "periods" | "hasLimiter", boolean>>,
): BucketSetup {
  const drawPeriod = (): number => random.whole(hasLimiter ? 10 : 3, random.pick([12, 40]));
  const first = drawPeriod();
  const configs = Array.from({ length: flaps ? 2 : 1 }, (_, i) => {
    const period = periods && i > 0 ? drawPeriod() : first;
    const limit = random.whole(hasLimiter ? 20 : 4, hasLimiter ? 80 : 24);
    if (algorithm !== "fixed-window") return resolvePolicy({ name, algorithm, limit, period }, name);
    const windowStart = random.pick(["aligned", "first-request"] as const);
    return resolvePolicy({ name, algorithm, limit, period, windowStart }, name);
  });
  return { configs };
}

function drawPolicy(random: LeaseRandom, name: string, mostBurst: number): Policy {
  const burst = random.whole(3, random.chance(0.1) ? 3 * mostBurst : mostBurst);
  return resolvePolicy({ name, ...random.pick(RATES), burst }, name);
}

function drawHolder(random: LeaseRandom, kinds: readonly HolderKind[], buckets: number): HolderSetup {
  const all = Array.from({ length: buckets }, (_, i) => i);
  return {
    kind: random.pick(kinds),
    buckets: buckets === 1 || random.chance(0.5) ? all : [random.whole(0, buckets - 1)],
    rate: random.chance(0.5) ? 1 : 0.95 + 0.1 * random.next(),
    trouble: random.pick(["none", "none", "suspends", "steps"]),
    lifePart: random.pick([0.75, 1, 1]),
  };
}

function drawWeights(random: LeaseRandom, { without = [], often = [] }: SetupOptions): Record<StepKind, number> {
  const weights = {} as Record<StepKind, number>;
  for (const kind of STEP_KINDS) {
    const weight = random.pick(ESSENTIAL.includes(kind) ? [2, 4, 12] : [0, 0, 1, 4]);
    weights[kind] = Math.min(weight, RARE[kind] ?? weight);
    if (often.includes(kind)) weights[kind] = 4;
    if (without.includes(kind)) weights[kind] = 0;
  }
  return weights;
}
