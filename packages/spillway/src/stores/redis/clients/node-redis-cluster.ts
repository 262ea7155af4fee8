import { invalidOption } from "../../../errors.ts";
import { slotOfStoreKey } from "../key-slot.ts";
import type { Script, ScriptClient } from "./client.ts";
import { GivenConnection, type GivenState } from "./given-connection.ts";
import {
  CALL_OPTIONS,
  endClient,
  type NodeRedisConnection,
  type NodeRedisOptions,
  safeOptions,
  unsafeOptions,
  withPrefix,
} from "./node-redis.ts";
import { ASK_WITHIN_MS, type Driver, OwnConnection, SEARCH_WITHIN_MS, within } from "./own-connection.ts";
import { unreachable } from "./redis-errors.ts";
import { runOnce } from "./run-once.ts";
import { Silences } from "./silence.ts";
import { warnOfUnsafeOptions } from "./unsafe-options.ts";

/** What is needed of a cluster client of node-redis (`createCluster`), by its shape: no driver is imported. */
export interface NodeRedisClusterClient {
  readonly isOpen: boolean;
  readonly nodeByAddress: object;
  // biome-ignore lint/suspicious/noExplicitAny: the versions' types differ; only the calls of this file count
  nodeClient(...args: any[]): unknown;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  duplicate(...args: any[]): unknown;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  sendCommand(...args: any[]): Promise<unknown>;
}

interface Node {
  readonly address: string;
  /** Left out until the node is first used. */
  readonly client?: NodeRedisConnection;
  /** There while it connects. */
  readonly connectPromise?: Promise<unknown>;
}

/** The same, as it is called. */
interface ClusterConnection {
  readonly isOpen: boolean;
  readonly slots: readonly ({ readonly master: Node } | undefined)[];
  readonly nodeByAddress: ReadonlyMap<string, Node>;
  readonly _options?: NodeRedisOptions & {
    readonly rootNodes?: readonly NodeRedisOptions[];
    readonly defaults?: NodeRedisOptions;
  };
  connect(): Promise<unknown>;
  destroy(): void;
  duplicate(overrides: object): ClusterConnection;
  nodeClient(node: Node): Promise<NodeRedisConnection>;
  sendCommand(firstKey: string, isReadonly: boolean, command: readonly string[], options: object): Promise<unknown>;
  on(event: string, listener: (...values: never[]) => unknown): unknown;
  off(event: string, listener: (...values: never[]) => unknown): unknown;
}

/** Whether a client has the shape of a cluster client of node-redis. */
export function isNodeRedisCluster(client: object): client is NodeRedisClusterClient {
  const { isOpen, nodeByAddress, nodeClient, duplicate, sendCommand } = client as Partial<NodeRedisClusterClient>;
  return (
    typeof isOpen === "boolean" &&
    typeof nodeByAddress === "object" &&
    typeof nodeClient === "function" &&
    typeof duplicate === "function" &&
    typeof sendCommand === "function"
  );
}

/** Scripts over a cluster client of node-redis: on a duplicate with safe options, or on the client itself. */
export class NodeRedisClusterScripts implements ScriptClient {
  readonly name = "node-redis cluster";
  readonly isCluster = true;
  readonly #connection: OwnConnection<ClusterConnection> | GivenConnection<ClusterConnection>;
  readonly #given: ClusterConnection;
  readonly #silences = new Silences();
  readonly #keyPrefix: string;
  /** Nodes that are being connected again. */
  readonly #connecting = new WeakMap<NodeRedisConnection, Promise<void>>();
  #search: Promise<void> | undefined;

  constructor(client: NodeRedisClusterClient, useAsIs: boolean) {
    const given = client as unknown as ClusterConnection;
    this.#given = given;
    this.#keyPrefix = given._options?.keyPrefix ?? "";
    if (this.#keyPrefix.includes("{"))
      throw invalidOption("client.keyPrefix", "without a brace on a cluster", this.#keyPrefix);
    if (useAsIs) {
      warnOfUnsafeOptions(given, unsafeOptions(given._options?.defaults));
      this.#connection = new GivenConnection(given, givenState(given));
    } else {
      this.#connection = new OwnConnection(this.#driver(), SEARCH_WITHIN_MS);
    }
  }

  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const prefixed = withPrefix(this.#keyPrefix, keys);
    const firstKey = prefixed[0] as string;
    return this.#connection.use(async (cluster) => {
      const node = cluster.slots[slotOfStoreKey(firstKey)]?.master;
      if (node === undefined) throw unreachable(new Error("No node is known to hold the key's slot."));
      const client = await this.#clientOf(cluster, node);
      const run = (): Promise<unknown> =>
        runOnce((command) => cluster.sendCommand(firstKey, false, command, CALL_OPTIONS), script, prefixed, args);
      return await (client === undefined ? run() : this.#silences.during(client, run));
    });
  }

  warm(): void {
    if (this.#connection instanceof OwnConnection) this.#connection.connected().catch(() => {});
  }

  nodeOf(slot: number): string {
    return this.#connection.current?.slots[slot]?.master.address ?? "";
  }

  async close(): Promise<void> {
    this.#connection.close();
  }

  #driver(): Driver<ClusterConnection> {
    const given = this.#given;
    return {
      create: () => {
        const { defaults, rootNodes = [] } = given._options ?? {};
        return given.duplicate({
          // They are only asked for the nodes. One that says nothing must not hold up the process.
          rootNodes: rootNodes.map((node) => ({ ...node, socket: { ...node.socket, socketTimeout: ASK_WITHIN_MS } })),
          defaults: { ...defaults, ...safeOptions(defaults, ASK_WITHIN_MS) },
          minimizeConnections: true,
          clientSideCache: undefined,
          topologyRefreshOnReconnectionAttemptStrategy: false,
        });
      },
      async connect(cluster) {
        let reason: unknown;
        cluster.on("error", (cause: unknown) => {
          reason = cause;
        });
        cluster.on("node-ready", () => {
          for (const { client } of cluster.nodeByAddress.values()) client?.unref();
        });
        await cluster.connect().catch((cause: unknown) => {
          throw reason ?? cause;
        });
      },
      isReady: ({ isOpen }) => isOpen,
      end: (cluster) => {
        if (cluster.isOpen) cluster.destroy();
      },
    };
  }

  /** The node's client, connected: the driver would connect it once, and leave it alone after it was lost. */
  async #clientOf(cluster: ClusterConnection, node: Node): Promise<NodeRedisConnection | undefined> {
    if (this.#connection instanceof GivenConnection) return await givenClient(node);
    const known = node.client;
    if (known?.isReady === true) {
      if (!this.#silences.isTooLong(known)) return known;
      endClient(known);
    }
    try {
      const client = await within(ASK_WITHIN_MS, cluster.nodeClient(node));
      if (!client.isReady) await this.#connect(client);
      return client;
    } catch (cause) {
      if (node.client?.isReady === false) endClient(node.client);
      this.#search ??= this.#searchOwner(cluster, node).finally(() => {
        this.#search = undefined;
      });
      throw unreachable(cause);
    }
  }

  #connect(client: NodeRedisConnection): Promise<void> {
    let connecting = this.#connecting.get(client);
    if (connecting === undefined) {
      connecting = within(ASK_WITHIN_MS, client.connect())
        .then(() => client.unref())
        .finally(() => this.#connecting.delete(client));
      this.#connecting.set(client, connecting);
    }
    return connecting;
  }

  /** Looks whether the slots of a node that is gone have another owner by now, and if so goes on with a new connection. */
  async #searchOwner(cluster: ClusterConnection, gone: Node): Promise<void> {
    const driver = this.#driver();
    const fresh = driver.create();
    try {
      await within(SEARCH_WITHIN_MS, driver.connect(fresh));
    } catch {
      return driver.end(fresh);
    }
    const moved = cluster.slots.some((shard, slot) => {
      return shard?.master.address === gone.address && fresh.slots[slot]?.master.address !== gone.address;
    });
    if (moved && this.#connection instanceof OwnConnection) this.#connection.replace(cluster, fresh);
    else driver.end(fresh);
  }
}

/** The client of a node of a user's cluster; left out for one that the driver will connect at its first use. */
async function givenClient({ client, connectPromise }: Node): Promise<NodeRedisConnection | undefined> {
  if (connectPromise !== undefined) await within(SEARCH_WITHIN_MS, connectPromise).catch(() => {});
  if (client?.isReady === false) throw unreachable(new Error("The client has no connection to the node."));
  return client;
}

/** A cluster client is open from the moment that it begins to connect; it knows nodes once it has asked one. */
function givenState(given: ClusterConnection): GivenState {
  return {
    state: () => (!given.isOpen ? "lost" : given.nodeByAddress.size === 0 ? "connecting" : "ready"),
    readyEvent: "connect",
    lostEvents: ["error", "disconnect"],
  };
}
