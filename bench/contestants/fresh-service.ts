import type { Round } from "../harness/question.ts";
import type { LocalDecisions } from "./http-messages.ts";
import type { HttpService } from "./http-service.ts";

/** Counted, not timed: on a busy machine a process gets warm late. */
const WARM_UP_REQUESTS = 200_000;
const SHORT_WARM_UP_REQUESTS = 4000;
const WARM_UP_STEP_MS = 100;
const WARM_UP_STEPS = 100;

export interface FreshServiceOptions {
  start(): Promise<HttpService>;
  /** They stay open, and each asks again as soon as it is answered. */
  readonly connections: number;
  /** Whether a look is enough. */
  readonly isQuick: boolean;
}

/** What a service did in a round. CPU time is its own: what asks takes some too. */
export interface ServiceRound {
  readonly admitted: number;
  readonly refused: number;
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly local: LocalDecisions | undefined;
}

/**
 * A service in a new process each round, unless a look is enough: no two processes of one program are equally fast, by a tenth and
 * more, since the engine puts code and data elsewhere in each.
 */
export class FreshService {
  readonly #options: FreshServiceOptions;
  #service: HttpService | undefined;

  constructor(options: FreshServiceOptions) {
    this.#options = options;
  }

  async restart(): Promise<HttpService> {
    await this.close();
    this.#service = await this.#options.start();
    return this.#service;
  }

  /** Starts the process of a round and lets it get warm; a lease that lies idle while others have their turn goes back. */
  async prepare({ number }: Round): Promise<void> {
    const { isQuick } = this.#options;
    if (number > 0 && isQuick) await this.#warmUp(1);
    else {
      await this.restart();
      await this.#warmUp(isQuick ? SHORT_WARM_UP_REQUESTS : WARM_UP_REQUESTS);
    }
  }

  async #warmUp(requests: number): Promise<void> {
    const service = this.#service as HttpService;
    let asked = 0;
    for (let step = 0; asked < requests && step < WARM_UP_STEPS; step++) {
      const { admitted, refused } = await service.load(this.#options.connections, WARM_UP_STEP_MS);
      asked += admitted + refused;
    }
  }

  async run({ ms }: Round): Promise<ServiceRound> {
    const service = this.#service as HttpService;
    const before = await service.usage();
    const startedMs = performance.now();
    const { admitted, refused } = await service.load(this.#options.connections, ms);
    const wallMs = performance.now() - startedMs;
    const after = await service.usage();
    const local = after.local && {
      leased: after.local.leased - (before.local?.leased ?? 0),
      denied: after.local.denied - (before.local?.denied ?? 0),
    };
    return { admitted, refused, wallMs, cpuMs: after.cpuMs - before.cpuMs, local };
  }

  async close(): Promise<void> {
    await this.#service?.close();
  }
}
