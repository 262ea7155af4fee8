import type { Redis } from "ioredis";
import type { CallCounter } from "./call-counter.ts";
import { connectOnce } from "./demo-store.ts";

/**
 * Counts the script calls that a Redis server serves, as the server's own statistics give them. The looks themselves are INFO
 * commands and do not count; script calls of other users of the same server would.
 */
export class RedisCallCounter implements CallCounter {
  readonly #redis: Redis;
  #closed = false;

  private constructor(redis: Redis) {
    this.#redis = redis;
  }

  /**
   * Opens a connection of its own.
   * @param onLost told when the server ends the connection: figures from here on would be wrong.
   */
  static async connect(url: string, onLost: (error: Error) => void): Promise<RedisCallCounter> {
    const counter = new RedisCallCounter(await connectOnce(url));
    counter.#redis.on("end", () => {
      if (!counter.#closed) onLost(new Error("Redis ended the connection while the demo ran."));
    });
    return counter;
  }

  async look(): Promise<number> {
    return scriptCallsIn(await this.#redis.info("commandstats"));
  }

  close(): void {
    this.#closed = true;
    this.#redis.disconnect();
  }
}

/** The calls of EVALSHA and EVAL that `INFO commandstats` reports. */
export function scriptCallsIn(info: string): number {
  let calls = 0;
  for (const match of info.matchAll(/^cmdstat_(?:evalsha|eval):calls=(\d+)/gm)) calls += Number(match[1]);
  return calls;
}
