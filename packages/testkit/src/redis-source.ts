import { Redis } from "ioredis";
import { findRedisServer } from "./redis-binary.ts";
import { redisImage, startRedisContainer, whyNoContainers } from "./redis-container.ts";
import { type InstallOptions, installRedisServer } from "./redis-install.ts";
import { startRedisServer } from "./redis-server.ts";

/** A Redis that can be used here, and how it was found. */
export type RedisSource =
  | { readonly kind: "url"; readonly url: string; readonly version: string; readonly from: string }
  | { readonly kind: "binary"; readonly path: string; readonly version: string; readonly from: string }
  | { readonly kind: "container"; readonly image: string; readonly from: string };

/** A Redis that serves. */
export interface OpenRedis extends AsyncDisposable {
  readonly url: string;
  readonly kind: RedisSource["kind"];
  /** As the server says it itself, such as `7.0.15`. */
  readonly version: string;
  /** Where it comes from, in words for the user; never a password. */
  readonly from: string;
  /** Ends a server that was started for this; leaves a user's own server alone. Idempotent. */
  stop(): Promise<void>;
}

const CONNECT_WITHIN_MS = 5_000;

/**
 * Looks for a Redis and starts nothing: the server that `SPILLWAY_REDIS_URL` names, else `redis-server` on PATH, else a
 * container runtime.
 *
 * @throws when `SPILLWAY_REDIS_URL` is set and no Redis answers there: whoever names a server wants that one
 */
export async function findRedis(): Promise<RedisSource | undefined> {
  const url = process.env.SPILLWAY_REDIS_URL;
  if (url) return { kind: "url", url, version: await versionAt(url, "SPILLWAY_REDIS_URL"), from: "SPILLWAY_REDIS_URL" };
  const binary = findRedisServer();
  if (binary !== undefined) return { kind: "binary", ...binary, from: "redis-server on PATH" };
  if ((await whyNoContainers()) !== undefined) return undefined;
  const image = redisImage();
  return { kind: "container", image, from: `container of ${image}` };
}

/**
 * Finds a Redis, starts it where that is needed, and installs redis-server with apt-get where nothing else is left and
 * that is possible. Undefined when there is no way; `say` then has told the user why.
 */
export async function openRedis(options: InstallOptions = {}): Promise<OpenRedis | undefined> {
  const say = options.say ?? ((line: string) => void process.stderr.write(`${line}\n`));
  const source = await findRedis();
  if (source?.kind === "url") return opened(source.url, source, source.version, async () => {});
  if (source?.kind === "binary") return await openBinary(source.from);
  if (source?.kind === "container") {
    try {
      const container = await startRedisContainer(source.image);
      return opened(container.url, source, await versionAt(container.url, source.from), container.stop);
    } catch (error) {
      say(`A container runtime is there, yet no Redis came up: ${error instanceof Error ? error.message : error}`);
    }
  }
  const outcome = await installRedisServer({ say });
  if (outcome.installed) return await openBinary("redis-server installed with apt-get");
  say(`No Redis is to be had: SPILLWAY_REDIS_URL is not set, there is no redis-server on PATH, and ${outcome.reason}`);
  return undefined;
}

async function openBinary(from: string): Promise<OpenRedis> {
  const server = await startRedisServer();
  return opened(server.url, { kind: "binary", from }, await versionAt(server.url, from), () => server.stop());
}

function opened(
  url: string,
  { kind, from }: Pick<RedisSource, "kind" | "from">,
  version: string,
  end: () => Promise<void>,
): OpenRedis {
  let ended: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    ended ??= end();
    return ended;
  };
  return { url, kind, version, from, stop, [Symbol.asyncDispose]: stop };
}

/** Asks a server for its version; this is also the proof that it answers. */
async function versionAt(url: string, name: string): Promise<string> {
  const client = new Redis(url, {
    lazyConnect: true,
    connectTimeout: CONNECT_WITHIN_MS,
    commandTimeout: CONNECT_WITHIN_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  let reason = "";
  client.on("error", (error) => {
    reason = error.message;
  });
  try {
    await client.connect();
    return /^redis_version:(\S+)/m.exec(await client.info("server"))?.[1] ?? "unknown";
  } catch (error) {
    const why = reason || (error instanceof Error ? error.message : String(error));
    throw new Error(`No Redis answers at the address in ${name}: ${why}`, { cause: error });
  } finally {
    client.disconnect();
  }
}
