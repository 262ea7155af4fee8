/**
 * Longer than any reply is worth waiting for, by far: leased tokens that would come so late are dead. And so short that with
 * the pause between two probes (0.63 s at most) and the time that a fleet takes to return together (1.4 s) all is as before
 * within 3 s.
 */
const SILENCE_MS = 900;

interface Waiting {
  calls: number;
  sinceMs: number;
}

/**
 * Notices connections that answer nothing any more although their sockets are open: the peer was stopped, or the network
 * between has forgotten them. Else such a connection is kept until the operating system gives up, after many minutes.
 */
export class Silences {
  readonly #waiting = new WeakMap<object, Waiting>();

  /** Sends a call on a connection, and notes that it waits until it settles, whatever the outcome. */
  async during<T>(connection: object, send: () => Promise<T>): Promise<T> {
    let waiting = this.#waiting.get(connection);
    if (waiting === undefined) {
      waiting = { calls: 0, sinceMs: 0 };
      this.#waiting.set(connection, waiting);
    }
    if (waiting.calls++ === 0) waiting.sinceMs = performance.now();
    try {
      return await send();
    } finally {
      waiting.calls--;
      waiting.sinceMs = performance.now();
    }
  }

  /** Whether calls wait on a connection, and nothing has come for too long. */
  isTooLong(connection: object): boolean {
    const waiting = this.#waiting.get(connection);
    return waiting !== undefined && waiting.calls > 0 && performance.now() - waiting.sinceMs > SILENCE_MS;
  }
}
