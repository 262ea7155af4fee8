import type { Script, ScriptClient } from "./client.ts";
import { GivenConnection, type GivenState } from "./given-connection.ts";
import { CONNECT_WITHIN_MS, type Driver, OwnConnection } from "./own-connection.ts";
import { runOnce } from "./run-once.ts";
import { Silences } from "./silence.ts";
import { warnOfUnsafeOptions } from "./unsafe-options.ts";

/** What is needed of a client of node-redis (`createClient`), by its shape: no driver is imported. */
export interface NodeRedisClient {
  readonly isOpen: boolean;
  readonly isReady: boolean;
  readonly isPubSubActive: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: the versions' types differ; only the calls of this file count
  duplicate(...args: any[]): unknown;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  sendCommand(...args: any[]): Promise<unknown>;
}

/** The options of a client, as far as they are read. */
export interface NodeRedisOptions {
  readonly socket?: Readonly<Record<string, unknown>>;
  readonly disableOfflineQueue?: boolean;
  readonly keyPrefix?: string;
}

/** The same, as it is called. */
export interface NodeRedisConnection {
  readonly isOpen: boolean;
  readonly isReady: boolean;
  readonly options?: NodeRedisOptions;
  connect(): Promise<unknown>;
  destroy(): void;
  duplicate(overrides: object): NodeRedisConnection;
  sendCommand(command: readonly string[], options: object): Promise<unknown>;
  unref(): void;
  on(event: string, listener: (...values: never[]) => unknown): unknown;
  off(event: string, listener: (...values: never[]) => unknown): unknown;
}

/** Whether a client has the shape of node-redis; its clusters, pools and Sentinel clients have another. */
export function isNodeRedis(client: object): client is NodeRedisClient {
  const { isOpen, isPubSubActive, duplicate, sendCommand } = client as Partial<NodeRedisClient>;
  return (
    typeof isOpen === "boolean" &&
    typeof isPubSubActive === "boolean" &&
    typeof duplicate === "function" &&
    typeof sendCommand === "function"
  );
}

/** Scripts over a client of node-redis: on a duplicate with safe options, made at the first call, or on the client itself. */
export class NodeRedisScripts implements ScriptClient {
  readonly name = "node-redis";
  readonly isCluster = false;
  readonly #connection: OwnConnection<NodeRedisConnection> | GivenConnection<NodeRedisConnection>;
  readonly #silences = new Silences();
  readonly #keyPrefix: string;

  constructor(client: NodeRedisClient, useAsIs: boolean) {
    const given = client as unknown as NodeRedisConnection;
    this.#keyPrefix = given.options?.keyPrefix ?? "";
    if (useAsIs) {
      warnOfUnsafeOptions(given, unsafeOptions(given.options));
      this.#connection = new GivenConnection(given, givenState(given));
    } else {
      this.#connection = new OwnConnection(this.#driverOf(given));
    }
  }

  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.#connection.use((client) =>
      this.#silences.during(client, () =>
        runOnce(
          (command) => client.sendCommand(command, CALL_OPTIONS),
          script,
          withPrefix(this.#keyPrefix, keys),
          args,
        ),
      ),
    );
  }

  warm(): void {
    if (this.#connection instanceof OwnConnection) this.#connection.connected().catch(() => {});
  }

  nodeOf(): string {
    return "";
  }

  async close(): Promise<void> {
    this.#connection.close();
  }

  #driverOf(given: NodeRedisConnection): Driver<NodeRedisConnection> {
    return {
      create: () => given.duplicate(safeOptions(given.options, CONNECT_WITHIN_MS)),
      async connect(client) {
        client.on("error", () => {}); // Whoever calls is told.
        client.unref();
        await client.connect();
      },
      isReady: (client) => client.isReady && !this.#silences.isTooLong(client),
      end: endClient,
    };
  }
}

/** Our own deadline is cheaper than one for each command, and replies are integers whatever their user has them mapped to. */
export const CALL_OPTIONS: object = { timeout: undefined, typeMapping: undefined };

/** The driver puts the prefix of its options before the keys of its own commands only. */
export function withPrefix(prefix: string, keys: readonly string[]): readonly string[] {
  return prefix === "" ? keys : keys.map((key) => prefix + key);
}

/** A client that has ended throws when it is ended again. */
export function endClient(client: NodeRedisConnection): void {
  if (client.isOpen) client.destroy();
}

/**
 * Nothing waits for a connection but the call that makes it, and nothing of the driver's runs by a timer. What is written is
 * never written again by this driver.
 */
export function safeOptions(given: NodeRedisOptions | undefined, connectTimeout: number): object {
  return {
    disableOfflineQueue: true,
    socket: { ...given?.socket, reconnectStrategy: false, connectTimeout, socketTimeout: undefined },
    commandsQueueMaxLength: undefined,
    pingInterval: undefined,
    // They belong to the client that they were given to.
    clientSideCache: undefined,
    emitInvalidate: undefined,
  };
}

/** Which options of a client break which promise. */
export function unsafeOptions(given: NodeRedisOptions | undefined): string[] {
  return [
    ...(given?.disableOfflineQueue === true
      ? []
      : ["disableOfflineQueue is not set: calls made while Redis is away are charged later"]),
    ...(given?.socket?.socketTimeout === undefined ? [] : ["socketTimeout is set: replies that are late are dropped"]),
  ];
}

/** A client that connects looks like one that tries again after a loss; the next event says how it ends. */
function givenState(given: NodeRedisConnection): GivenState {
  return {
    state: () => (given.isReady ? "ready" : given.isOpen ? "connecting" : "lost"),
    readyEvent: "ready",
    lostEvents: ["error", "end"],
  };
}
