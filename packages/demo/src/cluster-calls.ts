import type { EventEmitter } from "node:events";
import type { CallCounter } from "./call-counter.ts";

/**
 * Counts the calls that workers make to the embedded store, by the messages that reach the primary: each call is one. The
 * demo's own messages carry a `type` and are left out.
 */
export class ClusterCallCounter implements CallCounter {
  readonly #cluster: Pick<EventEmitter, "on" | "off">;
  #calls = 0;

  /** @param cluster `node:cluster` in the primary. */
  constructor(cluster: Pick<EventEmitter, "on" | "off">) {
    this.#cluster = cluster;
    cluster.on("message", this.#onMessage);
  }

  async look(): Promise<number> {
    return this.#calls;
  }

  close(): void {
    this.#cluster.off("message", this.#onMessage);
  }

  readonly #onMessage = (_worker: unknown, message: unknown): void => {
    const isCall = typeof message === "object" && message !== null && "method" in message && !("type" in message);
    if (isCall) this.#calls += 1;
  };
}
