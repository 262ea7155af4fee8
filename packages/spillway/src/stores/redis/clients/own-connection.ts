import { SpillwayError } from "../../../errors.ts";
import { isReadOnlyReply, redisError, unreachable } from "./redis-errors.ts";

/** How connections of one driver are made and ended. */
export interface Driver<C> {
  /** A new client with safe options, not connected yet, whose socket will not hold the process up. */
  create(): C;
  /** Connects it. Rejects with the reason, and may hang where the peer says nothing. */
  connect(client: C): Promise<void>;
  /** Whether it can be used now. One that cannot is given up for another. */
  isReady(client: C): boolean;
  /** Ends it, in whatever state it is. Called once for each client. */
  end(client: C): void;
}

/** How long the connection to one server may take until it can be used. */
export const CONNECT_WITHIN_MS = 1000;
/** The same where one is to be found by asking several (sentinels, nodes of a cluster), of which some may be gone. */
export const SEARCH_WITHIN_MS = 3000;
/** How long each of them is waited for. */
export const ASK_WITHIN_MS = 500;

/** Captured at import, so that a test runner's fake timers do not reach what is between us and a real server. */
const startTimer = setTimeout;

/**
 * One connection of ours. It is made when a call needs it and there is none, never by a timer: an idle process stays idle, and
 * who has asked learns at once that nobody is there. A connection that cannot be used any more, or that has become read-only,
 * is given up; the next call makes another.
 */
export class OwnConnection<C> {
  readonly #driver: Driver<C>;
  readonly #withinMs: number;
  #current: C | undefined;
  #attempt: Promise<C> | undefined;
  #abandon: (error: SpillwayError) => void = () => {};
  #closed = false;

  constructor(driver: Driver<C>, withinMs: number = CONNECT_WITHIN_MS) {
    this.#driver = driver;
    this.#withinMs = withinMs;
  }

  /** The connection in use, if there is one. */
  get current(): C | undefined {
    return this.#current;
  }

  /** Uses the connection. Rejects with a `SpillwayError` whose cause is the driver's. */
  async use(run: (client: C) => Promise<unknown>): Promise<unknown> {
    const client = this.#usable() ?? (await this.connected());
    try {
      return await run(client);
    } catch (cause) {
      if (isReadOnlyReply(cause)) this.giveUp(client);
      throw redisError(cause);
    }
  }

  /** A connection that can be used now. All who wait meanwhile wait for the same one. */
  connected(): Promise<C> {
    if (this.#closed) return Promise.reject(closed());
    const usable = this.#usable();
    if (usable !== undefined) return Promise.resolve(usable);
    this.#attempt ??= this.#connect().finally(() => {
      this.#attempt = undefined;
    });
    return this.#attempt;
  }

  /** Has another connection take the place of this one. */
  replace(client: C, by: C): void {
    if (this.#current === client && !this.#closed) this.#current = by;
    else this.#driver.end(by);
  }

  /** Ends a connection if it is the one in use. */
  giveUp(client: C): void {
    if (this.#current !== client) return;
    this.#current = undefined;
    this.#driver.end(client);
  }

  close(): void {
    this.#closed = true;
    if (this.#current !== undefined) this.giveUp(this.#current);
    this.#abandon(closed());
  }

  #usable(): C | undefined {
    const client = this.#current;
    if (client === undefined) return undefined;
    if (this.#driver.isReady(client)) return client;
    this.giveUp(client);
    return undefined;
  }

  async #connect(): Promise<C> {
    const client = this.#driver.create();
    const abandoned = new Promise<never>((_, reject) => {
      this.#abandon = reject;
    });
    try {
      await Promise.race([within(this.#withinMs, this.#driver.connect(client)), abandoned]);
      if (this.#closed) throw closed();
    } catch (cause) {
      this.#driver.end(client);
      throw unreachable(cause);
    }
    this.#current = client;
    return client;
  }
}

function closed(): SpillwayError {
  return new SpillwayError("ERR_SPILLWAY_CLOSED", "The store is closed.");
}

/** Rejects when a promise has not settled in time. The timer does not hold the process up. */
export function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = (): void => reject(new Error(`No connection within ${ms} ms.`));
    const timer = startTimer(late, ms);
    timer.unref?.();
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
