// What do the ways of counting admit of the same arrivals, in the windows of the clock and in any other window?
import { createRateLimiter, memoryStore, type PolicyOptions } from "spillway";
import { manualClock } from "spillway/testing";
import { exponentialMs, seededRandom } from "../simulator/random.ts";
import { atLeast, atMost, between, type Experiment, type Findings, type Lab, type LabPlot } from "./experiment.ts";

const LIMIT = 100;
const WINDOW_MS = 1000;
const POLICIES: readonly PolicyOptions[] = [
  { name: "fixed-window", algorithm: "fixed-window", windowStart: "aligned", limit: LIMIT, period: WINDOW_MS },
  { name: "sliding-window-counter", algorithm: "sliding-window-counter", limit: LIMIT, period: WINDOW_MS },
  { name: "sliding-window-log", algorithm: "sliding-window-log", limit: LIMIT, period: WINDOW_MS },
  { name: "token-bucket", algorithm: "token-bucket", limit: LIMIT, period: WINDOW_MS, burst: 20 },
];
const FIXED = "fixed-window";
const COUNTER = "sliding-window-counter";
const LOG = "sliding-window-log";
const BUCKET = "token-bucket";
const NAMES = POLICIES.map(({ name }) => name);

interface Arrivals {
  readonly name: string;
  /** In ms, in order. */
  readonly times: readonly number[];
}

export const counting: Experiment = {
  name: "counting",
  asks: "what each way of counting admits of the same arrivals, in any window of one second",
  run: countAll,
};

async function countAll(lab: Lab): Promise<Findings> {
  const workloads = arrivalsOf(lab);
  const admitted = new Map<string, Map<string, readonly number[]>>();
  for (const { name, times } of workloads) {
    const byPolicy = new Map<string, readonly number[]>();
    for (const policy of POLICIES) byPolicy.set(policy.name, await admittedTimes(policy, times));
    admitted.set(name, byPolicy);
  }
  const times = (workload: string, policy: string): readonly number[] => admitted.get(workload)?.get(policy) ?? [];
  const worst = (workload: string, policy: string): number => mostInAnyWindow(times(workload, policy)) / LIMIT;
  const rows = workloads.map(({ name, times: offered }) => [
    name,
    offered.length,
    ...NAMES.map((policy) => `${times(name, policy).length} / ${worst(name, policy).toFixed(2)}`),
  ]);
  const errors = workloads.map(({ name, times: offered }) => {
    const { beyond, unused } = errorsOf(times(name, COUNTER), offered);
    return [name, `${(100 * beyond).toFixed(1)} %`, `${(100 * unused).toFixed(2)} %`];
  });
  const worstOf = (policy: string): number => Math.max(...workloads.map(({ name }) => worst(name, policy)));
  const worstCounter = worstOf(COUNTER);
  return {
    tables: [
      {
        caption: `Admitted of the arrivals / most in any second, as a multiple of the limit of ${LIMIT} a second (bucket: burst 20)`,
        columns: ["arrivals", "offered", ...NAMES],
        rows,
      },
      {
        caption: "The sliding counter beside an exact count of what it had admitted in the last second",
        columns: ["arrivals", "beyond the limit at worst", "room when it refused, on average"],
        rows: errors,
      },
    ],
    plots: [edgePlot(times), burstPlot(times)],
    marks: [
      between("fixed window across its edge, in multiples of the limit", worst("edge of a window", FIXED), 1.99, 2),
      atMost("sliding log in any second", worstOf(LOG), 1),
      atMost("token bucket in any second, less its burst", worstOf(BUCKET) - 20 / LIMIT, 1),
      atMost("sliding counter in any second", worstCounter, 2),
      atLeast(
        "what the log admits of a steady double load, in multiples of the limit",
        rateOf(times("steady 2x", LOG)),
        0.99,
      ),
    ],
    summary:
      `Across its edge a fixed window lets ${worst("edge of a window", FIXED).toFixed(2)} times the limit in within a second, ` +
      `the sliding counter at most ${worstCounter.toFixed(2)}, the log and the bucket (without its burst) never more than 1.`,
  };
}

function arrivalsOf({ quick, seed }: Lab): Arrivals[] {
  const seconds = quick ? 10 : 60;
  const random = seededRandom(seed);
  const steady = (perSecond: number): number[] =>
    Array.from({ length: perSecond * seconds }, (_, i) => Math.round((i * 1000) / perSecond));
  const bursty: number[] = [];
  for (let ms = 0; ms < seconds * 1000; ms += Math.floor(50 + 950 * random()))
    for (let i = 0, count = Math.floor(20 + 180 * random()); i < count; i++) bursty.push(Math.floor(ms + i / 2));
  const poisson: number[] = [];
  for (let ms = 0; ms < seconds * 1000; ms += exponentialMs(random, (1.2 * LIMIT) / 1000)) poisson.push(Math.floor(ms));
  const edge = [950, 1000].flatMap((from) => Array.from({ length: 2 * LIMIT }, (_, i) => from + Math.floor(i / 4)));
  return [
    { name: "edge of a window", times: edge.sort((a, b) => a - b) },
    { name: "steady 2x", times: steady(2 * LIMIT) },
    { name: "poisson 1.2x", times: poisson },
    { name: "bursts", times: bursty.sort((a, b) => a - b) },
  ];
}

/** Through the real limiter, on a clock that stands where the arrivals say. */
async function admittedTimes(policy: PolicyOptions, times: readonly number[]): Promise<number[]> {
  const clock = manualClock();
  const startMs = Math.ceil(clock.wallMs() / WINDOW_MS) * WINDOW_MS - clock.wallMs();
  clock.advance(startMs);
  const limiter = createRateLimiter({ policies: policy, store: memoryStore({ clock }), clock });
  const admitted: number[] = [];
  let nowMs = 0;
  for (const time of times) {
    clock.advance(time - nowMs);
    nowMs = time;
    if ((await limiter.consume("key")).allowed) admitted.push(time);
  }
  await limiter.close();
  return admitted;
}

/** The most of these times that lie in one half-open window. */
function mostInAnyWindow(times: readonly number[]): number {
  let most = 0;
  for (let last = 0, first = 0; last < times.length; last++) {
    while ((times[last] as number) - (times[first] as number) >= WINDOW_MS) first++;
    most = Math.max(most, last - first + 1);
  }
  return most;
}

/**
 * How far a way of counting is off about its own past: the most that it let into one second beyond the limit, and how much
 * room there was on average when it refused. As parts of the limit.
 */
function errorsOf(admitted: readonly number[], arrivals: readonly number[]): { beyond: number; unused: number } {
  let refused = 0;
  let unused = 0;
  let next = 0;
  let first = 0;
  for (const time of arrivals) {
    while (first < next && time - (admitted[first] as number) >= WINDOW_MS) first++;
    if (admitted[next] === time) next++;
    else {
      refused++;
      unused += Math.max(0, LIMIT - (next - first));
    }
  }
  const beyond = Math.max(0, mostInAnyWindow(admitted) - LIMIT);
  return { beyond: beyond / LIMIT, unused: unused / Math.max(1, refused) / LIMIT };
}

function rateOf(times: readonly number[]): number {
  const seconds = ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 1000;
  return times.length / (LIMIT * Math.max(1, Math.ceil(seconds)));
}

type TimesOf = (workload: string, policy: string) => readonly number[];

/** What went in during the second that ends at each time. */
function trailing(times: readonly number[], fromMs: number, toMs: number, stepMs: number): [number, number][] {
  const points: [number, number][] = [];
  for (let ms = fromMs; ms <= toMs; ms += stepMs)
    points.push([ms / 1000, times.filter((time) => time <= ms && time > ms - WINDOW_MS).length]);
  return points;
}

function edgePlot(times: TimesOf): LabPlot {
  return trailingPlot(
    "Requests at the edge of a window: admitted in the second before",
    times,
    "edge of a window",
    900,
    2100,
    10,
  );
}

function burstPlot(times: TimesOf): LabPlot {
  return trailingPlot("Bursts: admitted in the second before", times, "bursts", 0, 6000, 25);
}

function trailingPlot(
  title: string,
  times: TimesOf,
  workload: string,
  fromMs: number,
  toMs: number,
  stepMs: number,
): LabPlot {
  return {
    title,
    xLabel: "time in s",
    yLabel: "in the last second",
    series: NAMES.map((name) => ({ name, points: trailing(times(workload, name), fromMs, toMs, stepMs) })),
    level: { value: LIMIT, label: `limit ${LIMIT}` },
  };
}
