import type { Script, ScriptClient } from "./client.ts";
import { GivenConnection, type GivenState } from "./given-connection.ts";
import { type Options, safeOptions, unsafeOptions } from "./ioredis-options.ts";
import { CONNECT_WITHIN_MS, type Driver, OwnConnection, SEARCH_WITHIN_MS } from "./own-connection.ts";
import { runOnce } from "./run-once.ts";
import { Silences } from "./silence.ts";
import { warnOfUnsafeOptions } from "./unsafe-options.ts";

/** What is needed of an ioredis or iovalkey client (standalone, Sentinel or Cluster), by its shape: no driver is imported. */
export interface IoredisClient {
  readonly status: string;
  readonly options: object;
  // biome-ignore lint/suspicious/noExplicitAny: the drivers' overloads differ; only the calls of these files count
  duplicate(...args: any[]): unknown;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  defineCommand(...args: any[]): unknown;
}

/** The same, as it is called. */
export interface Connection {
  readonly status: string;
  readonly options: Options;
  readonly stream?: { unref?(): void } | null;
  connect(): Promise<void>;
  disconnect(): void;
  duplicate(...args: unknown[]): Connection;
  evalsha(sha1: string, keyCount: string, ...rest: readonly string[]): Promise<unknown>;
  eval(text: string, keyCount: string, ...rest: readonly string[]): Promise<unknown>;
  on(event: string, listener: (...values: never[]) => unknown): unknown;
  off(event: string, listener: (...values: never[]) => unknown): unknown;
}

/** Whether a client has the shape of ioredis. */
export function isIoredis(client: object): client is IoredisClient {
  const { defineCommand, duplicate, status } = client as Partial<IoredisClient>;
  return typeof defineCommand === "function" && typeof duplicate === "function" && typeof status === "string";
}

/**
 * Scripts over a standalone or Sentinel client of ioredis or iovalkey: on a duplicate with safe options, made at the first
 * call, or on the client itself.
 */
export class IoredisScripts implements ScriptClient {
  readonly name = "ioredis";
  readonly isCluster = false;
  readonly #connection: OwnConnection<Connection> | GivenConnection<Connection>;
  readonly #silences = new Silences();

  constructor(client: IoredisClient, useAsIs: boolean) {
    const given = client as unknown as Connection;
    if (useAsIs) {
      warnOfUnsafeOptions(given, unsafeOptions(given.options));
      this.#connection = new GivenConnection(given, givenState(given));
    } else {
      const withinMs = Array.isArray(given.options.sentinels) ? SEARCH_WITHIN_MS : CONNECT_WITHIN_MS;
      this.#connection = new OwnConnection(this.#driverOf(given), withinMs);
    }
  }

  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.#connection.use((client) =>
      this.#silences.during(client, () => runOnce((command) => send(client, command), script, keys, args)),
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

  #driverOf(given: Connection): Driver<Connection> {
    return {
      create: () => given.duplicate(safeOptions(given.options)),
      connect: (client) => connectWithReason(client),
      isReady: (client) => client.status === "ready" && !this.#silences.isTooLong(client),
      end: endClient,
    };
  }
}

/** Sends EVALSHA or EVAL. Their own methods put the client's `keyPrefix` before the keys, which `call` would not. */
export function send(client: Connection, [name, body, count, ...rest]: readonly string[]): Promise<unknown> {
  const run = name === "EVAL" ? client.eval : client.evalsha;
  return run.call(client, body as string, count as string, ...rest);
}

/**
 * Connects a client of ours. That a connection was closed is all that the driver's rejection says; why, it said before, as an
 * event. Such events would be printed if nobody listened.
 */
export function connectWithReason(client: Connection): Promise<void> {
  let reason: unknown;
  client.on("error", (cause: unknown) => {
    reason = cause;
  });
  client.on("connect", () => client.stream?.unref?.());
  return new Promise((resolve, reject) => {
    // A cluster that is not whole ends without a word to who connects it.
    client.on("end", () => reject(reason ?? new Error("The connection was closed.")));
    client.connect().then(resolve, (cause: unknown) => reject(reason ?? cause));
  });
}

/** Ending a client that has ended starts a timer in it that nothing stops. */
export function endClient(client: Connection): void {
  if (client.status !== "end") client.disconnect();
}

/** A client with `lazyConnect` that nobody has used connects at its first command; one that has ended never comes back. */
export function givenState(given: Connection): GivenState {
  return {
    state() {
      if (given.status === "ready") return "ready";
      if (given.status === "wait") given.connect().catch(() => {});
      return given.status === "connecting" || given.status === "connect" ? "connecting" : "lost";
    },
    readyEvent: "ready",
    lostEvents: ["error", "close", "end"],
  };
}
