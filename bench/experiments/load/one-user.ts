import { type Answer, Attempt } from "./attempt.ts";
import type { Fate } from "./load-tally.ts";
import type { LoadRun } from "./open-loop.ts";

/** What callers do about a refusal or a timeout. Each attempt has a caller's whole patience. */
export interface Retries {
  /** Attempts after the first one, at most. */
  readonly limit: number;
  /** Is told of each caller's first attempt. */
  readonly noteFirst?: () => void;
  /** Asks for one retry; where it says no, the caller gives up. Defaults to yes. */
  readonly mayRetry?: () => boolean;
  /** The wait before a retry in ms, given what the refusal said. Defaults to none. */
  readonly waitMs?: (toldMs: number | undefined) => number;
}

/** One caller, from when its request is due until it has an answer or gives up. */
export class OneUser {
  readonly #run: LoadRun;
  readonly #phase: number;
  readonly #dueMs: number;
  readonly #onEnd: () => void;
  #attempts = 0;
  #isOver = false;
  #attempt: Attempt | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(run: LoadRun, phase: number, dueMs: number, onEnd: () => void) {
    this.#run = run;
    this.#phase = phase;
    this.#dueMs = dueMs;
    this.#onEnd = onEnd;
  }

  start(): void {
    this.#run.plan.retries?.noteFirst?.();
    this.#send(this.#dueMs);
  }

  /** As if its patience were over. */
  giveUp(): void {
    if (!this.#isOver) this.#end("timedOut");
  }

  #nowMs(): number {
    return performance.now() - this.#run.startMs;
  }

  /** @param fromMs when the caller began to wait for this attempt. */
  #send(fromMs: number): void {
    const { plan, tally, open } = this.#run;
    const { patienceMs, hangsUp = true, mostConnections = Number.POSITIVE_INFINITY } = plan;
    const nowMs = this.#nowMs();
    this.#attempts++;
    tally.attempt(this.#phase, nowMs);
    if (open.count >= mostConnections) {
      tally.answer(this.#phase, "no connection left");
      this.#end("failed");
      return;
    }
    this.#attempt = new Attempt(this.#run, (answer) => this.#answered(answer, fromMs));
    if (hangsUp) this.#timer = setTimeout(() => this.#losePatience(), Math.max(0, patienceMs - (nowMs - fromMs)));
  }

  #losePatience(): void {
    this.#attempt?.abandon();
    this.#run.tally.answer(this.#phase, "timeout");
    if (!this.#retry(undefined)) this.#end("timedOut");
  }

  #answered({ status, toldMs, error }: Answer, fromMs: number): void {
    if (this.#isOver) return;
    clearTimeout(this.#timer);
    this.#run.tally.answer(this.#phase, error ?? String(status));
    if (status >= 200 && status < 300) {
      this.#end(this.#nowMs() - fromMs > this.#run.plan.patienceMs ? "late" : "served");
      return;
    }
    const isShed = status === 503 || status === 429;
    if (isShed && this.#retry(toldMs)) return;
    this.#end(isShed ? "shed" : "failed");
  }

  #retry(toldMs: number | undefined): boolean {
    const { retries, signal } = this.#run.plan;
    if (retries === undefined || this.#attempts > retries.limit || signal?.aborted === true) return false;
    if (retries.mayRetry?.() === false) return false;
    this.#timer = setTimeout(() => this.#send(this.#nowMs()), retries.waitMs?.(toldMs) ?? 0);
    return true;
  }

  #end(fate: Fate): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#attempt?.abandon();
    this.#run.tally.end(this.#phase, fate, this.#dueMs, this.#nowMs());
    this.#onEnd();
  }
}
