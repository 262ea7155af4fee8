import { invalidOption } from "../../errors.ts";
import { requireObject } from "../../options.ts";
import type { Adjustment, Allotment, Beat, BucketAddress, PeekReply, Store, TakeCall, TakeReply } from "../store.ts";
import { adaptClient, type RedisClient } from "./clients/adapt-client.ts";
import type { Script, ScriptClient } from "./clients/client.ts";
import { bucketKeys, keyTag, sharesKey } from "./key-layout.ts";
import { keySlot } from "./key-slot.ts";
import { decodeAllotment, decodePeek, decodeTake } from "./reply-decoding.ts";
import { adjust, allotShares, block, peek, reset, take } from "./scripts/generated.ts";
import { encodeAddresses, encodeAdjustments, encodeBeat, encodeBlock, encodeTake } from "./take-encoding.ts";

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
  return new RedisStore(adaptClient(client, useAsIs), prefix, scopeOf(client, prefix));
}

const scopes = new WeakMap<object, Map<string, object>>();

/** Stores of one client and prefix are the same keys. */
function scopeOf(client: RedisClient, prefix: string): object {
  let byPrefix = scopes.get(client);
  if (byPrefix === undefined) {
    byPrefix = new Map();
    scopes.set(client, byPrefix);
  }
  const scope = byPrefix.get(prefix) ?? {};
  byPrefix.set(prefix, scope);
  return scope;
}

class RedisStore implements Store {
  readonly name: string;
  readonly scope: object;
  readonly #client: ScriptClient;
  readonly #prefix: string;

  constructor(client: ScriptClient, prefix: string, scope: object) {
    this.name = `redis (${client.name})`;
    this.scope = scope;
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

  block(addresses: readonly BucketAddress[], durationUs: number): Promise<PeekReply> {
    return this.#read(block, addresses, encodeBlock(addresses, durationUs));
  }

  async reset(addresses: readonly BucketAddress[]): Promise<void> {
    await this.#read(reset, addresses, encodeAddresses(addresses));
  }

  async allotShares(beat: Beat): Promise<Allotment> {
    return decodeAllotment(await this.#client.run(allotShares, [sharesKey(this.#prefix)], encodeBeat(beat)));
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
