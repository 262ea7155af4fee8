import {
  type FaultProxy,
  type RedisServer,
  startFaultProxy,
  startRedisCluster,
  startRedisSentinel,
  startRedisServer,
} from "@spillway/testkit";
import { Redis } from "ioredis";

export type Topology = "standalone" | "sentinel" | "cluster";

/** Where a client is told to connect, so that each of its connections to a server of buckets leads through a proxy. */
export interface Target {
  readonly topology: Topology;
  /** Proxies of the servers; of a cluster, its nodes. */
  readonly seeds: readonly { readonly host: string; readonly port: number }[];
  readonly sentinels: readonly { readonly host: string; readonly port: number }[];
  readonly primaryName: string;
  /** What clients must put in the place of each address that they are told: the proxy's. */
  readonly addressMap: Readonly<Record<string, { readonly host: string; readonly port: number }>>;
}

/** Servers of one topology behind proxies. */
export interface Rig {
  readonly target: Target;
  readonly proxies: readonly FaultProxy[];
  /** Direct connections to the servers, past the proxies. */
  readonly admins: readonly Redis[];
  /** How often a command has been forwarded since the last call of `forget`. */
  calls(command: string): number;
  /** Ends all faults, and counts from 0. */
  forget(): Promise<void>;
  stop(): Promise<void>;
}

interface Servers {
  readonly servers: readonly RedisServer[];
  readonly sentinels: Target["sentinels"];
  readonly primaryName: string;
  stop(): Promise<unknown>;
}

/** Starts servers, and a proxy before each. */
export async function startRig(topology: Topology): Promise<Rig> {
  const { servers, sentinels, primaryName, stop } = await startServers(topology);
  const proxies = await Promise.all(servers.map(({ port }) => startFaultProxy({ targetPort: port })));
  const admins = servers.map(({ url }) => new Redis(url));
  const seeds = proxies.map(({ host, port }) => ({ host, port }));
  const addressMap = Object.fromEntries(
    servers.map(({ host, port }, i) => [`${host}:${port}`, seeds[i]]),
  ) as Target["addressMap"];
  return {
    target: { topology, seeds, sentinels, primaryName, addressMap },
    proxies,
    admins,
    calls: (command) => proxies.reduce((sum, { commands }) => sum + (commands.get(command) ?? 0), 0),
    async forget() {
      for (const proxy of proxies) {
        proxy.delay(0);
        proxy.resume();
        await proxy.mend();
        proxy.commands.clear();
      }
    },
    async stop() {
      for (const admin of admins) admin.disconnect();
      await Promise.all(proxies.map((proxy) => proxy.stop()));
      await stop();
    },
  };
}

async function startServers(topology: Topology): Promise<Servers> {
  if (topology === "sentinel") {
    const started = await startRedisSentinel();
    const { sentinels, primaryName } = started;
    return { servers: [started.firstPrimary], sentinels, primaryName, stop: () => started.stop() };
  }
  if (topology === "cluster") {
    const started = await startRedisCluster();
    return {
      servers: started.nodes.map(({ server }) => server),
      sentinels: [],
      primaryName: "",
      stop: () => started.stop(),
    };
  }
  const server = await startRedisServer();
  return { servers: [server], sentinels: [], primaryName: "", stop: () => server.stop() };
}
