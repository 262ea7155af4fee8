import { type Clock, createRateLimiter, memoryStore, type PolicyOptions, type RateLimiter } from "spillway";
import { AdmissionRecord } from "./admission-record.ts";

export type WindowAlgorithm = "fixed-window" | "sliding-window-counter";

/** What is recorded of admissions, of whatever policy. */
export interface Record {
  admit(atMs: number, tokens: number): void;
  readonly over: number;
  readonly total: number;
}

/** What an ideal limiter would have admitted of the same arrivals. */
export interface Ideal {
  offer(atMs: number, tokens: number): void;
  readonly admitted: number;
}

/** A window of a second: one that is aligned to the store's clock, so that its record knows when it ends. */
export function windowPolicy(algorithm: WindowAlgorithm, limit: number): PolicyOptions {
  const policy = { name: "shared", limit, period: "1s", algorithm } as const;
  return algorithm === "fixed-window" ? { ...policy, windowStart: "aligned" } : policy;
}

/** Of a fixed window, the most above the limit from one start to the next; of a counter, above `limit x (1 + T / period)`. */
export function windowRecord(algorithm: WindowAlgorithm, limit: number, storeClock: Clock): Record {
  return algorithm === "fixed-window" ? new FixedWindowRecord(limit, storeClock) : new AdmissionRecord(limit, limit);
}

class FixedWindowRecord implements Record {
  readonly #limit: number;
  readonly #clock: Clock;
  #window = 0;
  #count = 0;
  over = 0;
  total = 0;

  constructor(limit: number, clock: Clock) {
    this.#limit = limit;
    this.#clock = clock;
  }

  admit(_atMs: number, tokens: number): void {
    const window = Math.floor(Math.round(this.#clock.wallMs() * 1000) / 1_000_000);
    if (window !== this.#window) this.#count = 0;
    this.#window = window;
    this.#count += tokens;
    this.total += tokens;
    this.over = Math.max(this.over, this.#count - this.#limit);
  }
}

/** One window that every request asks at once. */
export class IdealWindow implements Ideal {
  readonly #limiter: RateLimiter;
  admitted = 0;

  constructor(policies: PolicyOptions, clock: Clock) {
    this.#limiter = createRateLimiter({ policies, clock, store: memoryStore({ clock }) });
  }

  offer(_atMs: number, cost: number): void {
    if (this.#limiter.consumeNow("key", { cost })?.allowed === true) this.admitted += cost;
  }
}
