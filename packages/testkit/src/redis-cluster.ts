import { Redis } from "ioredis";
import { eventually } from "./eventually.ts";
import { type RedisServer, startRedisServer } from "./redis-server.ts";

/** How to start a private cluster. */
export interface RedisClusterOptions {
  /** How many primaries share the slots; 3 by default. */
  readonly primaries?: number;
  /** How many replicas follow each primary; none by default. */
  readonly replicasPerPrimary?: 0 | 1;
  /** After how many silent milliseconds a node counts as failed; 1000 by default. */
  readonly nodeTimeoutMs?: number;
  /** More command-line arguments for every node. */
  readonly args?: readonly string[];
}

/** One node of a cluster. */
export interface ClusterNode {
  readonly server: RedisServer;
  /** The node's name in the cluster, 40 hexadecimal digits. */
  readonly id: string;
  /** The slots it was given at the start, both ends included; undefined for a replica. */
  readonly slots: readonly [first: number, last: number] | undefined;
  /** For a replica, the primary that it follows. */
  readonly primary: ClusterNode | undefined;
}

/** A Redis Cluster of private local processes that serves all 16384 slots. */
export interface RedisCluster extends AsyncDisposable {
  /** Primaries first, then replicas. */
  readonly nodes: readonly ClusterNode[];
  /** Where a client may begin: the primaries. */
  readonly seeds: readonly { readonly host: string; readonly port: number }[];
  /** Ends all nodes. Idempotent. */
  stop(): Promise<void>;
}

const SLOTS = 16_384;
const READY_WITHIN_MS = 20_000;

/**
 * Starts a cluster and waits until every node agrees that it is whole. A node refuses writes for its first two
 * seconds, so this takes a little over two seconds.
 */
export async function startRedisCluster(options: RedisClusterOptions = {}): Promise<RedisCluster> {
  const primaries = options.primaries ?? 3;
  const replicas = primaries * (options.replicasPerPrimary ?? 0);
  const servers = await startNodes(primaries + replicas, options);
  const clients = servers.map((server) => new Redis(server.url, { lazyConnect: true, maxRetriesPerRequest: 3 }));
  for (const client of clients) client.on("error", () => {}); // Each command's own failure says what happened.
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.stop()));
  };
  try {
    const nodes = await join(servers, clients, primaries);
    const seeds = servers.slice(0, primaries).map(({ host, port }) => ({ host, port }));
    return { nodes, seeds, stop, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  } finally {
    for (const client of clients) client.disconnect();
  }
}

async function startNodes(count: number, options: RedisClusterOptions): Promise<RedisServer[]> {
  const args = [
    ...["--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf"],
    ...["--cluster-node-timeout", String(options.nodeTimeoutMs ?? 1000), "--cluster-announce-ip", "127.0.0.1"],
    // A replica is listed once it has received something from its primary, for which it would wait 10 s otherwise.
    ...["--repl-ping-replica-period", "1"],
    ...(options.args ?? []),
  ];
  const started = await Promise.allSettled(Array.from({ length: count }, () => startRedisServer({ args })));
  const servers = started.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  const failed = started.find((result) => result.status === "rejected");
  if (failed === undefined) return servers;
  await Promise.all(servers.map((server) => server.stop()));
  throw failed.reason;
}

async function join(servers: RedisServer[], clients: Redis[], primaries: number): Promise<ClusterNode[]> {
  const ids = await Promise.all(clients.map(async (client) => String(await client.cluster("MYID"))));
  const nodes: ClusterNode[] = [];
  for (const [index, server] of servers.entries()) {
    const isPrimary = index < primaries;
    nodes.push({
      server,
      id: ids[index] ?? "",
      slots: isPrimary ? slotRange(index, primaries) : undefined,
      primary: isPrimary ? undefined : nodes[index % primaries],
    });
  }
  await Promise.all(clients.map((client, index) => introduce(client, index, nodes)));
  await eventually(() => everyNodeKnows(clients, nodes.length), { withinMs: READY_WITHIN_MS });
  await Promise.all(nodes.map((node, index) => follow(clients[index], node)));
  await eventually(() => everyNodeAgrees(clients, nodes), { withinMs: READY_WITHIN_MS });
  return nodes;
}

function slotRange(index: number, primaries: number): [number, number] {
  return [Math.ceil((index * SLOTS) / primaries), Math.ceil(((index + 1) * SLOTS) / primaries) - 1];
}

/** Gives a node its slots, an epoch of its own (so that none has to be fought over), and the way to the first node. */
async function introduce(client: Redis, index: number, nodes: readonly ClusterNode[]): Promise<void> {
  await client.call("CLUSTER", "SET-CONFIG-EPOCH", index + 1);
  const slots = nodes[index]?.slots;
  if (slots) {
    const list = Array.from({ length: slots[1] - slots[0] + 1 }, (_value, offset) => slots[0] + offset);
    await client.call("CLUSTER", "ADDSLOTS", ...list);
  }
  const first = nodes[0];
  if (index > 0 && first) await client.cluster("MEET", first.server.host, first.server.port);
}

async function everyNodeKnows(clients: readonly Redis[], count: number): Promise<boolean> {
  const infos = await Promise.all(clients.map(async (client) => String(await client.cluster("INFO"))));
  return infos.every((info) => info.includes(`cluster_known_nodes:${count}\r`));
}

async function follow(client: Redis | undefined, node: ClusterNode): Promise<void> {
  if (client === undefined || node.primary === undefined) return;
  const { id } = node.primary;
  await eventually(() => client.cluster("REPLICATE", id), { withinMs: READY_WITHIN_MS });
}

/** Whether each node serves, and lists each primary's slots and each replica under it. */
async function everyNodeAgrees(clients: readonly Redis[], nodes: readonly ClusterNode[]): Promise<boolean> {
  const primaries = nodes.filter((node) => node.slots !== undefined);
  const replicasPerPrimary = (nodes.length - primaries.length) / primaries.length;
  const agreements = clients.map(async (client) => {
    if (!String(await client.cluster("INFO")).includes("cluster_state:ok")) return false;
    const ranges = await client.cluster("SLOTS");
    return ranges.length === primaries.length && ranges.every((range) => range.length === 3 + replicasPerPrimary);
  });
  const links = clients.map(async (client, index) => {
    if (nodes[index]?.primary === undefined) return true;
    return (await client.info("replication")).includes("master_link_status:up");
  });
  return (await Promise.all([...agreements, ...links])).every(Boolean);
}
