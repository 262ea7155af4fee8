import { SpillwayError } from "../../errors.ts";
import { callMessage, GREETING, isReply, type ReplyMessage, SERVICE_ID } from "./message.ts";
import { reviveError } from "./reply-encoding.ts";

/** The part of `process` that a worker talks to its primary through. */
export interface ChannelEnd {
  readonly connected: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: as the types of Node declare it
  send?(message: any, handle?: any, options?: any, callback?: (error: Error | null) => void): boolean;
  on(event: "message" | "disconnect", listener: (message: unknown) => void): unknown;
  off(event: "message" | "disconnect", listener: (message: unknown) => void): unknown;
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: SpillwayError): void;
}

/**
 * A worker's line to the primary, shared by all stores of the process: one listener on a channel that others use too, which
 * is there while a store is open. It neither holds the process up nor lets it go: Node keeps a worker with a channel alive.
 */
export class WorkerChannel {
  readonly #end: ChannelEnd;
  readonly #waiting = new Map<number, Waiting>();
  readonly #greeters = new Set<Waiting>();
  #users = 0;
  #lastId = SERVICE_ID;
  #greetedMs = Number.NEGATIVE_INFINITY;
  #isServed = false;

  constructor(end: ChannelEnd) {
    this.#end = end;
  }

  /** Whether the primary has said that it serves, and has not taken it back. */
  get isServed(): boolean {
    return this.#isServed && this.#end.connected;
  }

  /** Begins to listen, and asks the primary whether it serves. */
  open(): void {
    if (this.#users++ > 0) return;
    this.#end.on("message", this.#onMessage);
    this.#end.on("disconnect", this.#onDisconnect);
    this.#greet();
  }

  /** Once for each `open`. With the last one the process's listeners are as before. */
  close(): void {
    if (--this.#users > 0) return;
    this.#end.off("message", this.#onMessage);
    this.#end.off("disconnect", this.#onDisconnect);
    this.#isServed = false;
    this.#fail(new SpillwayError("ERR_SPILLWAY_CLOSED", "The store is closed."));
  }

  /** Settles once the primary has said that it serves. @throws SpillwayError when it does not within `ms`. */
  served(ms: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const greeter: Waiting = { resolve: () => leave(resolve), reject: (error) => leave(() => reject(error)) };
      const leave = (then: () => void): void => {
        clearTimeout(timer);
        this.#greeters.delete(greeter);
        then();
      };
      const tooLate = `The primary did not answer within ${ms} ms. Is serveClusterStore() called in it?`;
      // An answer that waits to be read, because this process was busy, still counts.
      const giveUp = (): unknown => setImmediate(() => greeter.reject(unavailable(tooLate)));
      const timer = setTimeout(giveUp, ms);
      this.#greeters.add(greeter);
      // A primary that begins to serve says so by itself; a greeting now and then is for one that missed the last.
      if (!this.#end.connected || performance.now() - this.#greetedMs >= ms) this.#greet();
    });
  }

  /** Calls a method of the primary's store. Never sent twice. */
  call(method: string, args: unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId;
      this.#waiting.set(id, { resolve, reject });
      this.#send(id, method, args, (error) => {
        if (this.#waiting.delete(id)) reject(error);
      });
    });
  }

  #greet(): void {
    this.#greetedMs = performance.now();
    this.#send(SERVICE_ID, GREETING, [], (error) => {
      for (const greeter of [...this.#greeters]) greeter.reject(error);
    });
  }

  #send(id: number, method: string, args: unknown, onFault: (error: SpillwayError) => void): void {
    // Without a callback, a channel that closes meanwhile would be an "error" event of the process.
    const sent = (cause: Error | null): void => {
      if (cause !== null) onFault(unavailable(`The call did not reach the primary: ${cause.message}`, cause));
    };
    if (this.#end.connected) this.#end.send?.(callMessage(id, method, args), undefined, undefined, sent);
    else onFault(unavailable("The channel to the primary is closed."));
  }

  readonly #onMessage = (message: unknown): void => {
    if (!isReply(message)) return;
    if (message.id === SERVICE_ID) this.#onService(message);
    else {
      const waiting = this.#waiting.get(message.id);
      if (waiting !== undefined && this.#waiting.delete(message.id)) settle(waiting, message);
    }
  };

  /** The primary says that it serves, or that it does not any more: then nobody will answer what was asked before. */
  #onService(message: ReplyMessage): void {
    this.#isServed = "result" in message;
    if (!("result" in message)) this.#fail(errorOf(message.error));
    else for (const greeter of [...this.#greeters]) greeter.resolve(undefined);
  }

  readonly #onDisconnect = (): void => {
    this.#isServed = false;
    this.#fail(unavailable("The channel to the primary has closed; what the call took stays taken."));
  };

  #fail(error: SpillwayError): void {
    const failed = [...this.#waiting.values(), ...this.#greeters];
    this.#waiting.clear();
    for (const waiting of failed) waiting.reject(error);
  }
}

function settle(waiting: Waiting, message: ReplyMessage): void {
  if ("result" in message) waiting.resolve(message.result);
  else waiting.reject(errorOf(message.error));
}

function errorOf([code, message]: readonly unknown[]): SpillwayError {
  try {
    return reviveError(code, message);
  } catch (error) {
    return error as SpillwayError;
  }
}

function unavailable(message: string, cause?: unknown): SpillwayError {
  return new SpillwayError("ERR_SPILLWAY_STORE_UNAVAILABLE", message, cause === undefined ? {} : { cause });
}
