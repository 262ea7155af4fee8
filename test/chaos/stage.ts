import {
  type FaultProxy,
  type RedisServer,
  type RedisServerOptions,
  startFaultProxy,
  startRedisServer,
} from "@spillway/testkit";
import { Redis } from "ioredis";
import type { Driver, WorkerSetup } from "./load-fleet.ts";

/** What the limiters' store runs on. */
export interface Stage extends AsyncDisposable {
  /** What each process connects with. */
  clientOf(process: number): Pick<WorkerSetup, "driver" | "redis">;
  /** The node that decides for a key at the start, as the limiters name it. */
  nodeOf(key: string): string;
  /** Clients of the servers that hold buckets now. */
  primariesNow(): Promise<readonly Redis[]>;
}

/** One server, and a proxy in front of it. */
export interface Standalone extends Stage {
  readonly server: RedisServer;
  readonly proxy: FaultProxy;
  /** For commands to the server; may have to reconnect after what was done to it. */
  readonly admin: Redis;
}

export interface StandaloneOptions {
  /** Called when it is started. */
  readonly server?: () => RedisServerOptions;
  /** Which processes reach the server through the proxy. */
  readonly viaProxy?: "all" | readonly number[];
  /** ioredis if left out. */
  readonly driver?: Driver;
  /** Options of the processes' client besides the address. */
  readonly redis?: Readonly<Record<string, unknown>>;
}

export async function openStandalone({
  server: serverOptions,
  viaProxy = [],
  driver = "ioredis",
  redis = {},
}: StandaloneOptions): Promise<Standalone> {
  const server = await startRedisServer(serverOptions?.());
  const proxy = await startFaultProxy({ targetPort: server.port });
  const admin = adminOf(server.port);
  return {
    server,
    proxy,
    admin,
    clientOf(process) {
      const { host, port } = viaProxy === "all" || viaProxy.includes(process) ? proxy : server;
      return { driver, redis: { host, port, ...redis } };
    },
    nodeOf: () => "",
    primariesNow: async () => [admin],
    async [Symbol.asyncDispose]() {
      admin.disconnect();
      await proxy.stop();
      await server.stop();
    },
  };
}

/** Of servers that run, those that are primaries. */
export async function primariesAmong(admins: readonly Redis[]): Promise<Redis[]> {
  const roles = await Promise.all(admins.map(async (admin) => (await admin.role())[0]));
  return admins.filter((_admin, index) => roles[index] === "master");
}

/** A client for what a test has to say to a server, which is meant to be away now and then. */
export function adminOf(port: number): Redis {
  const client = new Redis(port, "127.0.0.1");
  client.on("error", () => {});
  return client;
}
