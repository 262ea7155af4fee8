import { randomInt } from "node:crypto";
import { connectionModeFor } from "./connection-mode.ts";
import type { Fleet } from "./fleet.ts";
import type { GeneratorProcess } from "./generator-process.ts";

/** A load that somebody asked for. */
export interface LoadOrder {
  readonly mode: string;
  readonly perSecond: number;
  readonly seconds: number;
}

/** The key that loads of the live page use, in every mode. */
const API_KEY = "live";

/** Sends one load at a time to running workers. */
export class LiveLoad {
  readonly #fleet: Fleet;
  readonly #generator: Pick<GeneratorProcess, "run" | "end">;
  readonly #onFailure: (error: unknown) => void;
  #current: LoadOrder | undefined;
  #running: Promise<void> = Promise.resolve();
  #orders = 0;

  /** @param onFailure told when a load could not be sent. */
  constructor(fleet: Fleet, generator: Pick<GeneratorProcess, "run" | "end">, onFailure: (error: unknown) => void) {
    this.#fleet = fleet;
    this.#generator = generator;
    this.#onFailure = onFailure;
  }

  /** In words; empty when nothing is sent. */
  get description(): string {
    if (this.#current === undefined) return "";
    const { mode, perSecond, seconds } = this.#current;
    return `Sending ${perSecond} requests per second for ${seconds} s to ${mode}; connections: ${connectionModeFor(perSecond)}.`;
  }

  /** Sends this load in place of the one before, once that has ended. */
  start(order: LoadOrder): void {
    const number = this.stop();
    this.#running = this.#running.then(async () => {
      if (number === this.#orders) await this.#run(order);
    });
  }

  /** Ends the load. Does nothing when none is sent. @returns the number of this order. */
  stop(): number {
    this.#generator.end();
    return ++this.#orders;
  }

  async #run(order: LoadOrder): Promise<void> {
    const { mode, perSecond, seconds } = order;
    this.#current = order;
    const plan = {
      url: this.#fleet.urlOf(mode),
      apiKey: API_KEY,
      greetingKey: `${API_KEY}-greeting`,
      ratePerSecond: perSecond,
      seconds,
      seed: randomInt(2 ** 32),
      connections: connectionModeFor(perSecond),
      servers: this.#fleet.names.length,
    };
    await this.#generator.run(plan, { onStarted() {}, onProgress() {} }).catch(this.#onFailure);
    this.#current = undefined;
  }
}
