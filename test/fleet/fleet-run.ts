import {
  commandCalls,
  keysWithoutExpiry,
  type RedisServer,
  startRedisServer,
  startWorkerFleet,
  type WorkerFleet,
} from "@spillway/testkit";
import { Redis } from "ioredis";
import type { LimiterStats } from "spillway";
import { seededRandom } from "../../bench/simulator/random.ts";
import { arrivalsOf, WORKLOADS } from "../../bench/simulator/workloads.ts";
import { type FleetFault, type FleetScene, strikeUntil, type Turn } from "./fleet-faults.ts";
import { type MachineLoad, watchMachine } from "./machine-load.ts";
import { between, type ClockReading, machineMs, readServerClock } from "./server-clock.ts";

/** Loads of twice the limit: from all workers alike, from one alone, from another one each second. */
export type WorkloadName = "uniform 2r" | "one hot" | "moving hot spot";

/** One limit that all workers share, and what is asked of it. */
export interface FleetPlan {
  readonly workload: WorkloadName;
  readonly seconds: number;
  readonly seed: number;
  readonly faults?: readonly FleetFault[];
  /** Gives each worker a limit of its own, which nobody must take for a limit that they share. */
  readonly apart?: boolean;
}

/** What one worker saw. Milliseconds are those of the machine's clock, microseconds those of the server's. */
export interface FleetWorkerReport {
  /** When each decision was asked for. */
  readonly askedMs: Float64Array;
  /** When leased tokens were spent. */
  readonly leasedMs: Float64Array;
  /** When the server served those whom it let in. */
  readonly servedUs: Float64Array;
  /** When somebody went in without the store. */
  readonly aloneMs: Float64Array;
  readonly unanswered: number;
  /** Decisions for which the clock had last been read long before: the process was kept from running, or reads it too seldom. */
  readonly staleReadings: number;
  /** Whatever must not happen, in words. */
  readonly wrong: readonly string[];
  readonly stats: LimiterStats;
}

/** A plan as it went. */
export interface FleetRun {
  readonly plan: FleetPlan;
  readonly reports: readonly FleetWorkerReport[];
  readonly clock: ClockReading;
  /** When the store could serve nobody. */
  readonly silences: readonly Turn[];
  /** Scripts that the server was asked to run, as it counted them. */
  readonly scriptCalls: number;
  readonly lastingKeys: readonly string[];
  readonly machine: MachineLoad;
}

export const WORKERS = 4;
export const POLICY = { name: "fleet", limit: 2_000, period: "1s", burst: 400 } as const;

const MODULE = new URL("fleet-worker.mjs", import.meta.url);
/** From the order to start until the load starts. */
const AHEAD_MS = 200;
const LINGER_MS = 1_000;
const ANSWER_WITHIN_MS = 20_000;

/** Plays a plan with workers and a server of its own. */
export async function playFleet(plan: FleetPlan): Promise<FleetRun> {
  await using server = await startRedisServer();
  await using fleet = await startWorkerFleet({ module: MODULE, count: WORKERS });
  const admin = new Redis(server.url);
  admin.on("error", () => {}); // What fails shows in the decisions.
  try {
    return await playOn(plan, server, fleet, admin);
  } finally {
    admin.disconnect();
  }
}

async function playOn(plan: FleetPlan, server: RedisServer, fleet: WorkerFleet, admin: Redis): Promise<FleetRun> {
  await askEach(fleet, (worker) => openOrder(plan, server, worker), ANSWER_WITHIN_MS);
  const clockBefore = await readServerClock(admin);
  const callsBefore = await scriptCallsOf(admin);
  const random = seededRandom(plan.seed);
  const due = arrivalTimesOf(plan, random);
  const watch = watchMachine();
  const startMs = machineMs() + AHEAD_MS;
  const untilMs = startMs + plan.seconds * 1000;
  const signal = (worker: number, name: "SIGSTOP" | "SIGCONT"): void => fleet.signal(worker, name);
  const scene: FleetScene = { server, admin, workers: fleet.size, random, signal };
  const loadOrder = (worker: number): object => ({
    operation: "load",
    startMs,
    dueMs: due[worker],
    lingerMs: LINGER_MS,
  });
  const loaded = askEach(fleet, loadOrder, plan.seconds * 1000 + ANSWER_WITHIN_MS);
  const faults = plan.faults ?? [];
  const [turns] = await Promise.all([Promise.all(faults.map((fault) => strikeUntil(untilMs, fault, scene))), loaded]);
  const machine = watch.stop();
  const scriptCalls = (await scriptCallsOf(admin)) - callsBefore;
  const clock = between(clockBefore, await readServerClock(admin));
  const reports = (await fleet.askAll({ operation: "close" }, ANSWER_WITHIN_MS)) as FleetWorkerReport[];
  const silences = turns.filter((_, i) => faults[i]?.silencesStore === true).flat();
  const lastingKeys = await keysWithoutExpiry(admin, "spillway");
  return { plan, reports, clock, silences, scriptCalls, lastingKeys, machine };
}

function openOrder({ apart }: FleetPlan, { host, port }: RedisServer, worker: number): object {
  const prefix = apart === true ? `spillway-${worker}` : "spillway";
  return { operation: "open", redis: { host, port }, prefix, limiter: { policies: POLICY, replicas: WORKERS } };
}

async function askEach(fleet: WorkerFleet, orderOf: (worker: number) => object, withinMs: number): Promise<void> {
  await Promise.all(Array.from({ length: fleet.size }, (_, worker) => fleet.ask(worker, orderOf(worker), withinMs)));
}

/** When each worker is to ask, in milliseconds from the start. */
function arrivalTimesOf({ workload: name, seconds }: FleetPlan, random: () => number): Float64Array[] {
  const workload = WORKLOADS.find((known) => known.name === name);
  if (workload === undefined) throw new Error(`There is no workload "${name}".`);
  const times = Array.from({ length: WORKERS }, (): number[] => []);
  for (const { atMs, replica } of arrivalsOf(workload, WORKERS, POLICY.limit, seconds * 1000, random))
    times[replica]?.push(atMs);
  return times.map((dueMs) => Float64Array.from(dueMs));
}

async function scriptCallsOf(admin: Redis): Promise<number> {
  const calls = await commandCalls(admin);
  return (calls.get("evalsha") ?? 0) + (calls.get("eval") ?? 0);
}
