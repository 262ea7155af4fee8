import { fork } from "node:child_process";
import type { FleetMessage } from "./fleet-worker.ts";
import { killAtExit } from "./owned-process.ts";
import { withDeadline } from "./with-deadline.ts";

/** What a fleet runs. */
export interface WorkerFleetOptions {
  /** The module that each worker runs; it calls `answerFleet`. */
  readonly module: string | URL;
  /** How many workers. */
  readonly count: number;
  /** Arguments of each worker, the same for all or by its index. */
  readonly args?: readonly string[] | ((index: number) => readonly string[]);
  /** Environment variables on top of this process's own. */
  readonly env?: Readonly<Record<string, string>>;
  /** Arguments for Node itself. */
  readonly execArgv?: readonly string[];
  /** How long a worker may take to call `answerFleet`, in milliseconds; 10 s by default. */
  readonly readyWithinMs?: number;
}

/** Several processes that run one module and answer messages. */
export interface WorkerFleet extends AsyncDisposable {
  readonly size: number;
  /** The process ids, by index. */
  readonly pids: readonly number[];
  /**
   * Sends a message to one worker and waits for its answer.
   *
   * @throws with the worker's error, when the worker ends before it answers, and when it takes longer than `withinMs`
   */
  ask(index: number, message: unknown, withinMs?: number): Promise<unknown>;
  /** Asks all workers the same at once; the answers come in the order of the workers. */
  askAll(message: unknown, withinMs?: number): Promise<unknown[]>;
  /** Sends a signal to one worker. */
  signal(index: number, signal: NodeJS.Signals): void;
  /** Waits until one worker has ended; gives its exit code, or the name of the signal that ended it. */
  exited(index: number): Promise<number | NodeJS.Signals>;
  /** Lets the workers end, and kills those that have not within the time (2 s by default). Idempotent. */
  stop(withinMs?: number): Promise<void>;
}

const READY_WITHIN_MS = 10_000;
const ANSWER_WITHIN_MS = 10_000;
const STOP_WITHIN_MS = 2_000;
const STDERR = 2;

/** Starts the workers and waits until each is ready. What they print goes to stderr. */
export async function startWorkerFleet(options: WorkerFleetOptions): Promise<WorkerFleet> {
  const workers = Array.from({ length: options.count }, (_value, index) => new FleetWorker(options, index));
  const at = (index: number): FleetWorker => {
    const worker = workers[index];
    if (worker === undefined) throw new RangeError(`There is no worker ${index} among ${workers.length}.`);
    return worker;
  };
  const stop = async (withinMs = STOP_WITHIN_MS): Promise<void> => {
    await Promise.all(workers.map((worker) => worker.stop(withinMs)));
  };
  try {
    await Promise.all(workers.map((worker) => worker.ready(options.readyWithinMs ?? READY_WITHIN_MS)));
  } catch (error) {
    await stop(0);
    throw error;
  }
  return {
    size: workers.length,
    pids: workers.map(({ pid }) => pid),
    ask: async (index, message, withinMs = ANSWER_WITHIN_MS) => await at(index).ask(message, withinMs),
    askAll: async (message, withinMs = ANSWER_WITHIN_MS) =>
      await Promise.all(workers.map((worker) => worker.ask(message, withinMs))),
    signal: (index, signal) => at(index).signal(signal),
    exited: async (index) => await at(index).exited,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

interface Question {
  readonly resolve: (body: unknown) => void;
  readonly reject: (error: Error) => void;
}

class FleetWorker {
  readonly pid: number;
  readonly exited: Promise<number | NodeJS.Signals>;
  readonly #name: string;
  readonly #child: ReturnType<typeof fork>;
  readonly #questions = new Map<number, Question>();
  readonly #started: Promise<void>;
  #nextId = 1;

  constructor(options: WorkerFleetOptions, index: number) {
    const { args = [] } = options;
    this.#name = `Worker ${index}`;
    const child = fork(options.module, typeof args === "function" ? args(index) : args, {
      env: { ...process.env, ...options.env },
      execArgv: [...(options.execArgv ?? [])],
      serialization: "advanced",
      stdio: ["ignore", STDERR, STDERR, "ipc"],
    });
    this.#child = child;
    this.pid = child.pid ?? 0;
    killAtExit(child);
    this.exited = new Promise((resolve) => {
      child.once("exit", (code, signal) => resolve(code ?? signal ?? 1));
      child.once("error", () => resolve(1));
    });
    this.#started = new Promise((resolve, reject) => this.#questions.set(0, { resolve: () => resolve(), reject }));
    this.#started.catch(() => {}); // Whoever waits for it is told.
    child.on("message", (message: FleetMessage) => this.#receive(message));
    void this.exited.then((how) => {
      for (const { reject } of this.#questions.values()) {
        reject(new Error(`${this.#name} ended (${how}) before it answered.`));
      }
      this.#questions.clear();
    });
  }

  async ready(withinMs: number): Promise<void> {
    await withDeadline(this.#started, withinMs, `${this.#name} to be ready`);
  }

  async ask(body: unknown, withinMs: number): Promise<unknown> {
    if (!this.#child.connected) throw new Error(`${this.#name} is gone.`);
    const id = this.#nextId++;
    const answer = new Promise<unknown>((resolve, reject) => {
      this.#questions.set(id, { resolve, reject });
      const question: FleetMessage = { kind: "question", id, body };
      this.#child.send(question, (error) => {
        if (error) reject(new Error(`${this.#name} cannot be reached.`, { cause: error }));
      });
    });
    try {
      return await withDeadline(answer, withinMs, `the answer of ${this.#name}`);
    } finally {
      this.#questions.delete(id);
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async stop(withinMs: number): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    // SIGKILL ends a stopped process too, which could not act on anything else.
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), withinMs);
    await this.exited;
    clearTimeout(timer);
  }

  #receive(message: FleetMessage): void {
    if (message.kind === "question") return;
    const question = this.#questions.get(message.kind === "ready" ? 0 : message.id);
    if (message.kind === "failure") question?.reject(new Error(`${this.#name}: ${message.message}`));
    else question?.resolve(message.kind === "answer" ? message.body : undefined);
    if (message.kind === "ready") this.#questions.delete(0);
  }
}
