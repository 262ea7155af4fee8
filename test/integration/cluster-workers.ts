import cluster, { type Worker } from "node:cluster";
import { fileURLToPath } from "node:url";
import { withDeadline } from "@spillway/testkit";

const MODULE = fileURLToPath(new URL("fixtures/cluster-worker.mjs", import.meta.url));
const WITHIN_MS = 10_000;

/** A worker of a cluster whose primary is this process. It does what `fixtures/cluster-worker.mjs` knows. */
export interface AskableWorker {
  readonly worker: Worker;
  /** Everything that it has sent and that was no answer to a question. */
  readonly heard: unknown[];
  ask(operation: string, rest?: object): Promise<unknown>;
  /** Settles with its exit code, or the name of the signal that ended it. */
  readonly exited: Promise<number | string>;
}

interface Question {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** Forks a worker and waits until it listens. Whoever forks it ends it: `worker.process.kill()`. */
export async function forkWorker(serialization: "json" | "advanced" = "json"): Promise<AskableWorker> {
  cluster.setupPrimary({ exec: MODULE, args: [], execArgv: [], serialization });
  const worker = cluster.fork();
  const questions = new Map<number, Question>();
  const heard: unknown[] = [];
  let lastId = 0;
  const exited = new Promise<number | string>((resolve) => {
    worker.once("exit", (code, signal) => {
      for (const { reject } of questions.values()) reject(new Error(`the worker ended: ${signal ?? code}`));
      resolve(signal ?? code);
    });
  });
  const ready = new Promise<void>((resolve) => {
    worker.on("message", (message: { to?: string; id: number; value?: unknown; failure?: string }) => {
      if (message?.to !== "test") {
        heard.push(message);
        return;
      }
      if (message.id === 0) resolve();
      else if (message.failure !== undefined) questions.get(message.id)?.reject(new Error(message.failure));
      else questions.get(message.id)?.resolve(message.value);
      questions.delete(message.id);
    });
  });
  await withDeadline(ready, WITHIN_MS, "a worker to listen");
  const ask = (operation: string, rest: object = {}): Promise<unknown> => {
    const id = ++lastId;
    const answer = new Promise<unknown>((resolve, reject) => questions.set(id, { resolve, reject }));
    worker.send({ to: "worker", id, operation, ...rest });
    return withDeadline(answer, WITHIN_MS, `a worker to do "${operation}"`);
  };
  return { worker, heard, ask, exited };
}
