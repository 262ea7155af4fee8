import { SpillwayError } from "../../../errors.ts";
import { CONNECT_WITHIN_MS, within } from "./own-connection.ts";
import { redisError, unreachable } from "./redis-errors.ts";

/** A client of the user's, as far as waiting for it needs. */
export interface Emitter {
  on(event: string, listener: (argument: unknown) => void): unknown;
  off(event: string, listener: (argument: unknown) => void): unknown;
}

/** What a user's client can be asked. */
export interface GivenState {
  /** `"lost"` for a client that must not be waited for, though it may come back by itself. */
  state(): "ready" | "connecting" | "lost";
  readonly readyEvent: string;
  readonly lostEvents: readonly string[];
}

/**
 * A user's client that is used as it is: never connected by us but where its first command would do so, never closed, and with
 * no listener of ours but while a call waits until it is connected.
 */
export class GivenConnection<C extends Emitter> {
  readonly #client: C;
  readonly #state: GivenState;
  #waiting: Promise<void> | undefined;
  #stopWaiting: (error: SpillwayError) => void = () => {};
  #closed = false;

  constructor(client: C, state: GivenState) {
    this.#client = client;
    this.#state = state;
  }

  get current(): C {
    return this.#client;
  }

  /** Uses the client. Rejects with a `SpillwayError` whose cause is the driver's. */
  async use(run: (client: C) => Promise<unknown>): Promise<unknown> {
    if (this.#closed) throw new SpillwayError("ERR_SPILLWAY_CLOSED", "The store is closed.");
    const state = this.#state.state();
    if (state === "lost") throw unreachable(new Error("The client has no connection."));
    if (state === "connecting") await this.#ready();
    try {
      return await run(this.#client);
    } catch (cause) {
      throw redisError(cause);
    }
  }

  close(): void {
    this.#closed = true;
    this.#stopWaiting(new SpillwayError("ERR_SPILLWAY_CLOSED", "The store is closed."));
  }

  /** All who wait share one set of listeners. */
  #ready(): Promise<void> {
    this.#waiting ??= within(CONNECT_WITHIN_MS, this.#nextChange())
      .catch((cause: unknown) => {
        throw unreachable(cause);
      })
      .finally(() => {
        this.#stopWaiting(new SpillwayError("ERR_SPILLWAY_STORE_UNAVAILABLE", "No longer waited for."));
        this.#waiting = undefined;
      });
    return this.#waiting;
  }

  #nextChange(): Promise<void> {
    const { readyEvent, lostEvents } = this.#state;
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#stopWaiting = () => {};
        this.#client.off(readyEvent, onReady);
        for (const event of lostEvents) this.#client.off(event, onLost);
      };
      const onReady = (): void => {
        leave();
        resolve();
      };
      const onLost = (cause: unknown): void => {
        leave();
        reject(cause instanceof Error ? cause : new Error("The connection was lost."));
      };
      this.#stopWaiting = onLost;
      this.#client.on(readyEvent, onReady);
      for (const event of lostEvents) this.#client.on(event, onLost);
    });
  }
}
