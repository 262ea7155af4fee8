import cluster, { type Worker } from "node:cluster";
import { fileURLToPath } from "node:url";
import { waitForMessage } from "./child-message.ts";
import { type DecisionRecord, sumRecords } from "./decision-recorder.ts";
import type { Fleet } from "./fleet.ts";
import type { DecisionFigures } from "./measure.ts";
import type { ServerSettings } from "./server-app.ts";
import { type FromWorker, SETTINGS_VARIABLE, type ToWorker } from "./worker-messages.ts";

const READY_MS = 30_000;
const COLLECT_MS = 10_000;
const STOP_MS = 3000;

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

  /**
   * Starts `settings.workers` workers and waits until all of them listen.
   * @param onLost told when a worker ends that nobody stopped.
   */
  static async start(
    settings: ServerSettings,
    signal: AbortSignal,
    onLost: (error: Error) => void,
  ): Promise<WorkerFleet> {
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
    for (const worker of workers)
      worker.on("exit", (code, killer) => {
        if (!fleet.#stopping)
          onLost(new Error(`Worker ${worker.process.pid} ended unexpectedly (${killer ?? `code ${code}`}).`));
      });
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

  /** What all workers together decided in one mode since the last call. */
  async collect(mode: string): Promise<DecisionFigures> {
    const records = await Promise.all(this.#workers.map((worker) => this.#collectFrom(worker, mode)));
    return sumRecords(records);
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

  #collectFrom(worker: Worker, mode: string): Promise<DecisionRecord> {
    const record = waitForMessage(
      worker,
      (message: FromWorker) => (message.type === "collected" && message.mode === mode ? message.record : undefined),
      { what: `the decisions of worker ${worker.process.pid}`, deadlineMs: COLLECT_MS, signal: this.#signal },
    );
    tell(worker, { type: "collect", mode });
    return record;
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
