import { invalidOption } from "../../../errors.ts";
import type { ScriptClient } from "./client.ts";
import { type IoredisClient, IoredisScripts, isIoredis } from "./ioredis.ts";
import { IoredisClusterScripts, isIoredisCluster } from "./ioredis-cluster.ts";
import { isNodeRedis, type NodeRedisClient, NodeRedisScripts } from "./node-redis.ts";
import { isNodeRedisCluster, type NodeRedisClusterClient, NodeRedisClusterScripts } from "./node-redis-cluster.ts";
import { isSendCommandClient, type SendCommandClient, SendCommandScripts } from "./send-command.ts";

/** A client that `redisStore` knows by its shape. */
export type RedisClient = IoredisClient | NodeRedisClient | NodeRedisClusterClient | SendCommandClient;

/** The adapter for a user's client. @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION`. */
export function adaptClient(client: unknown, useAsIs: boolean): ScriptClient {
  if (typeof client === "object" && client !== null) {
    if (isSendCommandClient(client)) return new SendCommandScripts(client);
    if (isIoredis(client)) {
      return isIoredisCluster(client)
        ? new IoredisClusterScripts(client, useAsIs)
        : new IoredisScripts(client, useAsIs);
    }
    if (isNodeRedisCluster(client)) return new NodeRedisClusterScripts(client, useAsIs);
    if (isNodeRedis(client)) return new NodeRedisScripts(client, useAsIs);
  }
  throw invalidOption(
    "client",
    "an ioredis or iovalkey client (standalone, Sentinel or Cluster), a node-redis client or cluster, or what " +
      "fromSendCommand() makes of any other",
    client,
  );
}
