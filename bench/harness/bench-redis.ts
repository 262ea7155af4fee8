import {
  findRedisServer,
  installRedisServer,
  startRedisContainer,
  startRedisServer,
  whyNoContainers,
} from "@spillway/testkit";
import { Redis, type RedisOptions } from "ioredis";

/** What contestants set on their clients. */
export type ClientOptions = Pick<
  RedisOptions,
  "connectTimeout" | "enableAutoPipelining" | "enableOfflineQueue" | "maxRetriesPerRequest"
>;

/** A Redis that belongs to this run alone: it is emptied between rounds. */
export class BenchRedis {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly version: string;
  readonly #control: Redis;
  readonly #end: () => Promise<void>;

  private constructor(url: string, version: string, control: Redis, end: () => Promise<void>) {
    this.url = url;
    const { hostname, port } = new URL(url);
    this.host = hostname;
    this.port = Number(port);
    this.version = version;
    this.#control = control;
    this.#end = end;
  }

  /**
   * Starts redis-server from PATH, or in a container, or installs it first. A server that the user named is left alone, since
   * this one is flushed.
   */
  static async start(say: (line: string) => void): Promise<BenchRedis> {
    const { url, stop } = await startPrivately(say);
    const control = new Redis(url);
    control.on("error", () => {});
    try {
      const version = /^redis_version:(\S+)/m.exec(await control.info("server"))?.[1] ?? "unknown";
      return new BenchRedis(url, version, control, stop);
    } catch (error) {
      control.disconnect();
      await stop();
      throw error;
    }
  }

  /** A connected client. Who asks for it closes it. */
  async connect(options: ClientOptions = {}): Promise<Redis> {
    const client = new Redis(this.url, { ...options, lazyConnect: true });
    // A lost connection shows as failed commands.
    client.on("error", () => {});
    await client.connect();
    return client;
  }

  /** Forgets all keys; scripts stay. */
  async flush(): Promise<void> {
    await this.#control.flushall("SYNC");
  }

  /** Script calls so far, the server's time in them, and its CPU time in all, in microseconds. */
  async counters(): Promise<{ calls: number; scriptUs: number; cpuUs: number }> {
    const [stats, cpu] = await Promise.all([this.#control.info("commandstats"), this.#control.info("cpu")]);
    let calls = 0;
    let scriptUs = 0;
    for (const [, count, us] of stats.matchAll(/^cmdstat_(?:evalsha|eval|fcall):calls=(\d+),usec=(\d+)/gm)) {
      calls += Number(count);
      scriptUs += Number(us);
    }
    let cpuUs = 0;
    for (const [, seconds] of cpu.matchAll(/^used_cpu_(?:sys|user):([\d.]+)/gm)) cpuUs += Number(seconds) * 1e6;
    return { calls, scriptUs, cpuUs };
  }

  async stop(): Promise<void> {
    this.#control.disconnect();
    await this.#end();
  }
}

async function startPrivately(say: (line: string) => void): Promise<{ url: string; stop(): Promise<void> }> {
  if (findRedisServer() !== undefined) return await startRedisServer();
  if ((await whyNoContainers()) === undefined) return await startRedisContainer();
  const outcome = await installRedisServer({ say });
  if (outcome.installed) return await startRedisServer();
  throw new Error(
    `No Redis can be started here: there is no redis-server on PATH, no container runtime, and ${outcome.reason}`,
  );
}
