import { invalidOption } from "../../errors.ts";
import { requireObject } from "../../options.ts";
import type { Adjustment, BucketAddress, PeekReply, Store, TakeCall, TakeReply } from "../store.ts";
import { adaptClient, type RedisClient } from "./clients/adapt-client.ts";
import type { Script, ScriptClient } from "./clients/client.ts";
import { bucketKeys, keyTag, replicasKey } from "./key-layout.ts";
import { keySlot } from "./key-slot.ts";
import { decodeCount, decodePeek, decodeTake } from "./reply-decoding.ts";
import { adjust, countReplicas, peek, reset, take } from "./scripts/generated.ts";
import { encodeAddresses, encodeAdjustments, encodeTake } from "./take-encoding.ts";

export interface RedisStoreOptions {
  /** Opens every key of this store: 1 to 100 characters without braces. Defaults to `"spillway"`. */
  readonly prefix?: string;
  /**
   * Sends over the client itself instead of a duplicate of it with safe options. Options of the client that can break the
   * limit are warned about. Defaults to `false`.
   */
  readonly useAsIs?: boolean;
}

/**
 * Buckets in Redis or Valkey, shared by every process that uses the same server and prefix. Decisions are made by Lua scripts
 * on the server's clock.
 * @param client a client of ioredis or iovalkey (standalone, Sentinel or Cluster) or of node-redis (`createClient`,
 * `createCluster`), connected or not; or any other one through `fromSendCommand`. It is never changed and never closed.
 * @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION`.
 */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): Store {
  requireObject(options, "options", ["prefix", "useAsIs"]);
  const { prefix = "spillway", useAsIs = false } = options;
  if (typeof prefix !== "string" || !/^[^{}]{1,100}$/.test(prefix))
    throw invalidOption("prefix", "1 to 100 characters without braces", prefix);
  if (typeof useAsIs !== "boolean") throw invalidOption("useAsIs", "true or false", useAsIs);
  return new RedisStore(adaptClient(client, useAsIs), prefix);
}

class RedisStore implements Store {
  readonly name: string;
  readonly #client: ScriptClient;
  readonly #prefix: string;

  constructor(client: ScriptClient, prefix: string) {
    this.name = `redis (${client.name})`;
    this.#client = client;
    this.#prefix = prefix;
    client.warm();
  }

  groupOf(key: string): number {
    return this.#client.isCluster ? keySlot(keyTag(key)) : 0;
  }

  nodeOf(group: number): string {
    return this.#client.nodeOf(group);
  }

  async take(call: TakeCall): Promise<TakeReply> {
    const keys = this.#keysOf(call.buckets);
    return decodeTake(await this.#client.run(take, keys, encodeTake(call)), call, keys);
  }

  peek(addresses: readonly BucketAddress[]): Promise<PeekReply> {
    return this.#read(peek, addresses, encodeAddresses(addresses));
  }

  adjust(adjustments: readonly Adjustment[]): Promise<PeekReply> {
    return this.#read(adjust, adjustments, encodeAdjustments(adjustments));
  }

  async reset(addresses: readonly BucketAddress[]): Promise<void> {
    await this.#read(reset, addresses, encodeAddresses(addresses));
  }

  async countReplicas(id: string, lifeMs: number): Promise<number> {
    const args = [id, String(lifeMs)];
    return decodeCount(await this.#client.run(countReplicas, [replicasKey(this.#prefix)], args));
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  async #read(script: Script, addresses: readonly BucketAddress[], args: readonly string[]): Promise<PeekReply> {
    const keys = this.#keysOf(addresses);
    return decodePeek(await this.#client.run(script, keys, args), addresses, keys);
  }

  #keysOf(addresses: readonly BucketAddress[]): string[] {
    return bucketKeys(this.#prefix, addresses);
  }
}
