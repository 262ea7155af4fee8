import { invalidOption } from "../../../errors.ts";
import type { ScriptClient } from "./client.ts";
import { type IoredisClient, IoredisScripts, isIoredis } from "./ioredis.ts";

/** A client that `redisStore` knows by its shape. */
export type RedisClient = IoredisClient;

/** The adapter for a user's client. @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION`. */
export function adaptClient(client: unknown, useAsIs: boolean): ScriptClient {
  if (typeof client === "object" && client !== null && isIoredis(client)) return new IoredisScripts(client, useAsIs);
  throw invalidOption("client", "an ioredis client (standalone, Cluster or Sentinel)", client);
}
