import { SpillwayError } from "../../../errors.ts";
import type { Script, ScriptClient } from "./client.ts";
import { isUnknownScript, redisError } from "./redis-errors.ts";

/** What is needed of an ioredis or iovalkey client (standalone, Sentinel or Cluster), by its shape: no driver is imported. */
export interface IoredisClient {
  readonly status: string;
  readonly options: object;
  // biome-ignore lint/suspicious/noExplicitAny: the drivers' overloads differ; only the call below counts
  duplicate(...args: any[]): unknown;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  defineCommand(...args: any[]): unknown;
}

/** The same, as this file calls it. */
interface Connection {
  readonly status: string;
  readonly isCluster?: boolean;
  readonly stream?: { unref?(): void } | null;
  readonly slots?: readonly (readonly string[] | undefined)[];
  readonly options: Readonly<Record<string, unknown>>;
  connect(): Promise<void>;
  disconnect(): void;
  duplicate(...args: unknown[]): Connection;
  evalsha(sha1: string, keyCount: number, ...rest: string[]): Promise<unknown>;
  eval(text: string, keyCount: number, ...rest: string[]): Promise<unknown>;
  on(event: string, listener: (argument: never) => void): unknown;
}

const CONNECT_TIMEOUT_MS = 1000;

/** Never again what is not known to have failed, never later than the caller waits: a limiter's call is worth nothing then. */
const SAFE_OPTIONS = {
  lazyConnect: true,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  commandTimeout: undefined,
  connectTimeout: CONNECT_TIMEOUT_MS,
  enableAutoPipelining: false,
  stringNumbers: false,
  reconnectOnError: null,
  // Connections are made when a call or a probe needs one; a timer of the driver would keep an idle process up.
  retryStrategy: (): null => null,
  sentinelRetryStrategy: (): null => null,
};

const SAFE_CLUSTER_OPTIONS = {
  lazyConnect: true,
  enableOfflineQueue: false,
  retryDelayOnFailover: 0,
  retryDelayOnClusterDown: 0,
  enableAutoPipelining: false,
  clusterRetryStrategy: (): null => null,
};

/** Whether a client has the shape of ioredis. */
export function isIoredis(client: object): client is IoredisClient {
  const { defineCommand, duplicate, status } = client as Partial<IoredisClient>;
  return typeof defineCommand === "function" && typeof duplicate === "function" && typeof status === "string";
}

/**
 * Scripts over ioredis: on a duplicate of the user's client with safe options, made at the first call, or on the client itself.
 */
export class IoredisScripts implements ScriptClient {
  readonly name: string;
  readonly isCluster: boolean;
  readonly #given: Connection;
  readonly #useAsIs: boolean;
  #connection: Connection | undefined;
  #connecting: Promise<void> | undefined;
  #lastError: unknown;
  #closed = false;

  constructor(client: IoredisClient, useAsIs: boolean) {
    this.#given = client as unknown as Connection;
    this.#useAsIs = useAsIs;
    this.isCluster = this.#given.isCluster === true;
    this.name = this.isCluster ? "ioredis Cluster" : "ioredis";
    if (useAsIs) warnOfUnsafeOptions(this.#given);
  }

  async run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const connection = this.#open();
    try {
      if (connection.status !== "ready") await this.#ready(connection);
      return await connection.evalsha(script.sha1, keys.length, ...keys, ...args);
    } catch (cause) {
      if (!isUnknownScript(cause)) throw redisError(this.#causeOf(cause));
    }
    try {
      return await connection.eval(script.text, keys.length, ...keys, ...args);
    } catch (cause) {
      throw redisError(this.#causeOf(cause));
    }
  }

  warm(): void {
    if (!this.#useAsIs) this.#ready(this.#open()).catch(() => {});
  }

  nodeOf(slot: number): string {
    return this.#connection?.slots?.[slot]?.[0] ?? "";
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (!this.#useAsIs) this.#connection?.disconnect();
  }

  #open(): Connection {
    if (this.#closed) throw new SpillwayError("ERR_SPILLWAY_CLOSED", "The store is closed.");
    if (this.#connection !== undefined) return this.#connection;
    const connection = this.#useAsIs ? this.#given : duplicateSafely(this.#given, this.isCluster);
    connection.on("error", (cause: unknown) => {
      this.#lastError = cause;
    });
    if (!this.#useAsIs && !this.isCluster) connection.on("connect", () => connection.stream?.unref?.());
    if (!this.#useAsIs && this.isCluster)
      connection.on("+node", (node: Connection) => node.on("connect", () => node.stream?.unref?.()));
    this.#connection = connection;
    return connection;
  }

  /** Settles when a connection that is being made is there, or has failed; does not wait for a later try. */
  #ready(connection: Connection): Promise<void> {
    if (connection.status === "wait" || connection.status === "end") {
      this.#connecting ??= connection.connect().finally(() => {
        this.#connecting = undefined;
      });
      return this.#connecting;
    }
    if (this.#connecting !== undefined) return this.#connecting;
    if (connection.status === "connecting" || connection.status === "connect") return firstOf(connection);
    return Promise.reject(new Error(`The connection is lost (${connection.status}).`));
  }

  /** The driver says only that a connection is closed; why, it said before, as an event. */
  #causeOf(cause: unknown): unknown {
    const lastError = this.#lastError;
    this.#lastError = undefined;
    const closed = cause instanceof Error && /closed|ended|All sentinels|Failed to refresh slots/i.test(cause.message);
    return closed && lastError !== undefined ? lastError : cause;
  }
}

/** Settles with the next change of a client that somebody else is connecting. */
function firstOf(connection: Connection): Promise<void> {
  return new Promise((resolve, reject) => {
    const lost = (): void => reject(new Error("Connection is closed."));
    connection.on("ready", () => resolve());
    connection.on("close", lost);
    connection.on("end", lost);
  });
}

function duplicateSafely(given: Connection, isCluster: boolean): Connection {
  if (!isCluster) return given.duplicate(SAFE_OPTIONS);
  const { redisOptions } = given.options;
  return given.duplicate([], {
    ...SAFE_CLUSTER_OPTIONS,
    redisOptions: { ...(redisOptions as object | undefined), ...SAFE_OPTIONS, enableOfflineQueue: true },
  });
}

/** Says once what in the options of a client that is used as it is breaks which promise. */
function warnOfUnsafeOptions({ options, isCluster }: Connection): void {
  const faults: string[] = [];
  if (options["enableOfflineQueue"] !== false)
    faults.push("enableOfflineQueue is on: calls made while Redis is away are charged later");
  if (isCluster === true) {
    if (options["retryDelayOnFailover"] !== 0) faults.push("retryDelayOnFailover is not 0: a lost call is sent again");
  } else {
    if (options["autoResendUnfulfilledCommands"] !== false)
      faults.push("autoResendUnfulfilledCommands is on: a lost call is sent again");
    if (options["commandTimeout"] !== undefined) faults.push("commandTimeout is set: late replies are dropped");
  }
  if (faults.length > 0)
    process.emitWarning(`The client that redisStore uses as it is may break the limit: ${faults.join("; ")}.`, {
      type: "SpillwayWarning",
    });
}
