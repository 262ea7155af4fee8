import type { Clock, Duration } from "spillway";
import type { Jitter } from "./backoff.ts";
import type { Fetch } from "./fetch-types.ts";
import type { Attempt } from "./outcome.ts";

/** Options of {@link createClient}. Every one can be left out. */
export interface ClientOptions {
  /** Sends the requests. Defaults to the platform's `fetch`, looked up at each call. */
  readonly fetch?: Fetch;
  /** When and how to try again; `false` or 0: never; a number: so many times. */
  readonly retry?: RetryOptions | number | false;
  /**
   * How long a call may take from beginning to the head of its answer, waits and retries included. What is left goes along
   * as `x-request-deadline-ms`. Defaults to `"10s"`; `false`: no end. From 1 ms to 24 h.
   */
  readonly deadline?: Duration | false;
  /** How long one attempt may wait for the head of its answer. Defaults to what is left of the deadline. From 1 ms to 24 h. */
  readonly attemptTimeout?: Duration;
  /** How many retries the calls of one origin may add to its load; `false`: as many as they like. */
  readonly budget?: BudgetOptions | false;
  /** Refuses calls here that an overloaded origin would refuse anyway; `false`: never. */
  readonly throttle?: ThrottleOptions | false;
  /** Stops asking an origin that fails, and finds out when it works again. Off unless given; `true`: with the defaults. */
  readonly breaker?: BreakerOptions | boolean;
  /** Holds calls back while an origin has asked to be left alone (429, or 503 by all) with a `Retry-After`. Defaults to true. */
  readonly pause?: boolean;
  /** Holds calls back that the `RateLimit` fields of earlier answers show to be over the limit. Defaults to true. */
  readonly pacing?: boolean;
  /**
   * What calls share a pause and the pacing, as text. Defaults to the origin and the credentials (`authorization`,
   * `x-api-key`, `api-key`), which is what limits count by mostly. Where an API has a limit per route, put the route in.
   */
  readonly scope?: (request: ScopeRequest) => string;
  /** Names of the headers that go along, and that are read by {@link onBehalfOf}; `false`: not sent. */
  readonly headers?: HeaderOptions | false;
  /** Origins that are remembered; the one not called for longest is forgotten first. Defaults to 1,000. */
  readonly maxOrigins?: number;
  /** Calls that may wait before their first attempt at one time; more are refused. Defaults to 1,000. */
  readonly maxWaiting?: number;
  /** Is told of each retry before its wait. What it throws is warned about once. */
  readonly onRetry?: (event: RetryEvent) => void;
  /** Is told when the breaker of an origin changes. What it throws is warned about once. */
  readonly onStateChange?: (change: BreakerChange) => void;
  /** Where time is read. Defaults to the system's. */
  readonly clock?: Clock;
  /** Numbers from 0 up to 1. Defaults to `Math.random`. */
  readonly random?: () => number;
}

export interface RetryOptions {
  /** Retries after the first attempt, 0 to 100. Defaults to 3. */
  readonly limit?: number;
  /** Methods that may be repeated. Defaults to GET, HEAD, OPTIONS, PUT, DELETE, TRACE and QUERY. */
  readonly methods?: readonly string[];
  /** Statuses worth another attempt. Defaults to 408, 429, 500, 502, 503, 504 and 529. */
  readonly statusCodes?: readonly number[];
  /** Codes of network errors worth another attempt. */
  readonly errorCodes?: readonly string[];
  /** The longest `Retry-After` that is waited for; a longer one ends the call at once. Defaults to `"60s"`. Up to 24 h. */
  readonly maxRetryAfter?: Duration;
  /** Ceiling of the first wait when the server asks for none; it doubles each time. Defaults to 100 ms. */
  readonly backoffBase?: Duration;
  /** Ceiling of every such wait. Defaults to `"5s"`. */
  readonly backoffLimit?: Duration;
  /** How waits are spread. Defaults to `"full"`: from nothing to the ceiling. `"none"` keeps callers in lockstep. */
  readonly jitter?: Jitter;
  /**
   * Asked after an error and after an answer of 400 or above; decides in place of status, error code and method. True: try
   * again; false: do not; `undefined`: as usual. Bodies that cannot be sent again, attempts, waits, deadline and budget bind
   * all the same. Synchronous; what it throws ends the call.
   */
  readonly shouldRetry?: (facts: ShouldRetryFacts) => boolean | undefined;
}

export interface BudgetOptions {
  /** Retries per first attempt, from 0 to 1. Defaults to 0.1. */
  readonly ratio?: number;
  /** Retries that are saved up at most, and there from the start; 0 to 10,000. Defaults to 10. */
  readonly reserve?: number;
}

export interface ThrottleOptions {
  /**
   * Attempts per accepted one that are still sent, above 1 to 100. Defaults to 1.8: an origin at four times its load is sent
   * less than half of it, and serves as many.
   */
  readonly factor?: number;
  /** Defaults to `"30s"`. From 1 s to 10 min. */
  readonly window?: Duration;
  /** Attempts in the window below which nothing is refused. Defaults to 20. */
  readonly minimumCalls?: number;
  /** The greatest share that is refused, from 0 to 0.99. Defaults to 0.95. */
  readonly mostRefused?: number;
}

export interface BreakerOptions {
  /** Defaults to `"10s"`. From 100 ms to 10 min. */
  readonly window?: Duration;
  /** The share of failures in the window that opens it, from 0.01 to 1. Defaults to 0.5. */
  readonly failureRatio?: number;
  /** Calls in the window, or under way without an answer, below which it stays closed. Defaults to 20. */
  readonly minimumCalls?: number;
  /** How long it stays open; up to a tenth is added. Defaults to `"30s"`. From 10 ms to 1 h. */
  readonly openFor?: Duration;
  /** Calls that try at one time whether the origin works again, 1 to 100; so many must do well. Defaults to 3. */
  readonly probes?: number;
  /** How long such a call may take before it counts as failed. Defaults to `openFor`. */
  readonly probeTimeout?: Duration;
  /**
   * How long all calls under way may be without any answer before it opens. Never less than four times what calls of this
   * origin take. The first answer closes it again. Defaults to 500 ms.
   */
  readonly silence?: Duration;
}

export interface HeaderOptions {
  /** Carries what is left of the deadline, in ms. Defaults to `"x-request-deadline-ms"`. */
  readonly deadline?: string | false;
  /** Carries the number of the attempt, 1 for the first, on calls that this client may repeat. Defaults to `"x-request-attempt"`. */
  readonly attempt?: string | false;
}

/** What one call may have of its own, as the third argument of `request`. */
export interface CallOptions {
  /** In place of the client's; `false`: no end of its own. */
  readonly deadline?: Duration | false;
  /** In place of `retry.limit`, 0 to 100. */
  readonly limit?: number;
  /** Whether doing it twice is the same as doing it once. Defaults to what method and `Idempotency-Key` say. */
  readonly idempotent?: boolean;
}

export interface ScopeRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Headers;
}

export interface ShouldRetryFacts {
  /** 1 for the first. */
  readonly attempt: number;
  /** The answer, not read yet; clone it to read its body. */
  readonly response: Response | undefined;
  readonly error: unknown;
  readonly url: string;
  readonly method: string;
}

export interface RetryEvent {
  readonly url: string;
  readonly method: string;
  /** The attempt that failed; 1 for the first. */
  readonly attempt: number;
  readonly failed: Attempt;
  readonly delayMs: number;
}

export interface BreakerChange {
  readonly origin: string;
  readonly state: "closed" | "open" | "half-open";
  /** Why it opened. */
  readonly reason: "failing" | "silent" | undefined;
}
