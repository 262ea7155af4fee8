import { AdaptiveThrottle } from "./adaptive-throttle.ts";
import { type CallResult, CircuitBreaker, type Ticket } from "./circuit-breaker.ts";
import type { ClientSettings } from "./client-settings.ts";
import type { Slot } from "./quota-gate.ts";
import { RecentMedian } from "./recent-median.ts";
import { RetryBudget } from "./retry-budget.ts";

/** An answer that was served so lately shows that a 503 does not speak for the whole origin. */
const SERVING_MS = 1000;

/** What this process knows of one origin, over all calls to it. */
export class Origin {
  readonly name: string;
  readonly budget: RetryBudget | undefined;
  readonly throttle: AdaptiveThrottle | undefined;
  readonly breaker: CircuitBreaker | undefined;
  readonly latency: RecentMedian = new RecentMedian();
  /** Attempts sent and not answered. */
  inFlight = 0;
  readonly #settings: ClientSettings;
  #pause: Slot = { atMs: Number.NEGATIVE_INFINITY, spreadMs: 0 };
  #servedMs = Number.NEGATIVE_INFINITY;

  constructor(name: string, settings: ClientSettings) {
    this.name = name;
    this.#settings = settings;
    const { budget, throttle, breaker } = settings;
    this.budget = budget && new RetryBudget(budget.ratio, budget.reserve);
    this.throttle = throttle && new AdaptiveThrottle(throttle);
    this.breaker = breaker && new CircuitBreaker(breaker);
  }

  /** The pause that lies on all calls, if any. */
  pausedSince(nowMs: number): Slot | undefined {
    return this.#pause.atMs > nowMs ? this.#pause : undefined;
  }

  /** A 503 asks for a wait. It counts for all calls when nothing has been served lately, and until something is. */
  pause(nowMs: number, waitMs: number, spreadMs: number): void {
    const atMs = nowMs + Math.min(waitMs, this.#settings.retry.maxRetryAfterMs);
    if (nowMs - this.#servedMs >= SERVING_MS && atMs > this.#pause.atMs) this.#pause = { atMs, spreadMs };
  }

  /** Lets an attempt through the breaker; `undefined` when it is refused, a ticket of no meaning when there is no breaker. */
  start(nowMs: number): Ticket | undefined {
    const before = this.breaker?.state.kind;
    const ticket =
      this.breaker === undefined
        ? { generation: 0, startedMs: nowMs }
        : this.breaker.start(nowMs, this.latency.ms, this.#settings.random());
    if (ticket !== undefined) {
      this.inFlight++;
      this.throttle?.start(nowMs);
    }
    this.#tell(before);
    return ticket;
  }

  /** The end of an attempt that was let through. @param accepted whether the origin took it; `undefined` when nobody knows. */
  settle(ticket: Ticket, result: CallResult, accepted: boolean | undefined, nowMs: number): void {
    this.inFlight--;
    const before = this.breaker?.state.kind;
    this.breaker?.settle(ticket, result, nowMs, this.#settings.random());
    this.#tell(before);
    this.throttle?.settle(nowMs, accepted);
    if (!accepted) return;
    this.#servedMs = nowMs;
    this.#pause = { atMs: Number.NEGATIVE_INFINITY, spreadMs: 0 };
    this.latency.add(nowMs - ticket.startedMs);
  }

  #tell(before: "closed" | "open" | "half-open" | undefined): void {
    const state = this.breaker?.state;
    if (state === undefined || state.kind === before) return;
    const reason = state.kind === "open" ? state.reason : undefined;
    this.#settings.onStateChange?.({ origin: this.name, state: state.kind, reason });
  }
}
