import { exponentialMs, type Random } from "./random.ts";

/** One request: when it comes, to which replica, and what it costs. */
export interface Arrival {
  readonly atMs: number;
  readonly replica: number;
  readonly cost: number;
}

export interface Workload {
  readonly name: string;
  /** Offered load of all replicas together, as a multiple of the limit. */
  readonly load: number;
  /** Which replica gets a request that comes at `atMs`. */
  replicaAt(atMs: number, replicas: number, random: Random): number;
  /** Whether load is offered at `atMs`; the rate above is while it is. */
  isOn?(atMs: number): boolean;
  costOf?(random: Random): number;
}

const uniform: Workload["replicaAt"] = (_atMs, replicas, random) => Math.floor(random() * replicas);

/** The loads that the shared limit must hold under, and be used up under. */
export const WORKLOADS: readonly Workload[] = [
  { name: "uniform 2r", load: 2, replicaAt: uniform },
  { name: "uniform 0.8r", load: 0.8, replicaAt: uniform },
  { name: "one hot", load: 2, replicaAt: () => 0 },
  { name: "zipf", load: 2, replicaAt: (_atMs, replicas, random) => zipf(replicas, random) },
  { name: "moving hot spot", load: 2, replicaAt: (atMs, replicas) => Math.floor(atMs / 1000) % replicas },
  { name: "bursts 0.2 s", load: 4, replicaAt: uniform, isOn: (atMs) => atMs % 400 < 200 },
  {
    name: "mixed costs",
    load: 2,
    replicaAt: uniform,
    costOf: (random) => (random() < 0.9 ? 1 : 1 + Math.floor(random() * 10)),
  },
  {
    name: "random",
    load: 3,
    replicaAt: (atMs, replicas, random) => Math.floor(replicas * random() ** (1 + (Math.floor(atMs / 700) % 4))),
    isOn: (atMs) => (Math.floor(atMs / 130) * 2654435761) % 10 < 7,
  },
];

function zipf(replicas: number, random: Random): number {
  let total = 0;
  for (let i = 1; i <= replicas; i++) total += 1 / i;
  let left = random() * total;
  for (let i = 1; i <= replicas; i++) {
    left -= 1 / i;
    if (left <= 0) return i - 1;
  }
  return replicas - 1;
}

/** Poisson arrivals of a workload. */
export function* arrivalsOf(
  workload: Workload,
  replicas: number,
  limitPerSecond: number,
  untilMs: number,
  random: Random,
): Generator<Arrival> {
  const meanCost = workload.costOf === undefined ? 1 : 1.55;
  const perMs = (workload.load * limitPerSecond) / 1000 / meanCost;
  for (let atMs = exponentialMs(random, perMs); atMs < untilMs; atMs += exponentialMs(random, perMs)) {
    if (workload.isOn?.(atMs) === false) continue;
    yield { atMs, replica: workload.replicaAt(atMs, replicas, random), cost: workload.costOf?.(random) ?? 1 };
  }
}
