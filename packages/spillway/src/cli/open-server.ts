import type { RedisClient } from "../stores/redis/clients/adapt-client.ts";

/** A client of ours, with what the commands need of it beside the store. */
export interface OpenServer {
  /** What `redisStore` is given. */
  readonly client: RedisClient;
  readonly isCluster: boolean;
  /** Sends one command; on a cluster to the node that holds its key. Replies are texts, numbers and arrays of them. */
  send(command: readonly string[]): Promise<unknown>;
  /** The same, with texts as bytes. */
  sendForBytes(command: readonly string[]): Promise<unknown>;
  close(): Promise<void>;
}

/** What is used of ioredis, whose types are no dependency of ours. */
interface Ioredis {
  call(command: string, ...args: string[]): Promise<unknown>;
  callBuffer(command: string, ...args: string[]): Promise<unknown>;
  connect(): Promise<void>;
  disconnect(): void;
  on(event: string, listener: (error: Error) => void): unknown;
}
interface IoredisModule {
  Redis: new (url: string, options: object) => Ioredis;
  Cluster: new (nodes: string[], options: object) => Ioredis;
}

const CONNECT_WITHIN_MS = 3000;
/** A server that takes connections and says nothing is given up after this. */
const ANSWER_WITHIN_MS = 5000;

/**
 * Connects with ioredis or iovalkey, whichever the project has.
 * @throws Error that says what could not be reached, or that neither is there.
 */
export async function openServer(url: string, isCluster: boolean): Promise<OpenServer> {
  const { Redis, Cluster } = await driver();
  const common = {
    lazyConnect: true,
    connectTimeout: CONNECT_WITHIN_MS,
    commandTimeout: ANSWER_WITHIN_MS,
    retryStrategy: () => null,
  };
  const client = isCluster
    ? new Cluster([url], { lazyConnect: true, clusterRetryStrategy: () => null, redisOptions: common })
    : new Redis(url, { ...common, enableOfflineQueue: false, maxRetriesPerRequest: 0 });
  let reason: Error | undefined;
  client.on("error", (error) => {
    reason = error;
  });
  // A cluster that is not ready, or whose nodes cannot be found, ends without a word from connect().
  const ended = new Promise<never>((_, reject) => {
    client.on("end", () => reject(new Error("its state is not ok, or it tells of no node that can be asked.")));
  });
  await Promise.race([client.connect(), ended]).catch((error: Error) => {
    client.disconnect();
    throw new Error(`${withoutPassword(url)} cannot be reached: ${reasonOf(reason ?? error)}`);
  });
  return {
    client: client as unknown as RedisClient,
    isCluster,
    send: ([name = "", ...args]) => client.call(name, ...args),
    sendForBytes: ([name = "", ...args]) => client.callBuffer(name, ...args),
    close: async () => client.disconnect(),
  };
}

/** What went wrong, and what to do where the server's own words do not say. */
function reasonOf(error: Error & { readonly lastNodeError?: Error | null }): string {
  const { message } = error.lastNodeError ?? error;
  if (/cluster support disabled/.test(message)) return "it is no node of a Redis Cluster: leave --cluster out.";
  if (/^NOAUTH/.test(message)) return "it wants a password: put it into the URL, as in redis://user:password@host.";
  return message;
}

/** An address as it may be shown and logged. */
export function withoutPassword(url: string): string {
  return url.replace(url.includes("//") ? /(\/\/[^:@/]*):.*@/ : /^([^:@/]*):.*@/, "$1:***@");
}

async function driver(): Promise<IoredisModule> {
  for (const name of ["ioredis", "iovalkey"]) {
    try {
      return (await import(name)) as IoredisModule;
    } catch (error) {
      if ((error as { code?: string }).code !== "ERR_MODULE_NOT_FOUND") throw error;
    }
  }
  throw new Error("The command line needs ioredis or iovalkey: npm install ioredis.");
}
