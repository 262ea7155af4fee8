import { invalidOption } from "spillway/kit";
import { type AskedWait, readAskedWait, spreadMs } from "./asked-wait.ts";
import type { CallSetting } from "./call-setting.ts";
import type { Ticket } from "./circuit-breaker.ts";
import { passGates, type Refusal } from "./gates.ts";
import type { Attempt, Outcome, StopReason } from "./outcome.ts";
import { readQuotas } from "./quota-state.ts";
import { decideRetry, type RetryDecision, type Verdict } from "./retry-decision.ts";
import { type AttemptResult, letGo, sendAttempt } from "./send-attempt.ts";
import { errorCodeOf, healthOf, isUnsent, verdictOfAnswer, verdictOfError } from "./verdict.ts";
import { waitFor } from "./wait.ts";

type Ended = Exclude<AttemptResult, { readonly kind: "aborted" }>;

/** One call, from its first gate to its outcome. Runs once. */
export class Call {
  readonly #call: CallSetting;
  readonly #attempts: Attempt[] = [];
  /** The last attempt that has ended; its answer is handed on when no other follows. */
  #last: Ended | undefined;
  #asked: AskedWait | undefined;
  /** Waits since the last attempt. */
  #waits: { readonly ms: number; readonly cause: NonNullable<Attempt["waitedFor"]> }[] = [];
  #waitedMs = 0;
  /** Whether a retry is paid for that has not been sent. */
  #owesRetry = false;

  constructor(call: CallSetting) {
    this.#call = call;
  }

  /** Rejects only with the reason of the caller's abort, or with what `shouldRetry` and the like throw. */
  async run(): Promise<Outcome> {
    try {
      const outcome = await this.#run();
      this.#call.shared.counters.ended(outcome);
      return outcome;
    } catch (error) {
      this.#call.shared.counters.aborted++;
      if (this.#last !== undefined) letGo(this.#last);
      throw error;
    } finally {
      if (this.#owesRetry) this.#call.shared.origin.budget?.refund();
    }
  }

  async #run(): Promise<Outcome> {
    const { shared, settings, request } = this.#call;
    request.signal?.throwIfAborted();
    for (;;) {
      const passage = await passGates(this.#call, (ms) => this.#noteWait(ms, "pause"));
      if (passage.kind === "refused") return this.#refused(passage.refusal);
      await this.#attempt(passage.ticket, passage.place);
      const decision = this.#decide();
      if (!decision.retry) return this.#outcome(decision.stopped);
      if (shared.origin.budget?.withdraw() === false) return this.#outcome("budget-spent");
      this.#owesRetry = true;
      shared.counters.retries++;
      const [attempt, failed, delayMs] = [this.#attempts.length, this.#attempts.at(-1) as Attempt, decision.delayMs];
      settings.onRetry?.({ url: request.url, method: request.method, attempt, failed, delayMs });
      const sinceMs = settings.clock.monotonicMs();
      await waitFor(settings.clock, delayMs, request.signal);
      this.#noteWait(settings.clock.monotonicMs() - sinceMs, decision.cause);
    }
  }

  async #attempt(ticket: Ticket, place: number): Promise<void> {
    const { shared, settings, input, request, deadlineMs } = this.#call;
    const number = this.#attempts.length + 1;
    if (this.#last !== undefined) letGo(this.#last);
    this.#last = undefined;
    this.#owesRetry = false;
    shared.counters.attempts++;
    if (number === 1) shared.origin.budget?.deposit();
    const remainingMs = this.#call.remainingMs();
    const byAttempt = settings.attemptTimeoutMs < remainingMs;
    const result = await sendAttempt({
      fetch: settings.fetch,
      input,
      init: { ...this.#call.init, headers: this.#call.headersFor(number) },
      signal: request.signal,
      limitMs: Math.min(remainingMs, settings.attemptTimeoutMs),
      limitOf: byAttempt ? "attempt" : "call",
      lengthMs: byAttempt ? settings.attemptTimeoutMs : deadlineMs,
      clock: settings.clock,
    });
    const nowMs = settings.clock.monotonicMs();
    this.#settle(ticket, result, nowMs);
    const headers = result.kind === "answer" && settings.pacing ? result.response.headers : undefined;
    shared.gate.settled(place, headers === undefined ? [] : readQuotas(headers, settings.clock.wallMs()), nowMs);
    if (result.kind === "aborted") throw result.reason;
    this.#last = result;
    this.#record(result, nowMs - ticket.startedMs);
    if (result.kind === "answer") this.#pauseOthers(result.response.status, nowMs);
  }

  #settle(ticket: Ticket, result: AttemptResult, nowMs: number): void {
    const { origin } = this.#call.shared;
    if (result.kind === "answer") {
      const health = healthOf(result.response.status);
      const failed = health === "overloaded" || health === "broken";
      origin.settle(ticket, failed ? "failed" : "answered", health === "working" || health === "broken", nowMs);
      return;
    }
    const code = result.kind === "error" ? errorCodeOf(result.error) : undefined;
    // A caller whose patience was a timeout has found out something; one who lost interest has not. An error without a code
    // is about the request.
    const telling = result.kind === "error" ? code !== undefined : isTimeout(result.reason);
    // An origin that nobody reaches refuses nobody.
    origin.settle(ticket, telling ? "failed" : "withdrawn", telling && !isUnsent(code) ? false : undefined, nowMs);
  }

  #record(result: Ended, tookMs: number): void {
    const response = result.kind === "answer" ? result.response : undefined;
    this.#asked = response && readAskedWait(response.headers, this.#call.settings.clock.wallMs());
    this.#attempts.push({
      waitedMs: this.#waits.reduce((sum, { ms }) => sum + ms, 0),
      waitedFor: this.#waits.toSorted((a, b) => b.ms - a.ms)[0]?.cause,
      tookMs,
      status: response?.status,
      errorCode: result.kind === "error" ? errorCodeOf(result.error) : undefined,
      retryAfterMs: this.#asked?.ms,
    });
    this.#waits = [];
  }

  #pauseOthers(status: number, nowMs: number): void {
    const { shared, settings } = this.#call;
    const asked = this.#asked;
    if (!settings.pause || asked === undefined) return;
    // Nobody is held for longer than the longest wait, and so not spread behind more than that.
    const spread = spreadMs({ ...asked, ms: Math.min(asked.ms, settings.retry.maxRetryAfterMs) }, settings.retry, 0);
    const health = healthOf(status);
    if (health === "limiting") shared.gate.pause(nowMs, asked.ms, spread);
    // A wait to the millisecond is a slot of this caller's own.
    if (health === "overloaded" && asked.precisionMs > 0) shared.origin.pause(nowMs, asked.ms, spread);
  }

  #decide(): RetryDecision {
    const { shared, settings } = this.#call;
    const result = this.#last as Ended;
    const remainingMs = this.#call.remainingMs();
    if (remainingMs <= 0 && result.kind === "error") return { retry: false, stopped: "out-of-time" };
    const said = this.#askCaller(result);
    if (said === false) return { retry: false, stopped: "should-retry" };
    const facts = {
      attempt: this.#attempts.length,
      verdict: said === true ? ({ kind: "transient", unsent: true } as const) : this.#verdict(result),
      asked: this.#asked,
      remainingMs,
      expectedMs: shared.origin.latency.ms ?? 0,
      previousMs: this.#attempts.at(-1)?.waitedMs ?? 0,
    };
    return decideRetry(this.#call, facts, { ...settings.retry, limit: this.#call.limit }, settings.random());
  }

  #askCaller(result: Ended): boolean | undefined {
    const { settings, request } = this.#call;
    if (result.kind === "answer" && result.response.status < 400) return undefined;
    const said: unknown = settings.retry.shouldRetry?.({
      attempt: this.#attempts.length,
      response: result.kind === "answer" ? result.response : undefined,
      error: result.kind === "error" ? result.error : undefined,
      url: request.url,
      method: request.method,
    });
    if (said === undefined || typeof said === "boolean") return said;
    throw invalidOption("retry.shouldRetry", "a function that gives true, false or undefined, at once", said);
  }

  #verdict(result: Ended): Verdict {
    const { statusCodes, errorCodes } = this.#call.settings.retry;
    if (result.kind === "error") return verdictOfError(result.error, this.#call.request.url, errorCodes);
    return verdictOfAnswer(result.response.status, result.response.headers, result.body, statusCodes);
  }

  #refused({ stopped, error }: Refusal): Outcome {
    if (this.#last !== undefined) return this.#outcome(stopped, error.retryAfterMs);
    return { ...this.#common(stopped, error.retryAfterMs), kind: "refused", error };
  }

  #outcome(stopped: StopReason, retryAfterMs: number | undefined = this.#asked?.ms): Outcome {
    const common = this.#common(stopped, retryAfterMs);
    const last = this.#last as Ended;
    if (last.kind === "answer") return { ...common, kind: "answered", response: last.response };
    return { ...common, kind: "failed", error: last.error };
  }

  #common(stopped: StopReason, retryAfterMs: number | undefined) {
    const tookMs = this.#call.settings.clock.monotonicMs() - this.#call.startedMs;
    return { attempts: this.#attempts, stopped, waitedMs: this.#waitedMs, tookMs, retryAfterMs };
  }

  #noteWait(ms: number, cause: NonNullable<Attempt["waitedFor"]>): void {
    this.#waits.push({ ms, cause });
    this.#waitedMs += ms;
    this.#call.shared.counters.waitedMs[cause] += ms;
  }
}

/** What `AbortSignal.timeout` aborts with. */
function isTimeout(reason: unknown): boolean {
  return typeof reason === "object" && reason !== null && (reason as { name?: unknown }).name === "TimeoutError";
}
