import type { Redis } from "ioredis";
import { bucketKey } from "../../packages/spillway/src/stores/redis/key-layout.ts";
import { decodePeek, decodeTake } from "../../packages/spillway/src/stores/redis/reply-decoding.ts";
import { adjust, block, peek, reset, take } from "../../packages/spillway/src/stores/redis/scripts/generated.ts";
import {
  encodeAddresses,
  encodeAdjustments,
  encodeBlock,
  encodeTake,
} from "../../packages/spillway/src/stores/redis/take-encoding.ts";
import type {
  Adjustment,
  BucketAddress,
  PeekReply,
  Store,
  TakeCall,
  TakeReply,
} from "../../packages/spillway/src/stores/store.ts";
import { type StoredValue, unpackStored } from "./stored-value.ts";

type ScriptName = "take" | "peek" | "adjust" | "block" | "reset";

/**
 * Goes in front of a shipped script, whose own text stays as it is: the last argument is the time that the script reads, and
 * keys expire by it. Lives given to SET are kept in a hash, so that they can be compared.
 */
const PRELUDE = `
local test_now_us = table.remove(ARGV)
local test_now_ms = math.floor(test_now_us / 1000)
local test_server = redis
local function test_bury(key)
  local dies_ms = test_server.call('HGET', 'model:deaths', key)
  if dies_ms and test_now_ms > tonumber(dies_ms) then
    test_server.call('DEL', key)
    test_server.call('HDEL', 'model:deaths', key)
    test_server.call('HDEL', 'model:lives', key)
  end
end
local function test_call(run, name, ...)
  local args = { ... }
  if name == 'TIME' then return { string.sub(test_now_us, 1, -7), string.sub(test_now_us, -6) } end
  if name == 'SET' then
    if args[3] ~= 'PX' or #args > 5 or args[5] and args[5] ~= 'GET' then error('a SET without PX') end
    local is_foreign = test_server.call('TYPE', args[1]).ok ~= 'string' and test_server.call('EXISTS', args[1]) == 1
    if args[5] and is_foreign then return run('SET', args[1], args[2], 'GET') end
    test_server.call('HSET', 'model:lives', args[1], args[4])
    test_server.call('HSET', 'model:deaths', args[1], test_now_ms + args[4])
    if args[5] then return run('SET', args[1], args[2], 'PX', 600000, 'GET') end
    return run('SET', args[1], args[2], 'PX', 600000)
  end
  if name == 'SETRANGE' or name == 'PEXPIRE' then
    if test_server.call('EXISTS', args[1]) == 0 then error('a ' .. name .. ' of a key that is not there') end
    if name == 'SETRANGE' then return run(name, ...) end
    test_server.call('HSET', 'model:lives', args[1], args[2])
    test_server.call('HSET', 'model:deaths', args[1], test_now_ms + args[2])
    return run('PEXPIRE', args[1], 600000)
  end
  if name == 'GETRANGE' then
    test_bury(args[1])
    return run(name, ...)
  end
  if name ~= 'GET' and name ~= 'MGET' and name ~= 'EXISTS' then error('an unexpected command: ' .. name) end
  for _, key in ipairs(args) do test_bury(key) end
  return run(name, ...)
end
local redis = {
  call = function(...) return test_call(test_server.call, ...) end,
  pcall = function(...) return test_call(test_server.pcall, ...) end,
}
`;

/** What a Redis key holds, and the life that its last write gave it. */
export interface RedisRecord {
  readonly stored: StoredValue;
  readonly lifeMs: number;
}

/** The shipped scripts on a clock that stands where the test puts it. */
export class TimedRedisStore implements Store {
  readonly name = "redis on a test clock";
  readonly prefix: string;
  nowUs: number;
  readonly #client: Redis;
  readonly #sha1: ReadonlyMap<ScriptName, string>;

  private constructor(client: Redis, sha1: ReadonlyMap<ScriptName, string>, prefix: string, nowUs: number) {
    this.#client = client;
    this.#sha1 = sha1;
    this.prefix = prefix;
    this.nowUs = nowUs;
  }

  /** @param change makes a broken twin of each script's text. */
  static async load(
    client: Redis,
    change = (text: string): string => text,
  ): Promise<(prefix: string, nowUs: number) => TimedRedisStore> {
    const sha1 = new Map<ScriptName, string>();
    for (const { name, text } of [take, peek, adjust, block, reset]) {
      sha1.set(name as ScriptName, String(await client.script("LOAD", PRELUDE + change(text))));
    }
    return (prefix, nowUs) => new TimedRedisStore(client, sha1, prefix, nowUs);
  }

  async take(call: TakeCall): Promise<TakeReply> {
    const keys = this.#keysOf(call.buckets);
    return decodeTake(await this.#run("take", keys, encodeTake(call)), call, keys);
  }

  peek(addresses: readonly BucketAddress[]): Promise<PeekReply> {
    return this.#read("peek", addresses, encodeAddresses(addresses));
  }

  adjust(adjustments: readonly Adjustment[]): Promise<PeekReply> {
    return this.#read("adjust", adjustments, encodeAdjustments(adjustments));
  }

  block(addresses: readonly BucketAddress[], durationUs: number): Promise<PeekReply> {
    return this.#read("block", addresses, encodeBlock(addresses, durationUs));
  }

  async reset(addresses: readonly BucketAddress[]): Promise<void> {
    await this.#read("reset", addresses, encodeAddresses(addresses));
  }

  async close(): Promise<void> {}

  /** Puts what no script wrote where a bucket lives. */
  async spoil(address: BucketAddress, bytes: Buffer | "list"): Promise<void> {
    const key = bucketKey(this.prefix, address);
    const pipeline = this.#client.pipeline().hdel("model:deaths", key).hdel("model:lives", key).del(key);
    if (bytes === "list") pipeline.rpush(key, "5").pexpire(key, 600_000);
    else pipeline.set(key, bytes, "PX", 600_000);
    for (const [error] of (await pipeline.exec()) ?? []) if (error) throw error;
  }

  /** What is stored under keys that scripts wrote. */
  async records(keys: readonly string[]): Promise<Map<string, RedisRecord>> {
    const records = new Map<string, RedisRecord>();
    if (keys.length === 0) return records;
    const [values, lives] = await Promise.all([
      this.#client.mgetBuffer(...keys),
      this.#client.hmget("model:lives", ...keys),
    ]);
    for (const [index, key] of keys.entries()) {
      const bytes = values[index];
      if (bytes) records.set(key, { stored: unpackStored(bytes), lifeMs: Number(lives[index]) });
    }
    return records;
  }

  async #read(name: ScriptName, addresses: readonly BucketAddress[], args: readonly string[]): Promise<PeekReply> {
    const keys = this.#keysOf(addresses);
    return decodePeek(await this.#run(name, keys, args), addresses, keys);
  }

  #run(name: ScriptName, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.#client.evalsha(String(this.#sha1.get(name)), keys.length, ...keys, ...args, String(this.nowUs));
  }

  #keysOf(addresses: readonly BucketAddress[]): string[] {
    return addresses.map((address) => bucketKey(this.prefix, address));
  }
}
