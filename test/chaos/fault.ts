import {
  type FaultProxy,
  keysWithoutExpiry,
  type RedisServer,
  type RedisServerOptions,
  startFaultProxy,
  startRedisServer,
} from "@spillway/testkit";
import { Redis, type RedisOptions } from "ioredis";
import type { RateLimiterOptions } from "spillway";
import { type Driver, LoadFleet, machineMs, type WorkerReport } from "./load-fleet.ts";

/** What a fault is done to. */
export interface Scene {
  readonly server: RedisServer;
  /** The workers' way to the server, where the fault asks for one. */
  readonly proxy: FaultProxy;
  /** For commands to the server; may have to reconnect after what was done to it. */
  readonly admin: Redis;
  readonly fleet: LoadFleet;
}

/** One thing that goes wrong under load, and ends. */
export interface Fault {
  /** Names the row of the table. */
  readonly name: string;
  readonly server?: RedisServerOptions;
  /** Whether the workers reach the server through the proxy. */
  readonly viaProxy?: boolean;
  /** ioredis if left out. */
  readonly driver?: Driver;
  /** Options of the workers' client besides the address. */
  readonly redis?: RedisOptions;
  readonly lease?: RateLimiterOptions["lease"];
  readonly perSecond?: number;
  /** Before the limiters are made. */
  prepare?(scene: Scene): Promise<unknown> | unknown;
  begin(scene: Scene): Promise<unknown> | unknown;
  /** Between `begin` and `end`. */
  readonly lastsMs: number;
  /** While it lasts, after most of it. */
  look?(scene: Scene): Promise<void>;
  end(scene: Scene): Promise<unknown> | unknown;
}

/** A fault as it went. */
export interface FaultRun {
  readonly fault: Fault;
  readonly beganMs: number;
  /** When it began to end: a server takes its time to start. */
  readonly endingMs: number;
  readonly endedMs: number;
  readonly reports: readonly WorkerReport[];
  /** Keys of the limiters that would stay in Redis for ever. */
  readonly lastingKeys: readonly string[];
  /** By how much the loop of this process was late at most: how busy the machine was. */
  readonly machineLateMs: number;
}

export const PROCESSES = 2;
export const KEYS = 20;

/** At 2,000 decisions a second over all processes and keys, each key is at its limit. */
export const POLICY = { name: "chaos", limit: 50, period: "1s", burst: 50 } as const;
export const DEADLINE_MS = 50;
/** Of each process. */
const PER_SECOND = 1_000;
const STEADY_MS = 1_500;
/** How long the load goes on after the fault, to see that it is over. */
export const RETURN_MS = 3_500;

/** Plays one fault on servers of its own. */
export async function playFault(fault: Fault): Promise<FaultRun> {
  await using server = await startRedisServer(fault.server);
  await using proxy = await startFaultProxy({ targetPort: server.port });
  await using fleet = await LoadFleet.start(PROCESSES);
  const admin = new Redis(server.url);
  admin.on("error", () => {}); // The server is meant to be away now and then.
  try {
    return await playOn({ server, proxy, admin, fleet }, fault);
  } finally {
    admin.disconnect();
  }
}

async function playOn(scene: Scene, fault: Fault): Promise<FaultRun> {
  const { server, proxy, fleet } = scene;
  const lateness = watchLateness();
  await fault.prepare?.(scene);
  const { host, port } = fault.viaProxy === true ? proxy : server;
  await fleet.open({
    driver: fault.driver ?? "ioredis",
    redis: { host, port, ...fault.redis },
    limiter: {
      policies: POLICY,
      replicas: PROCESSES,
      deadlineMs: DEADLINE_MS,
      lease: fault.lease ?? { maxDrainMs: 50 },
    },
  });
  await fleet.load({ perSecond: fault.perSecond ?? PER_SECOND, keys: KEYS });
  await pause(STEADY_MS);
  const beganMs = machineMs();
  await fault.begin(scene);
  await pause(fault.lastsMs - (machineMs() - beganMs));
  await fault.look?.(scene);
  const endingMs = machineMs();
  await fault.end(scene);
  const endedMs = machineMs();
  await pause(RETURN_MS);
  const reports = await fleet.finish();
  await fleet.close();
  const lastingKeys = await keysWithoutExpiry(scene.admin, "spillway");
  return { fault, beganMs, endingMs, endedMs, reports, lastingKeys, machineLateMs: lateness.stop() };
}

export async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
}

/** By how much the loop of this process is late at most, until stopped. */
export function watchLateness(): { stop(): number } {
  const everyMs = 5;
  let mostMs = 0;
  let dueMs = machineMs() + everyMs;
  const timer = setInterval(() => {
    const nowMs = machineMs();
    mostMs = Math.max(mostMs, nowMs - dueMs);
    dueMs = nowMs + everyMs;
  }, everyMs);
  return {
    stop() {
      clearInterval(timer);
      return mostMs;
    },
  };
}
