import { type ClusterNode, eventually, type RedisCluster, startRedisCluster } from "@spillway/testkit";
import type { Redis } from "ioredis";
import type { PolicyOptions } from "spillway";
import { keyTag } from "../../packages/spillway/src/stores/redis/key-layout.ts";
import { keySlot } from "../../packages/spillway/src/stores/redis/key-slot.ts";
import type { Tier } from "./load-shapes.ts";
import { adminOf, primariesAmong, type Stage } from "./stage.ts";

/** Three primaries with a replica each. */
export interface ClusterStage extends Stage {
  readonly cluster: RedisCluster;
  readonly primaries: readonly ClusterNode[];
  adminAt(node: ClusterNode): Redis;
  replicaOf(node: ClusterNode): ClusterNode;
  /** Waits until a replica is the primary in the eyes of all that live. */
  tookOver(replica: ClusterNode): Promise<unknown>;
}

const FIRST = 3;
const TAKEN_OVER_WITHIN_MS = 20_000;

/** Every shape that policies have, with requests about one key and about two: each node holds several of the keys. */
export const EVERY_SHAPE: readonly Tier[] = [
  tier("bucket", 2, { name: "bucket", limit: 50, period: "1s", burst: 50 }),
  tier("window", 1, { name: "window", limit: 50, period: "1s", algorithm: "fixed-window" }),
  tier("aligned", 1, { name: "aligned", limit: 50, period: "1s", algorithm: "fixed-window", windowStart: "aligned" }),
  tier("counter", 1, { name: "counter", limit: 50, period: "1s", algorithm: "sliding-window-counter" }),
  tier("log", 1, { name: "log", limit: 50, period: "1s", algorithm: "sliding-window-log" }),
  tier(
    "pair",
    2,
    { name: "pair-bucket", limit: 50, period: "1s", burst: 50 },
    { name: "pair-window", limit: 600, period: "10s", algorithm: "fixed-window" },
  ),
  {
    ...tier("joint", 1, { name: "joint", limit: 50, period: "1s", burst: 50 }),
    common: { name: "joint-common", limit: 100, period: "1s", burst: 50 },
  },
];

function tier(name: string, keysPerShape: number, ...policies: PolicyOptions[]): Tier {
  return { name, policies, keysPerShape };
}

export function slotOf(key: string): number {
  return keySlot(keyTag(key));
}

/** Whether a node had a key's slot at the start. */
export function isOn(node: ClusterNode | undefined, key: string): boolean {
  const slots = node?.slots;
  return slots !== undefined && slots[0] <= slotOf(key) && slotOf(key) <= slots[1];
}

/** @param fullCoverage whether a cluster of which one primary is gone serves nobody, as Redis has it unless told otherwise. */
export async function openCluster(
  driver: "ioredis Cluster" | "node-redis Cluster",
  fullCoverage: "yes" | "no" = "yes",
): Promise<ClusterStage> {
  const args = ["--cluster-require-full-coverage", fullCoverage];
  const cluster = await startRedisCluster({ primaries: FIRST, replicasPerPrimary: 1, args });
  const admins = new Map(cluster.nodes.map((node) => [node, adminOf(node.server.port)]));
  const adminAt = (node: ClusterNode): Redis => admins.get(node) as Redis;
  const living = (): Redis[] => cluster.nodes.filter(({ server }) => server.running).map(adminAt);
  return {
    cluster,
    primaries: cluster.nodes.slice(0, FIRST),
    adminAt,
    replicaOf: (node) => cluster.nodes.find(({ primary }) => primary === node) as ClusterNode,
    async tookOver({ server }) {
      const isKnown = async (admin: Redis): Promise<boolean> => {
        const ranges = await admin.cluster("SLOTS");
        return ranges.some(([, , primary]) => primary?.[1] === server.port);
      };
      return await eventually(async () => (await Promise.all(living().map(isKnown))).every(Boolean), {
        withinMs: TAKEN_OVER_WITHIN_MS,
      });
    },
    clientOf: () => ({ driver, redis: { nodes: [...cluster.seeds] } }),
    nodeOf(key) {
      const server = cluster.nodes.find((node) => isOn(node, key))?.server;
      return `${server?.host}:${server?.port}`;
    },
    primariesNow: () => primariesAmong(living()),
    async [Symbol.asyncDispose]() {
      for (const admin of admins.values()) admin.disconnect();
      await cluster.stop();
    },
  };
}
