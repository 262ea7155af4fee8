import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { waitForMessage } from "./child-message.ts";
import type { FromGenerator, LoadPlan, LoadProgress, ToGenerator } from "./generator-messages.ts";
import type { LoadResult } from "./load-result.ts";

const WARM_MS = 30_000;
/** On top of the length of a run: the generator itself stops waiting for answers after 5 s. */
const FINISH_MS = 20_000;

/** What the demo does while a load runs. */
export interface LoadEvents {
  onStarted(): void;
  onProgress(progress: LoadProgress): void;
}

/** The load generator's process, seen from the demo. */
export class GeneratorProcess {
  readonly #child: ChildProcess;
  readonly #signal: AbortSignal;
  #stopping = false;

  /** @param onLost told when the process ends and nobody stopped it. */
  constructor(signal: AbortSignal, onLost: (error: Error) => void) {
    this.#signal = signal;
    this.#child = fork(fileURLToPath(new URL("./load-generator.js", import.meta.url)), [], {
      execArgv: [],
      stdio: ["ignore", 2, 2, "ipc"],
    });
    this.#child.on("exit", (code, killer) => {
      if (!this.#stopping) onLost(new Error(`The load generator ended unexpectedly (${killer ?? `code ${code}`}).`));
    });
  }

  /** Sends `count` requests one after another. @returns answers per worker. */
  async warm(url: string, apiKey: string, count: number): Promise<Readonly<Record<string, number>>> {
    this.#tell({ type: "warm", url, apiKey, count });
    return this.#wait("the warm-up", WARM_MS, (message) =>
      message.type === "warmed" ? message.answersPerWorker : undefined,
    );
  }

  /** Runs one load to its end. */
  async run(plan: LoadPlan, events: LoadEvents): Promise<LoadResult> {
    this.#tell({ type: "run", plan });
    return this.#wait("the load to end", plan.seconds * 1000 + FINISH_MS, (message) => {
      if (message.type === "started") events.onStarted();
      if (message.type === "progress") events.onProgress(message.progress);
      return message.type === "finished" ? message.result : undefined;
    });
  }

  /** Ends a run early: it then finishes with what it has. Does nothing when none is under way. */
  end(): void {
    this.#tell({ type: "end" });
  }

  /** Ends the process. Idempotent. */
  async stop(): Promise<void> {
    this.#stopping = true;
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = new Promise<void>((resolve) => this.#child.once("exit", () => resolve()));
    this.#child.kill("SIGKILL");
    await exited;
  }

  #wait<Picked>(
    what: string,
    deadlineMs: number,
    pick: (message: FromGenerator) => Picked | undefined,
  ): Promise<Picked> {
    const checked = (message: FromGenerator): Picked | undefined => {
      if (message.type === "failed") throw new Error(`The load generator failed: ${message.message}`);
      return pick(message);
    };
    return waitForMessage(this.#child, checked, { what, deadlineMs, signal: this.#signal });
  }

  #tell(message: ToGenerator): void {
    if (this.#child.connected) this.#child.send(message);
  }
}
