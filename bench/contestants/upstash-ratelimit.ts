import { createHash } from "node:crypto";
import { Ratelimit } from "@upstash/ratelimit";
import type { Redis } from "ioredis";
import type { BenchRedis } from "../harness/bench-redis.ts";
import { encodeCommand, type RawCommand } from "../harness/raw-connection.ts";
import { checkLimit, type RedisLimiter, type RedisLimiterKind } from "./redis-limiter.ts";
import type { ScriptCommands } from "./script-load.ts";

/** Its ways of counting. */
export type UpstashAlgorithm = "fixedWindow" | "slidingWindow" | "tokenBucket";

type Limiter = ReturnType<typeof Ratelimit.fixedWindow>;
type Argument = string | number | null;

/** The part of the vendor's client that the library needs here. */
interface VendorClient {
  evalsha(sha1: string, keys: readonly string[], args: readonly Argument[]): Promise<unknown>;
  eval(script: string, keys: readonly string[], args: readonly Argument[]): Promise<unknown>;
}

/** A call of one of its scripts, as it came to the client. */
interface ScriptCall {
  readonly text: string;
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

/** An hour: what `PERIOD_MS` is, in the library's words. */
const WINDOW = "1 h";

/** @upstash/ratelimit over ioredis: its scripts as they are, but for their first line, whose flag only the vendor's server knows. */
export function upstashRatelimit(algorithm: UpstashAlgorithm): RedisLimiterKind {
  return {
    name: `upstash ${algorithm}`,
    async open(redis, limit): Promise<RedisLimiter> {
      const client = await redis.connect();
      const ratelimit = ratelimitOf(vendorClientOver(client), limiterOf(algorithm, limit));
      return {
        decide: async (key) => (await ratelimit.limit(key)).success,
        async close() {
          client.disconnect();
        },
      };
    },
  };
}

function ratelimitOf(redis: VendorClient, limiter: Limiter): Ratelimit {
  // A timer for each call would be the only thing that the timeout adds where the server is well.
  return new Ratelimit({ redis: redis as never, limiter, prefix: "upstash", timeout: 0, enableTelemetry: false });
}

function limiterOf(algorithm: UpstashAlgorithm, limit: number): Limiter {
  if (algorithm === "tokenBucket") return Ratelimit.tokenBucket(limit, WINDOW, limit);
  return algorithm === "fixedWindow" ? Ratelimit.fixedWindow(limit, WINDOW) : Ratelimit.slidingWindow(limit, WINDOW);
}

function vendorClientOver(client: Redis): VendorClient {
  /** By the SHA-1 that the library knows a script by: that of the text which this server takes. */
  const loaded = new Map<string, Promise<string>>();
  const run = (sha1: string, keys: readonly string[], args: readonly Argument[]): Promise<unknown> =>
    client.evalsha(sha1, keys.length, ...keys, ...args.map(String));
  return {
    async evalsha(sha1, keys, args) {
      const known = loaded.get(sha1);
      if (known === undefined) throw new Error("NOSCRIPT");
      return run(await known, keys, args);
    },
    async eval(script, keys, args) {
      const sha1 = sha1Of(script);
      const known = loaded.get(sha1) ?? (client.script("LOAD", withoutFlags(script)) as Promise<string>);
      loaded.set(sha1, known);
      return run(await known, keys, args);
    },
  };
}

function withoutFlags(script: string): string {
  return script.replace(/^#!lua[^\n]*\n/, "");
}

function sha1Of(text: string): string {
  return createHash("sha1").update(text).digest("hex");
}

/** The text of the script that takes. */
export async function upstashScript(algorithm: UpstashAlgorithm): Promise<string> {
  return (await callOf(algorithm, 1, "key")).text;
}

/** What the library sends for one request of a key. */
async function callOf(algorithm: UpstashAlgorithm, limit: number, key: string): Promise<ScriptCall> {
  let seen: ScriptCall | undefined;
  const recorder: VendorClient = {
    evalsha: () => Promise.reject(new Error("NOSCRIPT")),
    async eval(script, keys, args) {
      seen = { text: withoutFlags(script), keys, args: args.map(String) };
      return [0, 0, limit];
    },
  };
  await ratelimitOf(recorder, limiterOf(algorithm, limit)).limit(key);
  return seen as unknown as ScriptCall;
}

/** Its calls without the library around them. */
export async function upstashCommands(
  algorithm: UpstashAlgorithm,
  redis: BenchRedis,
  limit: number,
  connections: number,
  keys: number,
): Promise<ScriptCommands> {
  const commands: RawCommand[][] = [];
  let refused = 0;
  const read = (reply: readonly number[]): void => {
    if ((reply[0] as number) < 0) refused++;
  };
  for (let connection = 0; connection < connections; connection++) {
    const calls = await Promise.all(
      Array.from({ length: keys }, (_, i) => callOf(algorithm, limit, `customer:${connection}:${i}`)),
    );
    commands.push(
      calls.map(({ text, keys: ofCall, args }) => ({
        bytes: encodeCommand(["EVALSHA", sha1Of(text), String(ofCall.length), ...ofCall, ...args]),
        read,
      })),
    );
  }
  return {
    commandsOf: (connection) => commands[connection] as RawCommand[],
    check: () => checkLimit(upstashRatelimit(algorithm), redis),
    fault: () => (refused === 0 ? undefined : `it refused ${refused} requests within the limit`),
  };
}
