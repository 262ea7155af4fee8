import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startWorkerFleet, type WorkerFleet } from "@spillway/testkit";
import type { AskPart, DecisionSource, LimiterStats, RateLimiterOptions, StateChange } from "spillway";
import type { ChaosKey, Tier } from "./load-shapes.ts";

const WORKER = new URL("load-worker.mjs", import.meta.url);
/** How long a worker waits for decisions that are still under way when the load ends. */
const LINGER_MS = 2_000;
const ANSWER_WITHIN_MS = 30_000;

/** Whose client the limiter's store is made from. */
export type Driver = "ioredis" | "ioredis Cluster" | "iovalkey" | "node-redis" | "node-redis Cluster";

/** What one process runs. */
export interface WorkerSetup {
  readonly driver: Driver;
  /** Options of the client: an address, sentinels, or the nodes of a cluster. */
  readonly redis: Readonly<Record<string, unknown>>;
  readonly tiers: readonly Tier[];
  readonly limiter: Pick<RateLimiterOptions, "lease" | "deadlineMs" | "replicas" | "onStoreFailure">;
}

/** The decisions of one process, in columns. Times are milliseconds of a clock that all processes of this machine share. */
export interface DecisionColumns {
  readonly keys: readonly string[];
  /** Index into `keys`. */
  readonly keyOf: Uint16Array;
  readonly startedMs: Float64Array;
  readonly tookMs: Float64Array;
  /** By how much the event loop was late at most meanwhile. */
  readonly lateMs: Float64Array;
  /** The most of the whole time. */
  readonly mostLateMs: number;
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
  /** Its index in the fleet. */
  readonly process: number;
  readonly decisions: DecisionColumns;
  readonly stats: LimiterStats;
  /** Calls whose reply did not come in time, since the load began. */
  readonly missed: number;
  readonly changes: readonly (StateChange & { readonly atMs: number })[];
  readonly warnings: readonly string[];
  readonly crashes: readonly string[];
  /** What the store answered in place of a decision, each message once. */
  readonly storeErrors: readonly string[];
}

/** An admission of a process that was killed, from its journal. */
export interface JournalLine {
  readonly key: string;
  readonly startedMs: number;
  readonly tookMs: number;
  readonly source: string;
}

function askOf({ key, policies, common }: ChaosKey): string | AskPart[] {
  if (common === undefined) return key;
  const own = policies.map(({ name }) => ({ policy: name, key }));
  return [...own, { policy: common.policy.name, key: common.key }];
}

/** Milliseconds of the clock that workers use. */
export function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Processes with a limiter each, under load. */
export class LoadFleet implements AsyncDisposable {
  readonly #fleet: WorkerFleet;
  readonly #folder = mkdtempSync(join(tmpdir(), "spillway-chaos-"));
  readonly #killed = new Set<number>();

  private constructor(fleet: WorkerFleet) {
    this.#fleet = fleet;
  }

  static async start(count: number): Promise<LoadFleet> {
    return new LoadFleet(await startWorkerFleet({ module: WORKER, count }));
  }

  get size(): number {
    return this.#fleet.size;
  }

  async open(setupOf: (index: number) => WorkerSetup): Promise<void> {
    await this.#each((index) => ({ operation: "open", ...setupOf(index) }));
  }

  /** Waits until each process has its connection and has made some decisions by the store. */
  async warm(): Promise<void> {
    await this.#each(() => ({ operation: "warm" }));
  }

  /** @param mortal processes that write down each admission at once, since they will be killed. */
  async load(keys: readonly ChaosKey[], mortal: readonly number[]): Promise<void> {
    await this.#each((index) => ({
      operation: "load",
      keys: keys
        .map((each) => ({ key: each.key, ask: askOf(each), perSecond: each.perSecond[index] as number }))
        .filter(({ perSecond }) => perSecond > 0),
      journal: mortal.includes(index) ? this.#journalOf(index) : undefined,
    }));
  }

  async stats(): Promise<LimiterStats[]> {
    return (await this.#each(() => ({ operation: "stats" }))) as LimiterStats[];
  }

  /** Keeps the event loop of one process busy. */
  async block(index: number, ms: number): Promise<void> {
    await this.#fleet.ask(index, { operation: "block", ms }, ANSWER_WITHIN_MS);
  }

  signal(index: number, signal: "SIGSTOP" | "SIGCONT"): void {
    this.#fleet.signal(index, signal);
  }

  /** Kills one process, stopped or not. */
  async kill(index: number): Promise<void> {
    this.#killed.add(index);
    this.#fleet.signal(index, "SIGKILL");
    await this.#fleet.exited(index);
  }

  /** Ends the load, and waits for decisions that are under way. Of the processes that live. */
  async finish(): Promise<WorkerReport[]> {
    const reports = (await this.#each(() => ({ operation: "finish", withinMs: LINGER_MS }))) as WorkerReport[];
    return reports.map((report, index) => ({ ...report, process: this.#living[index] as number }));
  }

  /** What processes that were killed had admitted. */
  lastWords(): JournalLine[] {
    return [...this.#killed].flatMap((index) => {
      const lines = readFileSync(this.#journalOf(index), "utf8").split("\n").slice(0, -1);
      return lines.map((line) => {
        const [key = "", startedMs, tookMs, source = ""] = line.split(" ");
        return { key, startedMs: Number(startedMs), tookMs: Number(tookMs), source };
      });
    });
  }

  async close(): Promise<void> {
    await this.#each(() => ({ operation: "close" }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#fleet.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Asks those that live. */
  async #each(messageOf: (index: number) => object): Promise<unknown[]> {
    return await Promise.all(this.#living.map((index) => this.#fleet.ask(index, messageOf(index), ANSWER_WITHIN_MS)));
  }

  get #living(): number[] {
    return this.#fleet.pids.map((_pid, index) => index).filter((index) => !this.#killed.has(index));
  }

  #journalOf(index: number): string {
    return join(this.#folder, `journal-${index}`);
  }
}
