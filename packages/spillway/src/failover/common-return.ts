import type { Clock, Timer } from "../clock.ts";
import { longestProbePauseMs } from "./circuit-breaker.ts";

/** How often the time that a hold takes is added to the time that the store was away: a quarter of what was added before remains. */
const ROUNDS = 8;

/** For that answer, and for timers that are late. */
const ANSWER_MS = 50;

/** A part of the store that answers again. */
interface Return {
  /** Since when it had not answered. */
  readonly awaySinceMs: number;
  /** Until then others may still be unaware of it, whatever it does meanwhile. */
  readonly untilMs: number;
  /** `undefined` while it is away again. */
  end: Timer | undefined;
}

/**
 * Processes find out one after another that the store is back. The first would find a bucket there that fills as ever, while
 * the others still admit their shares without it. So each holds itself to its share beside the store until every other must
 * have noticed too.
 */
export class CommonReturn {
  /** Whether any part of the store is coming back. Read at each decision. */
  isUnderWay = false;
  readonly #clock: Clock;
  readonly #deadlineMs: number;
  readonly #onEnd: (node: string) => void;
  readonly #returns = new Map<string, Return>();
  #isClosed = false;

  /** @param onEnd called when the time is over that this process holds itself to its share. */
  constructor(clock: Clock, deadlineMs: number, onEnd: (node: string) => void) {
    this.#clock = clock;
    this.#deadlineMs = deadlineMs;
    this.#onEnd = onEnd;
  }

  /**
   * A node has answered for the first time since `awaySinceMs`.
   * @param awayMs for how long it can have been away, for whichever process: since it last answered this one.
   */
  begin(node: string, awaySinceMs: number, awayMs: number): void {
    if (this.#isClosed) return;
    const nowMs = this.#clock.monotonicMs();
    // One that was away for long, was back and is back once more: some may have missed that.
    const untilMs = Math.max(this.#returns.get(node)?.untilMs ?? nowMs, nowMs + holdMs(awayMs, this.#deadlineMs));
    this.cancel(node);
    const end = this.#clock.startTimer(
      () => {
        this.cancel(node);
        this.#onEnd(node);
      },
      untilMs - nowMs,
      false,
    );
    this.#returns.set(node, { awaySinceMs, untilMs, end });
    this.isUnderWay = true;
  }

  /**
   * It is away again. What this process has got on lease from it meanwhile it spends within its share all the same: both hold
   * what came in since.
   */
  putOff(node: string): void {
    const its = this.#returns.get(node);
    its?.end?.cancel();
    if (its !== undefined) its.end = undefined;
  }

  /** Nobody asks it any more, or everybody can. */
  cancel(node: string): void {
    this.putOff(node);
    this.#returns.delete(node);
    this.isUnderWay = this.#returns.size > 0;
  }

  /** Whether the time runs after which a node counts as back. */
  get isEnding(): boolean {
    for (const { end } of this.#returns.values()) if (end !== undefined) return true;
    return false;
  }

  /** Since when a node had been away that is coming back now; `undefined` for any other. */
  awaySinceMs(node: string): number | undefined {
    return this.#returns.get(node)?.awaySinceMs;
  }

  close(): void {
    this.#isClosed = true;
    for (const node of [...this.#returns.keys()]) this.cancel(node);
  }
}

/**
 * The longest that another process takes to notice, also one whose probe was lost. A probe that left just before the store was
 * back fails within a deadline, the next one that is lost a pause and a deadline later, and after one more pause it is answered.
 * Pauses are the longer, the longer the store was away, and grow meanwhile.
 */
export function holdMs(awayMs: number, deadlineMs: number): number {
  let ms = 0;
  for (let i = 0; i < ROUNDS; i++)
    ms = 2 * (longestProbePauseMs(awayMs + ms) + deadlineMs) + Math.min(deadlineMs, ANSWER_MS);
  return Math.ceil(ms);
}
