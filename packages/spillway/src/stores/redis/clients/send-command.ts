import { invalidOption, SpillwayError } from "../../../errors.ts";
import { requireObject } from "../../../options.ts";
import type { Script, ScriptClient } from "./client.ts";
import { redisError } from "./redis-errors.ts";
import { runOnce } from "./run-once.ts";

/** Sends a command to a server, and gives its reply or rejects with its error. */
export type SendCommand = (...command: string[]) => Promise<unknown>;
/** The same on a cluster: the command goes to the node that holds the key. */
export type SendClusterCommand = (call: { readonly key: string; readonly command: string[] }) => Promise<unknown>;

/** A function that sends commands, dressed as a client. */
export interface SendCommandClient {
  readonly kind: "spillway-send-command";
  readonly cluster: boolean;
  readonly send: SendCommand | SendClusterCommand;
}

/**
 * Lets `redisStore` use any client: `redisStore(fromSendCommand((...command) => client.call(...command)))`.
 *
 * The function is used as it is, so these are up to it. It sends a command once: sent again after a lost reply, it is charged
 * twice. It rejects at once where there is no connection, and where one is being made as soon as that fails. It rejects with
 * the server's error, whose message begins with the server's words. It gives integers as numbers, big integers or digits.
 * @param options with `{ cluster: true }` keys of different slots travel apart, and the function is told the key by which to
 * find the node: `({ key, command }) => cluster.sendCommand(key, false, command)`.
 * @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION`.
 */
export function fromSendCommand(send: SendCommand, options?: { readonly cluster?: false }): SendCommandClient;
export function fromSendCommand(send: SendClusterCommand, options: { readonly cluster: true }): SendCommandClient;
export function fromSendCommand(
  send: SendCommand | SendClusterCommand,
  options: { readonly cluster?: boolean } = {},
): SendCommandClient {
  if (typeof send !== "function") throw invalidOption("sendCommand", "a function that sends a command", send);
  requireObject(options, "options", ["cluster"]);
  const { cluster = false } = options;
  if (typeof cluster !== "boolean") throw invalidOption("cluster", "true or false", cluster);
  return Object.freeze({ kind: "spillway-send-command", cluster, send });
}

/** Whether something is what {@link fromSendCommand} made. */
export function isSendCommandClient(client: object): client is SendCommandClient {
  return (client as Partial<SendCommandClient>).kind === "spillway-send-command";
}

/** Scripts over a user's function. */
export class SendCommandScripts implements ScriptClient {
  readonly name: string;
  readonly isCluster: boolean;
  readonly #send: SendCommand | SendClusterCommand;
  #closed = false;

  constructor({ cluster, send }: SendCommandClient) {
    this.name = cluster ? "sendCommand cluster" : "sendCommand";
    this.isCluster = cluster;
    this.#send = send;
  }

  async run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    if (this.#closed) throw new SpillwayError("ERR_SPILLWAY_CLOSED", "The store is closed.");
    try {
      return await runOnce((command) => this.#sendOne(keys[0] as string, [...command]), script, keys, args);
    } catch (cause) {
      throw redisError(cause);
    }
  }

  warm(): void {}

  nodeOf(): string {
    return "";
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #sendOne(key: string, command: string[]): Promise<unknown> {
    return this.isCluster
      ? (this.#send as SendClusterCommand)({ key, command })
      : (this.#send as SendCommand)(...command);
  }
}
