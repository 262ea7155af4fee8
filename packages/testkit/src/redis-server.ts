import { type RedisProcess, type RedisProcessOptions, startRedisProcess } from "./redis-process.ts";

/** How to start a private Redis. */
export interface RedisServerOptions {
  /** A fixed port, for instance that of a server that was stopped; without it, a free one is found. */
  readonly port?: number;
  /** More command-line arguments, such as `["--maxmemory", "2mb"]`. */
  readonly args?: readonly string[];
  /** A command to run the server under, such as `["faketime", "-f", "+1h"]`. */
  readonly wrapper?: readonly string[];
  /** Environment variables on top of this process's own. */
  readonly env?: Readonly<Record<string, string>>;
  /** The server program; `redis-server` on PATH by default. */
  readonly binary?: string;
}

/** A private redis-server process on a loopback port, without persistence. It dies with the process that started it. */
export interface RedisServer extends AsyncDisposable {
  readonly host: "127.0.0.1";
  readonly port: number;
  /** `redis://127.0.0.1:port` */
  readonly url: string;
  /** The process that serves now; a restart changes it. */
  readonly pid: number;
  /** Whether the process is there, paused or not. */
  readonly running: boolean;
  /** Everything the server has logged lately, for messages of failed tests. */
  log(): string;
  /** Ends the process with a signal (SIGKILL by default) and waits for its end; the port is free afterwards. */
  kill(signal?: "SIGKILL" | "SIGTERM" | "SIGINT"): Promise<void>;
  /** Freezes the process (SIGSTOP): connections stay open and nothing answers. */
  pause(): void;
  /** Lets a frozen process go on (SIGCONT). */
  resume(): void;
  /** Starts an empty server on the same port, after ending the one that runs. */
  restart(): Promise<void>;
  /** Ends the process for good. Idempotent; a later `restart` is refused. */
  stop(): Promise<void>;
}

const WITHOUT_PERSISTENCE = ["--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0"];

/**
 * Starts a private, empty redis-server.
 *
 * @throws RedisBinaryMissing when no redis-server is on PATH; an `Error` with the server's log when it does not start.
 */
export async function startRedisServer(options: RedisServerOptions = {}): Promise<RedisServer> {
  const processOptions: RedisProcessOptions = { ...options, args: [...WITHOUT_PERSISTENCE, ...(options.args ?? [])] };
  let current: RedisProcess = await startRedisProcess(processOptions);
  let stopped = false;
  const { port } = current;

  const kill = async (signal: NodeJS.Signals = "SIGKILL"): Promise<void> => {
    current.process.signal(signal);
    // A paused process acts on SIGTERM only once it goes on.
    current.process.signal("SIGCONT");
    await current.process.waitForExit();
    await current.stop();
  };
  const stop = async (): Promise<void> => {
    stopped = true;
    await current.stop();
  };
  return {
    host: "127.0.0.1",
    port,
    url: `redis://127.0.0.1:${port}`,
    get pid() {
      return current.process.pid;
    },
    get running() {
      return current.process.running;
    },
    log: () => current.process.output(),
    kill,
    pause: () => current.process.signal("SIGSTOP"),
    resume: () => current.process.signal("SIGCONT"),
    async restart() {
      if (stopped) throw new Error("This Redis server was stopped for good; start another one.");
      await current.stop();
      current = await startRedisProcess({ ...processOptions, port });
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
