import type { Redis } from "ioredis";
import { connectOnce } from "./demo-store.ts";
import type { StoreCalls } from "./measure.ts";

const SECOND_MS = 1000;

/** One look at the server's counter. */
export interface CallSample {
  readonly atMs: number;
  /** Script calls since the server started. */
  readonly calls: number;
}

/**
 * Counts the script calls that a Redis server serves, as the server's own statistics give them. The looks themselves are INFO
 * commands and do not count; script calls of other users of the same server would.
 */
export class RedisCallCounter {
  readonly #redis: Redis;
  #samples: CallSample[] = [];
  #timer: NodeJS.Timeout | undefined;
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

  /** Begins a run: looks now and then every second. */
  async begin(): Promise<void> {
    this.#samples = [await this.#look()];
    this.#timer = setInterval(() => {
      this.#look().then(
        (sample) => this.#samples.push(sample),
        () => {},
      );
    }, SECOND_MS);
  }

  /** Ends a run of so many seconds: looks a last time. */
  async end(seconds: number): Promise<StoreCalls> {
    clearInterval(this.#timer);
    this.#samples.push(await this.#look());
    return storeCallsOf(this.#samples, seconds);
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#timer);
    this.#redis.disconnect();
  }

  async #look(): Promise<CallSample> {
    const info = await this.#redis.info("commandstats");
    return { atMs: performance.now(), calls: scriptCallsIn(info) };
  }
}

/** The calls of EVALSHA and EVAL that `INFO commandstats` reports. */
export function scriptCallsIn(info: string): number {
  let calls = 0;
  for (const match of info.matchAll(/^cmdstat_(?:evalsha|eval):calls=(\d+)/gm)) calls += Number(match[1]);
  return calls;
}

/** Calls in all, and per second for each whole second since the first sample; between two samples they are spread evenly. */
export function storeCallsOf(samples: readonly CallSample[], seconds: number): StoreCalls {
  const first = samples[0];
  const last = samples.at(-1);
  if (first === undefined || last === undefined) return { total: 0, perSecond: [] };
  const perSecond: number[] = [];
  for (let second = 0; second < seconds; second++) {
    const fromMs = first.atMs + second * SECOND_MS;
    perSecond.push(callsAt(samples, fromMs + SECOND_MS) - callsAt(samples, fromMs));
  }
  return { total: last.calls - first.calls, perSecond };
}

function callsAt(samples: readonly CallSample[], atMs: number): number {
  let before = samples[0]!;
  for (const sample of samples) {
    if (sample.atMs >= atMs) {
      const span = sample.atMs - before.atMs;
      return span === 0 ? sample.calls : before.calls + ((sample.calls - before.calls) * (atMs - before.atMs)) / span;
    }
    before = sample;
  }
  return before.calls;
}
