import { requireObject, requireWhole } from "spillway/kit";
import { type CallerContext, callerContext, readDeadlineMs } from "./caller-context.ts";
import type { ClientCounters } from "./client-counters.ts";
import type { CallOptions } from "./client-options.ts";
import { type ClientSettings, deadlineOf, requireBoolean } from "./client-settings.ts";
import type { FetchInit, FetchInput } from "./fetch-types.ts";
import type { Origin } from "./origin.ts";
import type { QuotaGate } from "./quota-gate.ts";
import type { RequestTraits } from "./request-traits.ts";
import type { CallTraits } from "./retry-decision.ts";

/** What calls to one place share. */
export interface SharedState {
  readonly origin: Origin;
  readonly gate: QuotaGate;
  readonly counters: ClientCounters;
}

/** One call with all that stays the same from its first attempt to its last. */
export class CallSetting implements CallTraits {
  readonly settings: ClientSettings;
  readonly input: FetchInput;
  readonly init: FetchInit | undefined;
  readonly request: RequestTraits;
  readonly shared: SharedState;
  readonly startedMs: number;
  /** From the start; `Infinity` for none. The shortest of the client's, the call's, the caller's and that of its headers. */
  readonly deadlineMs: number;
  readonly limit: number;
  readonly idempotent: boolean;
  readonly replayable: boolean;
  readonly nested: boolean;
  readonly #context: CallerContext | undefined = callerContext();

  /** @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION` for bad options of the call. */
  constructor(
    settings: ClientSettings,
    input: FetchInput,
    init: FetchInit | undefined,
    request: RequestTraits,
    shared: SharedState,
    options: CallOptions,
  ) {
    requireObject(options, "options", ["deadline", "limit", "idempotent"]);
    this.settings = settings;
    this.input = input;
    this.init = init;
    this.request = request;
    this.shared = shared;
    this.startedMs = settings.clock.monotonicMs();
    this.limit = options.limit === undefined ? settings.retry.limit : requireWhole(options.limit, "limit", 0, 100);
    const ownMs = options.deadline === undefined ? settings.deadlineMs : deadlineOf(options.deadline);
    this.deadlineMs = Math.min(ownMs, this.#inheritedMs());
    requireBoolean(options.idempotent, "idempotent");
    this.idempotent = options.idempotent ?? (settings.retry.methods.has(request.method) || request.hasIdempotencyKey);
    this.replayable = request.replayable;
    const { attemptHeader } = settings;
    this.nested =
      attemptHeader !== undefined && (request.headers.has(attemptHeader) || this.#context?.attempt !== undefined);
  }

  /** What is left of the deadline. */
  remainingMs(): number {
    return this.deadlineMs - (this.settings.clock.monotonicMs() - this.startedMs);
  }

  /** The headers of one attempt, 1 for the first. */
  headersFor(attempt: number): Headers {
    const { deadlineHeader, attemptHeader } = this.settings;
    const headers = new Headers(this.request.headers);
    const remainingMs = this.remainingMs();
    if (deadlineHeader !== undefined && remainingMs < Number.POSITIVE_INFINITY)
      headers.set(deadlineHeader, String(Math.max(0, Math.floor(remainingMs))));
    const number = this.nested ? this.#context?.attempt : this.#mayRepeat() ? String(attempt) : undefined;
    if (attemptHeader !== undefined && number !== undefined && !headers.has(attemptHeader))
      headers.set(attemptHeader, number);
    return headers;
  }

  /** Whether those further in must leave it to this call to try again. */
  #mayRepeat(): boolean {
    return this.limit > 0 && this.idempotent && this.replayable;
  }

  #inheritedMs(): number {
    const { deadlineHeader } = this.settings;
    const told = deadlineHeader === undefined ? undefined : readDeadlineMs(this.request.headers.get(deadlineHeader));
    const context = this.#context;
    const left = context?.deadlineAtMs === undefined ? undefined : context.deadlineAtMs - context.clock.monotonicMs();
    return Math.min(told ?? Number.POSITIVE_INFINITY, left ?? Number.POSITIVE_INFINITY);
  }
}
