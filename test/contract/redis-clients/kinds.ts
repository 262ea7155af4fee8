import { Cluster, Redis } from "ioredis";
import { Redis as Valkey, Cluster as ValkeyCluster } from "iovalkey";
import { createClient, createCluster } from "redis";
import { fromSendCommand, type RedisClient } from "spillway";
import type { Target, Topology } from "./rig.ts";

/** A client as its user has it. */
export interface UserClient {
  /** What `redisStore` is given. */
  readonly client: RedisClient;
  /** What must not be changed: events with how many listen, and options. */
  readonly emitter: { eventNames(): (string | symbol)[]; listenerCount(event: string | symbol): number };
  readonly options: object;
  connect(): Promise<void>;
  /** Whether the client itself still serves its user. */
  isUsable(): Promise<boolean>;
  end(): void;
}

/** A driver and a topology. */
export interface ClientKind {
  readonly name: string;
  readonly topology: Topology;
  /** @param safe with the options that `useAsIs` asks for. */
  create(target: Target, safe?: boolean): UserClient;
}

const SAFE_NODE = { enableOfflineQueue: false, maxRetriesPerRequest: 0, retryStrategy: () => 100 };
const SAFE_CLUSTER = { enableOfflineQueue: false, retryDelayOnFailover: 0, clusterRetryStrategy: () => 100 };

/** What ioredis and iovalkey clients have in common. */
function likeIoredis(client: Redis | Cluster, given: RedisClient = client): UserClient {
  client.on("error", () => {}); // As every user has one.
  return {
    client: given,
    emitter: client,
    options: client.options,
    connect: () => client.connect(),
    isUsable: async () => (await client.set("user", "1", "PX", 60_000)) === "OK",
    end: () => client.disconnect(),
  };
}

const ioredisKinds = (
  driver: string,
  Standalone: typeof Redis | typeof Valkey,
  ClusterClass: typeof Cluster | typeof ValkeyCluster,
): ClientKind[] => [
  {
    name: driver,
    topology: "standalone",
    create: ({ seeds }, safe) =>
      likeIoredis(new (Standalone as typeof Redis)({ ...seeds[0], lazyConnect: true, ...(safe ? SAFE_NODE : {}) })),
  },
  {
    name: `${driver} with Sentinel`,
    topology: "sentinel",
    create: ({ sentinels, primaryName, addressMap }, safe) => {
      const options = { sentinels: [...sentinels], name: primaryName, natMap: addressMap, lazyConnect: true };
      return likeIoredis(new (Standalone as typeof Redis)({ ...options, ...(safe ? SAFE_NODE : {}) }));
    },
  },
  {
    name: `${driver} Cluster`,
    topology: "cluster",
    create: ({ seeds, addressMap }, safe) => {
      const options = { natMap: addressMap, lazyConnect: true, ...(safe ? SAFE_CLUSTER : {}) };
      return likeIoredis(new (ClusterClass as typeof Cluster)([...seeds], options));
    },
  },
];

const nodeRedis: ClientKind = {
  name: "node-redis",
  topology: "standalone",
  create({ seeds: [seed] }, safe) {
    const socket = { ...(seed as { host: string; port: number }), reconnectStrategy: 100 };
    const client = createClient({ socket, ...(safe ? { disableOfflineQueue: true } : {}) });
    client.on("error", () => {});
    return {
      client,
      emitter: client,
      options: client.options,
      connect: async () => void (await client.connect()),
      isUsable: async () => (await client.set("user", "1", { expiration: { type: "PX", value: 60_000 } })) === "OK",
      end: () => client.isOpen && client.destroy(),
    };
  },
};

const nodeRedisCluster: ClientKind = {
  name: "node-redis cluster",
  topology: "cluster",
  create({ seeds, addressMap }, safe) {
    const defaults = { socket: { reconnectStrategy: 100 }, ...(safe ? { disableOfflineQueue: true } : {}) };
    const rootNodes = seeds.map((socket) => ({ socket: { ...socket } }));
    const client = createCluster({ rootNodes, defaults, nodeAddressMap: { ...addressMap } });
    client.on("error", () => {});
    return {
      client,
      emitter: client,
      options: { rootNodes, defaults },
      connect: async () => void (await client.connect()),
      isUsable: async () => (await client.set("user", "1", { expiration: { type: "PX", value: 60_000 } })) === "OK",
      end: () => client.isOpen && client.destroy(),
    };
  },
};

/** Drivers that `redisStore` knows by their shape: it makes a connection of its own from them. */
export const DUPLICATED: readonly ClientKind[] = [
  ...ioredisKinds("ioredis", Redis, Cluster),
  ...ioredisKinds("iovalkey", Valkey, ValkeyCluster),
  nodeRedis,
  nodeRedisCluster,
];

/** Any other, through a function that the user writes. */
export const SEND_COMMAND: readonly ClientKind[] = [
  {
    name: "fromSendCommand",
    topology: "standalone",
    create({ seeds: [seed] }) {
      const client = new Redis({ ...seed, lazyConnect: true, ...SAFE_NODE });
      return likeIoredis(
        client,
        fromSendCommand((name = "", ...args) => client.call(name, ...args)),
      );
    },
  },
  {
    name: "fromSendCommand on a cluster",
    topology: "cluster",
    create(target) {
      const { client, ...rest } = nodeRedisCluster.create(target, true);
      const cluster = client as unknown as ReturnType<typeof createCluster>;
      const send = fromSendCommand(({ key, command }) => cluster.sendCommand(key, false, command), { cluster: true });
      return { ...rest, client: send };
    },
  },
];
