/** What the server tells those it turns away. */
export type Hint =
  /** Nothing. */
  | "none"
  /** `Retry-After: 1`, to everybody. */
  | "second"
  /** To each the next place that nobody was told yet, in `retry-after-ms`, and the same in whole seconds. */
  | "slots";

export interface ServerOptions {
  readonly slots: number;
  readonly serviceMs: number;
  /** Requests that wait at most. */
  readonly line: number;
  /** How long one waits at most before it is turned away. */
  readonly lineMs: number;
  readonly hint: Hint;
  /** What one request costs the one thread before it is admitted or turned away. Defaults to 0.1: a herd does not come in at once. */
  readonly handlingMs?: number;
}

interface Waiter {
  readonly answer: (response: Response) => void;
  cancel: () => void;
}

/** What a herd of callers runs into. */
export interface HerdServer {
  /** When each request came. */
  readonly arrivalsMs: readonly number[];
  handle(headers: Headers): Promise<Response>;
}

/** Time that passes as a loop of events makes it, or as it does on this machine. */
export interface Timeline {
  readonly nowMs: number;
  /** Returns what cancels it. */
  at(atMs: number, run: () => void): () => void;
  after(delayMs: number, run: () => void): () => void;
}

/** A service of `slots / serviceMs` that turns away at once what its line does not hold. */
export class ModelServer implements HerdServer {
  attempts = 0;
  served = 0;
  /** When each request came. */
  readonly arrivalsMs: number[] = [];
  readonly #loop: Timeline;
  readonly #options: ServerOptions;
  readonly #line: Waiter[] = [];
  #busy = 0;
  #promisedMs = 0;
  #threadFreeMs = 0;

  constructor(loop: Timeline, options: ServerOptions) {
    this.#loop = loop;
    this.#options = options;
  }

  /** A request comes in. */
  handle(): Promise<Response> {
    this.attempts++;
    this.arrivalsMs.push(this.#loop.nowMs);
    this.#threadFreeMs = Math.max(this.#threadFreeMs, this.#loop.nowMs) + (this.#options.handlingMs ?? 0.1);
    return new Promise((answer) => {
      this.#loop.at(this.#threadFreeMs, () => this.#admit({ answer, cancel: () => undefined }));
    });
  }

  #admit(waiter: Waiter): void {
    const { slots, line, lineMs } = this.#options;
    if (this.#busy < slots) this.#serve(waiter);
    else if (this.#line.length >= line) waiter.answer(this.#refusal());
    else {
      this.#line.push(waiter);
      if (lineMs === Number.POSITIVE_INFINITY) return;
      waiter.cancel = this.#loop.after(lineMs, () => {
        this.#line.splice(this.#line.indexOf(waiter), 1);
        waiter.answer(this.#refusal());
      });
    }
  }

  #serve({ answer, cancel }: Waiter): void {
    cancel();
    this.#busy++;
    this.#loop.after(this.#options.serviceMs, () => {
      this.#busy--;
      this.served++;
      answer(new Response(null, { status: 200 }));
      const next = this.#line.shift();
      if (next !== undefined) this.#serve(next);
    });
  }

  #refusal(): Response {
    return new Response(null, { status: 503, headers: this.#headers() });
  }

  #headers(): Record<string, string> {
    const { hint, slots, serviceMs } = this.#options;
    if (hint === "none") return {};
    if (hint === "second") return { "retry-after": "1" };
    const { nowMs } = this.#loop;
    const slotMs = serviceMs / slots;
    // Half the backlog: those who come back find the other half still there, so that no slot stands idle.
    const earliestMs = nowMs + ((this.#busy + this.#line.length) / 2) * slotMs;
    this.#promisedMs = Math.max(this.#promisedMs, earliestMs) + slotMs;
    const waitMs = Math.ceil(this.#promisedMs - nowMs);
    return { "retry-after-ms": String(waitMs), "retry-after": String(Math.ceil(waitMs / 1000)) };
  }
}
