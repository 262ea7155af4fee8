import type { GeneratedScript } from "../scripts/generated.ts";

/** Any of the committed scripts. */
export type Script = GeneratedScript<Readonly<Record<string, number | string>>>;

/**
 * What the store needs of a Redis client. An adapter sends a script once: by its hash, and again as text only when the server
 * said that it does not know it, and so did not run it. It never sends a call again whose reply was lost.
 */
export interface ScriptClient {
  /** For messages: `ioredis`, `ioredis Cluster`. */
  readonly name: string;
  /** Whether keys of different slots must travel apart. */
  readonly isCluster: boolean;
  /**
   * The server's reply. Rejects at once when there is no connection, and when one is being made as soon as that fails.
   */
  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  /** Begins to connect, so that the first call need not wait for it. Failing is not told: the first call will. */
  warm(): void;
  /** The node that holds a slot, if the client knows it. */
  nodeOf(slot: number): string;
  /** Ends the connections that this adapter made. Idempotent. */
  close(): Promise<void>;
}
