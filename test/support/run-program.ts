import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

/** How a program of `test/integration/programs` ended. */
export interface ProgramEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
  readonly errors: string;
  /** From its start to its end. */
  readonly ms: number;
}

/** A program that runs in a process of its own, with Node's default flags. */
export interface Program {
  /** Every message that it sent so far. */
  readonly messages: readonly unknown[];
  send(message: object): void;
  /** The next message that is not taken yet. */
  next(): Promise<unknown>;
  /** Waits for its end; kills it when that takes too long. */
  readonly ended: Promise<ProgramEnd>;
}

export interface ProgramOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Killed after this; 30 s by default. */
  readonly withinMs?: number;
}

/** Starts a program of `test/integration/programs` by its file name. */
export function startProgram(file: string, { env = {}, withinMs = 30_000 }: ProgramOptions = {}): Program {
  const path = fileURLToPath(new URL(`../integration/programs/${file}`, import.meta.url));
  const startedMs = performance.now();
  const { NODE_OPTIONS: _, ...inherited } = process.env;
  const child = fork(path, [], {
    execArgv: [],
    env: { ...inherited, ...env },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  let output = "";
  let errors = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const messages: unknown[] = [];
  let taken = 0;
  const waiting: ((message: unknown) => void)[] = [];
  const hand = (): void => {
    while (taken < messages.length && waiting.length > 0) waiting.shift()?.(messages[taken++]);
  };
  child.on("message", (message) => {
    messages.push(message);
    hand();
  });
  const ended = new Promise<ProgramEnd>((resolve) => {
    const limit = setTimeout(() => child.kill("SIGKILL"), withinMs);
    child.once("close", (code, signal) => {
      clearTimeout(limit);
      resolve({ code, signal, output, errors, ms: performance.now() - startedMs });
    });
  });
  return {
    messages,
    send: (message) => void child.send(message),
    next: () =>
      new Promise((resolve, reject) => {
        waiting.push(resolve);
        hand();
        void ended.then(({ code, signal }) =>
          reject(new Error(`${file} ended (${code ?? signal}) without the message that was awaited. ${errors}`)),
        );
      }),
    ended,
  };
}
