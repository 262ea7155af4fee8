import { invalidOption } from "../../../errors.ts";
import { slotOfStoreKey } from "../key-slot.ts";
import type { Script, ScriptClient } from "./client.ts";
import { GivenConnection } from "./given-connection.ts";
import { type Connection, connectWithReason, endClient, givenState, type IoredisClient, send } from "./ioredis.ts";
import { type Options, safeClusterOptions, unsafeClusterOptions } from "./ioredis-options.ts";
import { type Driver, OwnConnection, SEARCH_WITHIN_MS } from "./own-connection.ts";
import { redisError, unreachable } from "./redis-errors.ts";
import { runOnce } from "./run-once.ts";
import { Silences } from "./silence.ts";
import { warnOfUnsafeOptions } from "./unsafe-options.ts";

/** A Cluster client, as it is called. */
interface ClusterConnection extends Connection {
  /** For each slot the nodes that hold it, the primary first, as `host:port`. */
  readonly slots: readonly (readonly string[] | undefined)[];
  nodes(role: "all" | "master"): readonly Connection[];
  /** Asks any node, in the background, who holds what. */
  refreshSlotsCache?(): void;
  duplicate(nodes: readonly unknown[], options: Options): ClusterConnection;
}

/** Whether a client of ioredis's shape is one for a Redis Cluster. */
export function isIoredisCluster(client: object): boolean {
  return (client as { isCluster?: unknown }).isCluster === true;
}

/** Scripts over a Cluster client of ioredis or iovalkey: on a duplicate with safe options, or on the client itself. */
export class IoredisClusterScripts implements ScriptClient {
  readonly name = "ioredis Cluster";
  readonly isCluster = true;
  readonly #connection: OwnConnection<ClusterConnection> | GivenConnection<ClusterConnection>;
  readonly #silences = new Silences();
  readonly #keyPrefix: string;
  /** The nodes of our own connection, by `host:port`. */
  #nodes = new Map<string, Connection>();
  /** Why the connection to a node was lost or not made, until there is one. */
  #reasons = new Map<string, unknown>();
  #lastReason: unknown;
  /** The nodes of a user's client that is used as it is. */
  readonly #givenNodes = new WeakMap<Connection, GivenConnection<Connection>>();

  constructor(client: IoredisClient, useAsIs: boolean) {
    const given = client as unknown as ClusterConnection;
    this.#keyPrefix = plainPrefix(given.options);
    if (useAsIs) {
      warnOfUnsafeOptions(given, unsafeClusterOptions(given.options));
      this.#connection = new GivenConnection(given, givenState(given));
    } else {
      this.#connection = new OwnConnection(this.#driverOf(given), SEARCH_WITHIN_MS);
    }
  }

  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.#connection.use(async (cluster) => {
      const address = cluster.slots[slotOfStoreKey(`${this.#keyPrefix}${keys[0]}`)]?.[0] ?? "";
      const node = this.#nodeAt(cluster, address);
      const run = (): Promise<unknown> => runOnce((command) => send(cluster, command), script, keys, args);
      try {
        return await (node === undefined ? run() : this.#runAt(node, run));
      } catch (cause) {
        if (!isClosed(cause)) throw cause;
        // The slots may have another owner by now. Not every driver asks, where it must not try again.
        cluster.refreshSlotsCache?.();
        // The driver says no more than that it is closed; why, it said before, as an event.
        const reason = this.#reasons.get(address) ?? (node === undefined ? this.#lastReason : undefined) ?? cause;
        // Without a connection to its node, a call goes to another one to ask the way, and then to the one that is gone.
        throw node === undefined ? unreachable(reason) : redisError(reason);
      }
    });
  }

  #nodeAt(cluster: ClusterConnection, address: string): Connection | undefined {
    if (this.#connection instanceof OwnConnection) return this.#nodes.get(address);
    return cluster.nodes("master").find((node) => addressOf(node) === address);
  }

  #runAt(node: Connection, run: () => Promise<unknown>): Promise<unknown> {
    if (this.#connection instanceof OwnConnection) {
      // Its calls fail then, and the driver makes another connection.
      if (this.#silences.isTooLong(node)) node.disconnect();
      return this.#silences.during(node, run);
    }
    if (node.status === "ready") return run();
    // A client without an offline queue would not wait for a node's connection.
    let given = this.#givenNodes.get(node);
    if (given === undefined) {
      given = new GivenConnection(node, givenState(node));
      this.#givenNodes.set(node, given);
    }
    return given.use(run);
  }

  warm(): void {
    if (this.#connection instanceof OwnConnection) this.#connection.connected().catch(() => {});
  }

  nodeOf(slot: number): string {
    return this.#connection.current?.slots[slot]?.[0] ?? "";
  }

  async close(): Promise<void> {
    this.#connection.close();
  }

  #driverOf(given: ClusterConnection): Driver<ClusterConnection> {
    return {
      create: () => this.#watched(given.duplicate([], safeClusterOptions(given.options))),
      connect: (client) => connectWithReason(client),
      isReady: ({ status }) => status === "ready",
      end: endClient,
    };
  }

  #watched(cluster: ClusterConnection): ClusterConnection {
    const nodes = new Map<string, Connection>();
    const reasons = new Map<string, unknown>();
    this.#nodes = nodes;
    this.#reasons = reasons;
    cluster.on("+node", (node: Connection) => {
      const address = addressOf(node);
      nodes.set(address, node);
      node.on("connect", () => node.stream?.unref?.());
      node.on("ready", () => reasons.delete(address));
    });
    cluster.on("-node", (node: Connection) => {
      if (nodes.get(addressOf(node)) === node) nodes.delete(addressOf(node));
    });
    cluster.on("node error", (cause: unknown, address: string) => {
      reasons.set(address, cause);
      this.#lastReason = cause;
    });
    return cluster;
  }
}

/** What becomes of a call in a connection that was lost, or not made. */
function isClosed(cause: unknown): boolean {
  return cause instanceof Error && cause.message === "Connection is closed.";
}

function addressOf({ options }: Connection): string {
  return `${options.host}:${options.port}`;
}

/** A brace before the key's own would decide about the slot, and one call's keys would not share it. */
function plainPrefix({ keyPrefix, redisOptions }: Options): string {
  const prefix = String(keyPrefix ?? (redisOptions as Options | undefined)?.keyPrefix ?? "");
  if (prefix.includes("{")) throw invalidOption("client.keyPrefix", "without a brace on a cluster", prefix);
  return prefix;
}
