import { startWorkerFleet, type WorkerFleet } from "@spillway/testkit";
import type { RedisOptions } from "ioredis";
import type { DecisionSource, LimiterStats, RateLimiterOptions, StateChange } from "spillway";

const WORKER = new URL("load-worker.mjs", import.meta.url);
/** How long a worker waits for decisions that are still under way when the load ends. */
const LINGER_MS = 2_000;
const ANSWER_WITHIN_MS = 30_000;

/** Whose client the limiter's store is made from. */
export type Driver = "ioredis" | "iovalkey" | "node-redis";

/** What each process runs. */
export interface WorkerSetup {
  readonly driver: Driver;
  readonly redis: RedisOptions;
  readonly limiter: Pick<RateLimiterOptions, "policies" | "lease" | "deadlineMs" | "replicas" | "onStoreFailure">;
}

/** An even load, the same for each process. */
export interface Load {
  /** Decisions asked for each second, whether or not earlier ones were answered. */
  readonly perSecond: number;
  /** Over how many keys, in turn. */
  readonly keys: number;
}

/** The decisions of one process, in columns. Times are milliseconds of a clock that all processes of this machine share. */
export interface DecisionColumns {
  readonly startedMs: Float64Array;
  readonly tookMs: Float64Array;
  /** By how much the event loop was late at most meanwhile. */
  readonly lateMs: Float64Array;
  /** 1 where the decision was not made at once. */
  readonly waited: Uint8Array;
  readonly allowed: Uint8Array;
  readonly sources: readonly DecisionSource[];
  /** What was wrong with decisions in themselves. */
  readonly malformed: readonly string[];
  /** Rejections of `consume`. */
  readonly failures: readonly string[];
  /** Decisions that never came. */
  readonly unanswered: number;
}

/** What one process has seen. */
export interface WorkerReport {
  readonly decisions: DecisionColumns;
  readonly stats: LimiterStats;
  readonly changes: readonly (StateChange & { readonly atMs: number })[];
  readonly warnings: readonly string[];
  readonly crashes: readonly string[];
}

/** Milliseconds of the clock that workers use. */
export function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Processes with a limiter each, under load. */
export class LoadFleet implements AsyncDisposable {
  readonly #fleet: WorkerFleet;

  private constructor(fleet: WorkerFleet) {
    this.#fleet = fleet;
  }

  static async start(count: number): Promise<LoadFleet> {
    return new LoadFleet(await startWorkerFleet({ module: WORKER, count }));
  }

  get size(): number {
    return this.#fleet.size;
  }

  async open(setup: WorkerSetup): Promise<void> {
    await this.#fleet.askAll({ operation: "open", ...setup });
  }

  async load(load: Load): Promise<void> {
    await this.#fleet.askAll({ operation: "load", ...load });
  }

  async stats(): Promise<LimiterStats[]> {
    return (await this.#fleet.askAll({ operation: "stats" })) as LimiterStats[];
  }

  /** Keeps the event loop of one process busy. */
  async block(index: number, ms: number): Promise<void> {
    await this.#fleet.ask(index, { operation: "block", ms }, ANSWER_WITHIN_MS);
  }

  signal(index: number, signal: "SIGSTOP" | "SIGCONT" | "SIGKILL"): void {
    this.#fleet.signal(index, signal);
  }

  /** Ends the load, and waits for decisions that are under way. */
  async finish(): Promise<WorkerReport[]> {
    const message = { operation: "finish", withinMs: LINGER_MS };
    return (await this.#fleet.askAll(message, ANSWER_WITHIN_MS)) as WorkerReport[];
  }

  async close(): Promise<void> {
    await this.#fleet.askAll({ operation: "close" });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#fleet.stop();
  }
}
