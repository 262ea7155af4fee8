import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findOnPath } from "./find-on-path.ts";
import { freePort } from "./free-port.ts";
import { type OwnedProcess, removeTemporaryFolder, spawnOwned } from "./owned-process.ts";

/** What {@link startRedisProcess} runs, and how. */
export interface RedisProcessOptions {
  /** A fixed port; without it, a free one is found. */
  readonly port?: number;
  /** Command-line arguments after the port. */
  readonly args?: readonly string[];
  /** Text of a configuration file that the server may rewrite (sentinels do). */
  readonly config?: string;
  /** A command to run the server under, such as `["faketime", "-f", "+1h"]`. */
  readonly wrapper?: readonly string[];
  /** Environment variables on top of this process's own. */
  readonly env?: Readonly<Record<string, string>>;
  /** The server program; `redis-server` on PATH by default. */
  readonly binary?: string;
  /** What the log says when the server serves. */
  readonly readyLine?: string;
}

/** A redis-server process that accepts connections. */
export interface RedisProcess {
  readonly port: number;
  readonly process: OwnedProcess;
  /** Kills the process, waits for its end and removes its folder. */
  stop(): Promise<void>;
}

const HOST = "127.0.0.1";
const READY_WITHIN_MS = 15_000;
const ATTEMPTS = 20;
const PAUSE_BETWEEN_ATTEMPTS_MS = 100;

/** Thrown when there is no redis-server to start. */
export class RedisBinaryMissing extends Error {
  constructor() {
    super(
      "No redis-server on PATH. Install one (Debian, Ubuntu: apt-get install redis-server; macOS: brew install redis) " +
        "and run again.",
    );
    this.name = "RedisBinaryMissing";
  }
}

/**
 * Starts a private redis-server on the loopback interface. A port that somebody else took in the meantime is tried
 * again when it was asked for, and replaced by another one when it was not.
 */
export async function startRedisProcess(options: RedisProcessOptions = {}): Promise<RedisProcess> {
  const binary = options.binary ?? findOnPath("redis-server");
  if (binary === undefined) throw new RedisBinaryMissing();
  for (let attempt = 1; ; attempt++) {
    const port = options.port ?? (await freePort());
    const outcome = await startOnce(binary, port, options);
    if (outcome.kind === "ready") return outcome.started;
    if (outcome.kind === "failed" || attempt === ATTEMPTS) throw new Error(outcome.message);
    if (options.port !== undefined) await new Promise((resolve) => setTimeout(resolve, PAUSE_BETWEEN_ATTEMPTS_MS));
  }
}

type Outcome =
  | { readonly kind: "ready"; readonly started: RedisProcess }
  | { readonly kind: "port-taken" | "failed"; readonly message: string };

async function startOnce(binary: string, port: number, options: RedisProcessOptions): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), "spillway-redis-"));
  const configFile = join(folder, "redis.conf");
  if (options.config !== undefined) writeFileSync(configFile, options.config);
  const command = [
    ...(options.wrapper ?? []),
    binary,
    ...(options.config === undefined ? [] : [configFile]),
    ...["--port", String(port), "--bind", HOST, "--protected-mode", "no", "--daemonize", "no", "--dir", folder],
    ...(options.args ?? []),
  ];
  const owned = spawnOwned(command[0] ?? binary, command.slice(1), {
    cwd: folder,
    env: { ...process.env, ...options.env },
    temporaryFolder: folder,
  });
  const stop = async (): Promise<void> => {
    await owned.stop();
    removeTemporaryFolder(folder);
  };
  const readyLine = options.readyLine ?? "Ready to accept connections";
  const state = await firstOf(owned, readyLine);
  if (state === "ready") return { kind: "ready", started: { port, process: owned, stop } };
  await stop();
  const log = owned.output().trim();
  const taken = /Address already in use|Failed listening on port/i.test(log);
  const what = state === "timeout" ? `was not ready within ${READY_WITHIN_MS} ms` : `ended at once (${state})`;
  return {
    kind: taken ? "port-taken" : "failed",
    message: `${command.slice(0, command.length - (options.args?.length ?? 0)).join(" ")} ${what}. Its log:\n${log}`,
  };
}

/** Waits for the log line, the end of the process or the time limit, whichever comes first. */
async function firstOf(owned: OwnedProcess, readyLine: string): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  let stopListening = (): void => {};
  const ready = new Promise<string>((resolve) => {
    stopListening = owned.onOutput(() => {
      if (owned.output().includes(readyLine)) resolve("ready");
    });
    timer = setTimeout(() => resolve("timeout"), READY_WITHIN_MS);
  });
  const ended = owned.exited.then(
    (end) => end.error?.message ?? `code ${end.code ?? "none"}, ${end.signal ?? "no signal"}`,
  );
  try {
    return await Promise.race([ready, ended]);
  } finally {
    clearTimeout(timer);
    stopListening();
  }
}
