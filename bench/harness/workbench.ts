import { BenchRedis } from "./bench-redis.ts";

/** What questions share in one run. */
export class Workbench {
  /** Whether to keep it short: fewer rounds, and one point where there is an axis without a mark. */
  readonly quick: boolean;
  readonly #say: (line: string) => void;
  #redis: Promise<BenchRedis> | undefined;

  constructor(quick: boolean, say: (line: string) => void) {
    this.quick = quick;
    this.#say = say;
  }

  /** The Redis of this run, started when first asked for. @throws Error when there is none to start. */
  redis(): Promise<BenchRedis> {
    this.#redis ??= BenchRedis.start(this.#say);
    return this.#redis;
  }

  /** The version of the server, if one was needed. */
  async redisVersion(): Promise<string | undefined> {
    return this.#redis === undefined ? undefined : (await this.#redis).version;
  }

  async close(): Promise<void> {
    const redis = await this.#redis?.catch(() => undefined);
    await redis?.stop();
  }
}
