import { Redis } from "ioredis";
import { eventually } from "./eventually.ts";
import { type RedisProcess, startRedisProcess } from "./redis-process.ts";
import { type RedisServer, startRedisServer } from "./redis-server.ts";

/** How to start a primary that sentinels watch. */
export interface RedisSentinelOptions {
  /** After how many silent milliseconds a sentinel takes the primary for down; 500 by default. */
  readonly downAfterMs?: number;
  /** More command-line arguments for the primary and its replica. */
  readonly args?: readonly string[];
}

/** The address of a server. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** A primary and a replica under the watch of three sentinels, two of which must agree. */
export interface RedisSentinel extends AsyncDisposable {
  /** What the sentinels call the primary, whichever server it is. */
  readonly primaryName: string;
  readonly sentinels: readonly Address[];
  /** The server that began as the primary. */
  readonly firstPrimary: RedisServer;
  /** The server that began as its replica. */
  readonly firstReplica: RedisServer;
  /** Where the sentinels say that the primary is now. */
  primary(): Promise<Address>;
  /** Has the sentinels make the replica the primary, and waits until it is one in the eyes of all. */
  failover(): Promise<Address>;
  /** Waits until all sentinels name another primary than this one, for instance after it was killed. */
  primaryOtherThan(port: number): Promise<Address>;
  /** Ends all processes. Idempotent. */
  stop(): Promise<void>;
}

const HOST = "127.0.0.1";
const PRIMARY_NAME = "spillway-test";
const SENTINELS = 3;
const QUORUM = 2;
const READY_WITHIN_MS = 20_000;

/** Starts the five processes and waits until each sentinel knows the others and the replica. */
export async function startRedisSentinel(options: RedisSentinelOptions = {}): Promise<RedisSentinel> {
  const stops: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(stops.map((stopOne) => stopOne()));
  };
  try {
    const firstPrimary = await startRedisServer({ args: options.args ?? [] });
    stops.push(() => firstPrimary.stop());
    const replicaArgs = ["--replicaof", `${HOST} ${firstPrimary.port}`, ...(options.args ?? [])];
    const firstReplica = await startRedisServer({ args: replicaArgs });
    stops.push(() => firstReplica.stop());
    await untilLinked(firstReplica);
    const config = sentinelConfig(firstPrimary.port, options.downAfterMs ?? 500);
    const sentinels: RedisProcess[] = [];
    for (let index = 0; index < SENTINELS; index++) {
      const sentinel = await startRedisProcess({ config, args: ["--sentinel"], readyLine: "Sentinel ID is" });
      stops.push(() => sentinel.stop());
      sentinels.push(sentinel);
    }
    const addresses = sentinels.map(({ port }) => ({ host: HOST, port }));
    await Promise.all(addresses.map((address) => untilAware(address)));
    const primaryOtherThan = (port: number): Promise<Address> => untilMoved(addresses, port);
    return {
      primaryName: PRIMARY_NAME,
      sentinels: addresses,
      firstPrimary,
      firstReplica,
      primary: () => askPrimary(addresses[0]),
      primaryOtherThan,
      async failover() {
        const before = await askPrimary(addresses[0]);
        // Refused while an earlier failover is still being settled.
        await eventually(() => ask(addresses[0], (client) => client.call("SENTINEL", "FAILOVER", PRIMARY_NAME)), {
          withinMs: READY_WITHIN_MS,
          everyMs: 100,
        });
        return await primaryOtherThan(before.port);
      },
      stop,
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function sentinelConfig(primaryPort: number, downAfterMs: number): string {
  return [
    `sentinel monitor ${PRIMARY_NAME} ${HOST} ${primaryPort} ${QUORUM}`,
    `sentinel down-after-milliseconds ${PRIMARY_NAME} ${downAfterMs}`,
    `sentinel failover-timeout ${PRIMARY_NAME} 3000`,
    `sentinel parallel-syncs ${PRIMARY_NAME} 1`,
    "",
  ].join("\n");
}

/** Runs one command on a connection of its own. */
async function ask<T>(address: Address | undefined, command: (client: Redis) => Promise<T>): Promise<T> {
  if (address === undefined) throw new Error("There is no server to ask.");
  const client = new Redis({ ...address, lazyConnect: true, maxRetriesPerRequest: 0, retryStrategy: () => null });
  client.on("error", () => {}); // The command's own failure says what happened.
  try {
    return await command(client);
  } finally {
    client.disconnect();
  }
}

async function untilLinked(replica: RedisServer): Promise<void> {
  await eventually(
    () => ask(replica, async (client) => (await client.info("replication")).includes("link_status:up")),
    {
      withinMs: READY_WITHIN_MS,
    },
  );
}

async function untilAware(sentinel: Address): Promise<void> {
  const aware = async (client: Redis): Promise<boolean> => {
    const fields = fieldsOf(await client.call("SENTINEL", "MASTER", PRIMARY_NAME));
    return fields.get("num-slaves") === "1" && fields.get("num-other-sentinels") === String(SENTINELS - 1);
  };
  await eventually(() => ask(sentinel, aware), { withinMs: READY_WITHIN_MS, everyMs: 50 });
}

function fieldsOf(reply: unknown): Map<string, string> {
  const fields = new Map<string, string>();
  if (!Array.isArray(reply)) return fields;
  for (let index = 0; index + 1 < reply.length; index += 2) fields.set(String(reply[index]), String(reply[index + 1]));
  return fields;
}

async function askPrimary(sentinel: Address | undefined): Promise<Address> {
  const reply = await ask(sentinel, (client) => client.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", PRIMARY_NAME));
  if (!Array.isArray(reply)) throw new Error(`The sentinels know no primary named ${PRIMARY_NAME}.`);
  return { host: String(reply[0]), port: Number(reply[1]) };
}

async function untilMoved(sentinels: readonly Address[], awayFrom: number): Promise<Address> {
  return await eventually(
    async () => {
      const primaries = await Promise.all(sentinels.map((sentinel) => askPrimary(sentinel)));
      const [first] = primaries;
      const agreed = first !== undefined && primaries.every(({ port }) => port === first.port);
      if (!agreed || first.port === awayFrom) return false;
      const role = await ask(first, (client) => client.call("ROLE"));
      return Array.isArray(role) && role[0] === "master" && first;
    },
    { withinMs: READY_WITHIN_MS, everyMs: 50 },
  );
}
