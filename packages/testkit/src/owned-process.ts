import { type ChildProcess, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { findOnPath } from "./find-on-path.ts";

/** A child process that cannot outlive this one, and that does not keep this one alive. */
export interface OwnedProcess {
  readonly pid: number;
  /** Whether the process has neither exited nor failed to start. */
  readonly running: boolean;
  /** Settles with how the process ended; never rejects, and does not keep this process alive. */
  readonly exited: Promise<ProcessEnd>;
  /** The same, and keeps this process alive until then: for whoever has sent a signal. */
  waitForExit(): Promise<ProcessEnd>;
  /** The last 8 KiB that the process wrote to stdout and stderr. */
  output(): string;
  /** Calls back with each piece of output from now on; returns what stops it. */
  onOutput(listener: (chunk: string) => void): () => void;
  /** Sends a signal; does nothing when the process has ended. */
  signal(signal: NodeJS.Signals): void;
  /** Kills at once, paused or not, and waits for the end. Idempotent. */
  stop(): Promise<void>;
}

/** How a process ended: an exit code, or the signal that ended it, or why it could not be started. */
export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly error?: Error;
}

export interface OwnedProcessOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Removed when the process ends and is not wanted any more, or when this process exits. */
  readonly temporaryFolder?: string;
}

const OUTPUT_KEPT = 8 * 1024;
const living = new Set<ChildProcess>();
const folders = new Set<string>();
let watching = false;

/**
 * Starts a program that is killed when this process exits. Where `setpriv` is there (util-linux), the kernel does it
 * even when this process is killed itself and runs no exit handler.
 */
export function spawnOwned(command: string, args: readonly string[], options: OwnedProcessOptions = {}): OwnedProcess {
  const setpriv = process.platform === "linux" ? findOnPath("setpriv") : undefined;
  const [file, fileArgs] = setpriv ? [setpriv, ["--pdeathsig", "KILL", "--", command, ...args]] : [command, [...args]];
  const child = spawn(file, fileArgs, {
    stdio: ["ignore", "pipe", "pipe"],
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: options.env ?? process.env,
  });
  killAtExit(child);
  if (options.temporaryFolder !== undefined) folders.add(options.temporaryFolder);

  let kept = "";
  const listeners = new Set<(chunk: string) => void>();
  const exited = new Promise<ProcessEnd>((resolve) => {
    // "close" comes after the last output has been read, "exit" may come before it.
    child.once("close", (code, signal) => resolve({ code, signal }));
    child.once("error", (error) => resolve({ code: null, signal: null, error }));
  });
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8");
    stream.on("data", (chunk: string) => {
      kept = (kept + chunk).slice(-OUTPUT_KEPT);
      for (const listener of listeners) listener(chunk);
    });
  }
  const handles = [child, child.stdout, child.stderr];
  for (const handle of handles) setHold(handle, "unref");
  const waitForExit = (): Promise<ProcessEnd> => {
    for (const handle of handles) setHold(handle, "ref");
    return exited;
  };

  return {
    pid: child.pid ?? 0,
    get running() {
      return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
    },
    exited,
    waitForExit,
    output: () => kept,
    onOutput(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    signal: (signal) => void child.kill(signal),
    async stop() {
      child.kill("SIGKILL");
      await waitForExit();
    },
  };
}

/** Removes a temporary folder now, and no longer at exit. */
export function removeTemporaryFolder(folder: string): void {
  folders.delete(folder);
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}

/** Has a child killed when this process exits, unless it has ended before. */
export function killAtExit(child: ChildProcess): void {
  watchExit();
  living.add(child);
  child.once("exit", () => living.delete(child));
}

function watchExit(): void {
  if (watching) return;
  watching = true;
  process.on("exit", () => {
    for (const child of living) child.kill("SIGKILL");
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });
}

/** Lets a handle keep this process alive, or not; the pipes of a child have these methods, their type does not say so. */
function setHold(handle: object, hold: "ref" | "unref"): void {
  const method: unknown = Reflect.get(handle, hold);
  if (typeof method === "function") method.call(handle);
}
