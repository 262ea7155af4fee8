import { eventually, keysWithoutExpiry } from "@spillway/testkit";
import type { RateLimiterOptions } from "spillway";
import { type JournalLine, LoadFleet, machineMs, type WorkerReport } from "./load-fleet.ts";
import { type ChaosKey, keysUnderLoad, type Tier } from "./load-shapes.ts";
import { type MachineReading, watchMachine } from "./machine-watch.ts";
import type { Stage } from "./stage.ts";

/** What a fault is done to. */
export type Scene<S extends Stage> = S & { readonly fleet: LoadFleet; readonly keys: readonly ChaosKey[] };

/** One thing that goes wrong under load, and ends. */
export interface Fault<S extends Stage> {
  /** Names the row of the table. */
  readonly name: string;
  /** Why it cannot be tried on this machine. */
  readonly skip?: string | undefined;
  readonly lease?: RateLimiterOptions["lease"];
  /** What is limited, and how; {@link PLAIN} if left out. */
  readonly tiers?: readonly Tier[];
  /** Processes that are meant to stand still. */
  readonly stalled?: readonly number[];
  /** Processes that will be killed. */
  readonly mortal?: readonly number[];
  /** Whether the limiters meet the load as they are made, and not after some decisions by the store. */
  readonly cold?: boolean;
  /** How many processes the limiters are told of; all of them if left out. */
  readonly replicas?: number;
  /** How long the load lasts before it, where shares have to be found first. */
  readonly steadyMs?: number;
  /** The keys that it touches; all if left out. */
  touches?(key: string): boolean;
  /** Before the limiters are made. */
  prepare?(scene: Scene<S>): Promise<unknown> | unknown;
  begin(scene: Scene<S>): Promise<unknown> | unknown;
  /** Between `begin` and `end`. */
  readonly lastsMs: number;
  /** While it lasts, after most of it; it lasts until this is done. */
  look?(scene: Scene<S>): Promise<unknown>;
  end(scene: Scene<S>): Promise<unknown> | unknown;
}

/** A fault as it went. */
export interface FaultRun {
  readonly name: string;
  readonly keys: readonly ChaosKey[];
  readonly beganMs: number;
  /** When it began to end: a server takes its time to start. */
  readonly endingMs: number;
  readonly endedMs: number;
  /** Of the processes that lived to the end. */
  readonly reports: readonly WorkerReport[];
  /** What those had admitted that did not. */
  readonly lastWords: readonly JournalLine[];
  touches(key: string): boolean;
  /** The node that decided for a key at first, as state changes name it. */
  nodeOf(key: string): string;
  /** Keys of the limiters that would stay in Redis for ever. */
  readonly lastingKeys: readonly string[];
  /** Whether all of them asked the store again. */
  readonly areBack: boolean;
  readonly machine: MachineReading;
}

export const PROCESSES = 4;

/** Each key is asked for more often than its limit allows, by all processes together; large enough to be leased. */
export const POLICY = { name: "chaos", limit: 200, period: "1s", burst: 100 } as const;
const PLAIN: readonly Tier[] = [{ name: "plain", policies: [POLICY], keysPerShape: 2 }];
export const DEADLINE_MS = 50;
/** Until shares have followed the load. */
const STEADY_MS = 4_000;
/** How long the load goes on after the fault, to see that it is over. */
const RETURN_MS = 3_500;

/** And how much longer where a machine is so busy that processes take the store for away again. */
const BACK_WITHIN_MS = 10_000;

/** Plays one fault on servers of its own. */
export async function playFault<S extends Stage>(stage: S, fault: Fault<S>): Promise<FaultRun> {
  await using fleet = await LoadFleet.start(PROCESSES);
  const tiers = fault.tiers ?? PLAIN;
  const scene = Object.assign(stage, { fleet, keys: keysUnderLoad(tiers, PROCESSES) });
  const watch = watchMachine();
  await fault.prepare?.(scene);
  await fleet.open((process) => ({
    ...stage.clientOf(process),
    tiers,
    limiter: {
      replicas: fault.replicas ?? PROCESSES,
      deadlineMs: DEADLINE_MS,
      lease: fault.lease ?? { maxDrainMs: 50 },
    },
  }));
  if (!fault.cold) await fleet.warm();
  await fleet.load(scene.keys, fault.mortal ?? []);
  await pause(fault.steadyMs ?? STEADY_MS);
  const beganMs = machineMs();
  await fault.begin(scene);
  await pause(fault.lastsMs - (machineMs() - beganMs));
  await fault.look?.(scene);
  const endingMs = machineMs();
  await fault.end(scene);
  const endedMs = machineMs();
  await pause(RETURN_MS);
  const machine = watch.stop();
  const areBack = await eventually(async () => (await fleet.stats()).every(({ health }) => !health.degraded), {
    withinMs: BACK_WITHIN_MS,
  }).catch(() => false);
  const reports = await fleet.finish();
  const lateness = reports
    .filter(({ process }) => !fault.stalled?.includes(process))
    .map(({ decisions }) => decisions.mostLateMs);
  const lastWords = fleet.lastWords();
  await fleet.close();
  const servers = await stage.primariesNow();
  const lasting = await Promise.all(servers.map((server) => keysWithoutExpiry(server, "spillway")));
  return {
    name: fault.name,
    keys: scene.keys,
    touches: (key) => fault.touches?.(key) ?? true,
    nodeOf: (key) => stage.nodeOf(key),
    ...{ beganMs, endingMs, endedMs, reports, lastWords, areBack },
    machine: { ...machine, mostLateMs: Math.max(machine.mostLateMs, ...lateness) },
    lastingKeys: lasting.flat(),
  };
}

export async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
}
