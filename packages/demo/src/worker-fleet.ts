import cluster, { type Worker } from "node:cluster";
import { fileURLToPath } from "node:url";
import { waitForMessage } from "./child-message.ts";
import type { Fleet } from "./fleet.ts";
import { type FromWorker, SETTINGS_VARIABLE, type ToWorker, type WorkerSettings } from "./worker-messages.ts";

const READY_MS = 30_000;
const STOP_MS = 3000;

/** What the demo hears from its workers. Workers count from 0. */
export interface WorkerEvents {
  /** A worker ended that nobody stopped. */
  onLost(error: Error): void;
  onMessage(worker: number, message: FromWorker): void;
}

/** The workers of a demo: `node:cluster` children that answer on one port of the loopback interface. */
export class WorkerFleet implements Fleet {
  readonly #workers: readonly Worker[];
  readonly #signal: AbortSignal;
  /** 0 until all workers listen. */
  #port = 0;
  #stopping = false;

  private constructor(workers: readonly Worker[], signal: AbortSignal) {
    this.#workers = workers;
    this.#signal = signal;
  }

  /** Starts `settings.workers` workers and waits until all of them listen. */
  static async start(settings: WorkerSettings, signal: AbortSignal, events: WorkerEvents): Promise<WorkerFleet> {
    // Connections are dealt out in turn. Left to the operating system, most would go to one or two workers.
    cluster.schedulingPolicy = cluster.SCHED_RR;
    cluster.setupPrimary({
      exec: fileURLToPath(new URL("./worker.js", import.meta.url)),
      args: [],
      execArgv: [],
      // stdout is for the result alone.
      stdio: ["ignore", 2, 2, "ipc"],
    });
    const environment = { [SETTINGS_VARIABLE]: JSON.stringify(settings) };
    const workers = Array.from({ length: settings.workers }, () => cluster.fork(environment));
    const fleet = new WorkerFleet(workers, signal);
    for (const [index, worker] of workers.entries()) {
      worker.on("message", (message: FromWorker) => events.onMessage(index, message));
      worker.on("exit", (code, killer) => {
        if (!fleet.#stopping)
          events.onLost(new Error(`Worker ${worker.process.pid} ended unexpectedly (${killer ?? `code ${code}`}).`));
      });
    }
    try {
      await fleet.#ready();
      return fleet;
    } catch (error) {
      await fleet.stop();
      throw error;
    }
  }

  /** What each worker calls itself in `x-worker`: its process id. */
  get names(): readonly string[] {
    return this.#workers.map((worker) => String(worker.process.pid));
  }

  /** The address of one mode's route. */
  urlOf(mode: string): string {
    return `http://127.0.0.1:${this.#port}/${mode}`;
  }

  /**
   * Ends every worker: in order when the demo is over, by force when it was aborted or never got so far, and those that take
   * too long. Idempotent.
   */
  async stop(): Promise<void> {
    this.#stopping = true;
    const patienceMs = this.#port === 0 || this.#signal.aborted ? 0 : STOP_MS;
    await Promise.all(this.#workers.map((worker) => stopWorker(worker, patienceMs)));
  }

  async #ready(): Promise<void> {
    const ports = await Promise.all(
      this.#workers.map((worker) =>
        waitForMessage(
          worker,
          (message: FromWorker) => {
            if (message.type === "failed")
              throw new Error(`Worker ${worker.process.pid} cannot start: ${message.message}`);
            return message.type === "ready" ? message.port : undefined;
          },
          { what: `worker ${worker.process.pid} to listen`, deadlineMs: READY_MS, signal: this.#signal },
        ),
      ),
    );
    this.#port = ports[0] ?? 0;
  }
}

async function stopWorker(worker: Worker, patienceMs: number): Promise<void> {
  if (worker.isDead()) return;
  const exited = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
  if (patienceMs > 0) tell(worker, { type: "stop" });
  const timer = setTimeout(() => worker.process.kill("SIGKILL"), patienceMs);
  await exited;
  clearTimeout(timer);
}

function tell(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message);
}
