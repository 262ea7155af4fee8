import type { RedisServer } from "@spillway/testkit";
import type { Redis } from "ioredis";
import { machineMs } from "./server-clock.ts";

/** What faults are done to. */
export interface FleetScene {
  readonly server: RedisServer;
  readonly admin: Redis;
  readonly workers: number;
  /** From 0 up to 1; a seed repeats the order of what is done, though not its instants. */
  readonly random: () => number;
  signal(worker: number, signal: "SIGSTOP" | "SIGCONT"): void;
}

/** A fault that comes and goes all the time. */
export interface FleetFault {
  readonly name: string;
  /** Whether nobody can be served by the store while a turn lasts. */
  readonly silencesStore?: boolean;
  /** From the begin of one turn to the begin of the next. */
  everyMs(random: () => number): number;
  /** One turn, which leaves all as it was. */
  strike(scene: FleetScene): Promise<unknown>;
}

/** From when to when, on the machine's clock. */
export interface Turn {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A turn takes no longer on a machine that is not busy. */
const LONGEST_TURN_MS = 400;

/** One worker after another stands still for a while, whichever it is. */
export const STOPPED_WORKERS: FleetFault = {
  name: "workers stopped",
  everyMs: (random) => 450 + 400 * random(),
  async strike({ workers, random, signal }) {
    const worker = Math.floor(workers * random());
    const forMs = 50 + (LONGEST_TURN_MS - 50) * random();
    signal(worker, "SIGSTOP");
    await pause(forMs);
    signal(worker, "SIGCONT");
  },
};

/** The server forgets its scripts. */
export const FLUSHED_SCRIPTS: FleetFault = {
  name: "SCRIPT FLUSH each 0.3 s",
  everyMs: () => 300,
  strike: ({ admin }) => admin.script("FLUSH"),
};

/** The server stands still for as long as it takes the bucket to fill. */
export const STOPPED_REDIS: FleetFault = {
  name: "Redis stopped 0.2 s of each 1 s",
  silencesStore: true,
  everyMs: () => 1_000,
  async strike({ server }) {
    server.pause();
    await pause(200);
    server.resume();
  },
};

/** Has a fault strike until `untilMs`, and tells when it did; the last turn is over by then. */
export async function strikeUntil(untilMs: number, fault: FleetFault, scene: FleetScene): Promise<Turn[]> {
  const turns: Turn[] = [];
  let dueMs = machineMs() + fault.everyMs(scene.random) / 2;
  while (dueMs < untilMs - LONGEST_TURN_MS) {
    await pause(dueMs - machineMs());
    const fromMs = machineMs();
    await fault.strike(scene);
    turns.push({ fromMs, toMs: machineMs() });
    dueMs = Math.max(machineMs(), dueMs + fault.everyMs(scene.random));
  }
  return turns;
}

async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
}
