import { EventEmitter } from "node:events";
import type { LimitedRequest, LimitedResponse } from "./limited-exchange.ts";
import type { DecisionLike, LimiterCallOptions, LimiterLike } from "./limiter-like.ts";
import type { QuotaStatus } from "./rate-limit-fields.ts";

/** A policy with 2 of 3 tokens left. */
export const minute: QuotaStatus = {
  policy: "minute",
  limit: 3,
  periodMs: 60_000,
  remaining: 2,
  refillAfterMs: 19_500,
  resetAfterMs: 39_500,
  retryAfterMs: 0,
};

export const admission: DecisionLike = { allowed: true, policies: [minute] };

export const refusal: DecisionLike & { readonly allowed: false } = {
  allowed: false,
  reason: "limited",
  retryAfterMs: 3200,
  policies: [{ ...minute, remaining: 0, retryAfterMs: 3200 }],
};

/** What a limiter was asked. */
export interface Call {
  readonly key: string;
  readonly options: LimiterCallOptions | undefined;
  readonly how: "now" | "later";
}

/** A limiter that gives the same answer each time: at once, or only when it is waited for. */
export function scriptedLimiter(
  answer: () => DecisionLike | Promise<DecisionLike>,
): LimiterLike & { readonly calls: Call[] } {
  const calls: Call[] = [];
  let later: Promise<DecisionLike> | undefined;
  return {
    calls,
    consumeNow(key, options) {
      calls.push({ key, options, how: "now" });
      const given = answer();
      if (!(given instanceof Promise)) return given;
      later = given;
      return undefined;
    },
    consume(key, options) {
      calls.push({ key, options, how: "later" });
      return later as Promise<DecisionLike>;
    },
  };
}

/** A request of which only the given parts are interesting. */
export function someRequest(parts: Partial<LimitedRequest> = {}): LimitedRequest {
  return { method: "GET", headers: {}, socket: { remoteAddress: "192.0.2.1" }, ...parts };
}

/** A response that keeps what it is told, and throws where that of Node does. */
export class KeptResponse extends EventEmitter implements LimitedResponse {
  statusCode = 200;
  headersSent = false;
  writableEnded = false;
  destroyed = false;
  body: string | undefined;
  readonly #headers = new Map<string, string>();

  /** All headers, by lower-case name. */
  get headers(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#headers);
  }

  getHeader(name: string): string | undefined {
    return this.#headers.get(name.toLowerCase());
  }

  setHeader(name: string, value: string): this {
    this.#requireUnsent();
    this.#headers.set(name.toLowerCase(), value);
    return this;
  }

  removeHeader(name: string): void {
    this.#requireUnsent();
    this.#headers.delete(name.toLowerCase());
  }

  end(body?: string): this {
    if (this.writableEnded) throw new Error("The response was ended twice.");
    this.headersSent = true;
    this.writableEnded = true;
    this.body = body;
    return this;
  }

  #requireUnsent(): void {
    if (this.headersSent) throw new Error("A header was set after they were sent.");
  }
}
