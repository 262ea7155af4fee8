import type { LimitShape, RunFigures } from "./measure.ts";

/** Something that a run must show, and whether it did. */
export interface Mark {
  /**
   * `"floor"`: enough was done; a machine too busy to serve and to send on time can miss it. `"ceiling"`: nothing went wrong;
   * no machine may miss it.
   */
  readonly kind: "floor" | "ceiling";
  readonly text: string;
  readonly held: boolean;
}

/** What a run is judged by. */
export interface Judging {
  readonly shape: LimitShape;
  readonly workers: number;
  /** What was to be offered: a busy machine may take longer over it. */
  readonly offeredPerSecond: number;
  readonly seconds: number;
  /** The runs of the modes before this one. */
  readonly earlier: readonly RunFigures[];
}

/** Judges the runs of one mode. */
export type Judge = (run: RunFigures, judging: Judging) => Mark[];

/** A demand close to what can be admitted leaves tokens unused by chance; from this factor on it does not. */
const CLEARLY_ABOVE = 1.2;

/** Later than this in one request of a hundred, the load generator shared its processor with too much else. */
const PUNCTUAL_MS = 10;
/** Slower than this in one request of a hundred, the servers did: an idle machine answers within a few ms. */
const SWIFT_MS = 100;

/** Whether a run says more about a busy machine than about what it measured: only floors were missed, and it was late. */
export function isUnfair(run: RunFigures, marks: readonly Mark[]): boolean {
  const missed = marks.filter((mark) => !mark.held);
  return isLate(run) && missed.length > 0 && missed.every((mark) => mark.kind === "floor");
}

function isLate(run: RunFigures): boolean {
  return run.scheduleError.p99Ms > PUNCTUAL_MS || run.requestP99Ms > SWIFT_MS;
}

/** Every request got an answer, and no other than 200 or 429. */
export function answeredMark(run: RunFigures): Mark {
  const failures = Object.entries(run.failures).map(([code, count]) => `${count} x ${code}`);
  if (failures.length === 0) return { kind: "ceiling", text: "every request was answered 200 or 429", held: true };
  const text = `every request should be answered 200 or 429, got ${failures.join(", ")}`;
  return { kind: "ceiling", text, held: false };
}

/** A shared limit: never above the bound, and at least the bound less 1 % or 3, whichever is more. */
export const judgeShared: Judge = (run, judging) => {
  const marks: Mark[] = [
    {
      kind: "ceiling",
      text: `admitted ${run.admitted}, never above the bound of ${run.bound.toFixed(1)}`,
      held: run.admitted <= run.bound,
    },
  ];
  if (!demandIsAbove(judging, 1)) return marks;
  const least = run.bound - Math.max(run.bound / 100, 3);
  marks.push({
    kind: "floor",
    text: `admitted ${run.admitted}, at least ${least.toFixed(1)} (the bound less 1 % or 3)`,
    held: run.admitted >= least,
  });
  return marks;
};

/** The leak: workers that count alone admit nearly as many times the bound as there are workers. */
export const judgePerProcess: Judge = (run, judging) => {
  const { workers } = judging;
  if (!demandIsAbove(judging, workers)) return [];
  const least = 0.95 * workers;
  const ratio = run.ratio.toFixed(2);
  return [
    {
      kind: "floor",
      text: `admitted ${ratio} times the bound, at least ${least.toFixed(1)}`,
      held: run.ratio >= least,
    },
    { kind: "ceiling", text: `admitted ${ratio} times the bound, at most ${workers}`, held: run.ratio <= workers },
  ];
};

/** What holds for a shared limit, and fewer calls than it takes to ask the store each time. */
export const judgeLease: Judge = (run, judging) => [
  ...judgeShared(run, judging),
  ...fewerCallsThanExact(run, judging),
  ...fewCalls(run, judging),
];

function fewerCallsThanExact(run: RunFigures, { earlier }: Judging): Mark[] {
  const exact = earlier.find(({ mode }) => mode === "exact");
  // On a busy machine more requests wait together and share a call: two runs compare only when both were on time.
  if (exact === undefined || isLate(exact)) return [];
  const text = `${run.callsPerDecision} calls per decision, fewer than the ${exact.callsPerDecision} of exact`;
  return [{ kind: "floor", text, held: run.callsPerDecision < exact.callsPerDecision }];
}

/** The longest that one lease lasts, by the limiter's default. */
const LEASE_MS = 50;
const WELL_FILLED = 40;
const MOST_CALLS = 0.05;

/** Where every lease of a worker serves 40 decisions or more, two calls for each lease are 1 in 20. */
function fewCalls(run: RunFigures, { shape, workers, offeredPerSecond }: Judging): Mark[] {
  const decisionsPerLease = (offeredPerSecond / 1000 / workers) * LEASE_MS;
  const fillMs = (shape.burst * shape.periodMs) / shape.limit;
  const limitPerLease = (limitPerSecond(shape) / 1000 / workers) * LEASE_MS;
  if (Math.min(decisionsPerLease, limitPerLease) < WELL_FILLED || fillMs < 2 * LEASE_MS) return [];
  const text = `${run.callsPerDecision} calls per decision, at most ${MOST_CALLS} where leases are large`;
  return [{ kind: "floor", text, held: run.callsPerDecision <= MOST_CALLS }];
}

/** Whether the demand is so far above what so many buckets admit together that hardly a token is left unused. */
export function demandIsAbove({ shape, offeredPerSecond, seconds }: Judging, buckets: number): boolean {
  const allowed = shape.burst + limitPerSecond(shape) * seconds;
  return offeredPerSecond * seconds >= CLEARLY_ABOVE * allowed * buckets;
}

/** What a limit admits per second once its burst is used up. */
export function limitPerSecond(shape: LimitShape): number {
  return (shape.limit * 1000) / shape.periodMs;
}
