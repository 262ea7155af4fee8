import { dropRejection } from "spillway/kit";
import { invalidArgument, invalidCost } from "./option-error.ts";

/** What a request asks for. */
export interface AcquireOptions {
  /** How many slots it takes: whole, from 1. More than there are counts as all of them. Defaults to 1. */
  readonly cost?: number;
  /** How long from now the answer is of use, in ms. 0 and less are past; `Infinity` is the same as leaving it out. */
  readonly deadlineMs?: number;
  /** Leaves the line when it is aborted; work under way is counted as wasted then. */
  readonly signal?: AbortSignal;
  /** Which attempt of its caller it is, from 1; above 1 it is counted in `stats().repeated`. Defaults to 1. */
  readonly attempt?: number;
}

/** The same, checked. */
export interface Ask {
  readonly cost: number;
  /** When the answer is of no use any more, by the controller's clock; `Infinity` for never. */
  readonly deadlineAtMs: number;
  readonly signal: AbortSignal | undefined;
  readonly isRepeated: boolean;
}

const PLAIN: Ask = Object.freeze({
  cost: 1,
  deadlineAtMs: Number.POSITIVE_INFINITY,
  signal: undefined,
  isRepeated: false,
});
const NAMES: readonly string[] = ["cost", "deadlineMs", "signal", "attempt"];

/** @throws TypeError | RangeError for what no caller can mend by waiting: they are defects of the program. */
export function askOf(options: AcquireOptions | undefined, nowMs: number, slots: number): Ask {
  if (options === undefined) return PLAIN;
  requireNames(options);
  const { cost = 1, deadlineMs = Number.POSITIVE_INFINITY, signal, attempt = 1 } = options;
  if (!Number.isSafeInteger(cost) || cost < 1) {
    dropRejection(cost);
    throw invalidCost(cost);
  }
  if (typeof deadlineMs !== "number" || Number.isNaN(deadlineMs))
    throw invalidArgument("deadlineMs", "a number of milliseconds", deadlineMs);
  if (signal !== undefined && !isSignal(signal)) throw invalidArgument("signal", "an AbortSignal", signal);
  if (!Number.isSafeInteger(attempt) || attempt < 1) throw invalidArgument("attempt", "a whole number from 1", attempt);
  // Else no setting of the slots would ever let it in.
  return { cost: Math.min(cost, slots), deadlineAtMs: nowMs + deadlineMs, signal, isRepeated: attempt > 1 };
}

/** A misspelt deadline must not be taken for none. */
function requireNames(options: unknown): void {
  if (typeof options !== "object" || options === null || Array.isArray(options))
    throw invalidArgument("options", "an object such as { deadlineMs: 500 }", options);
  for (const name in options)
    if (!NAMES.includes(name)) throw invalidArgument("options", "cost, deadlineMs, signal and attempt only", name);
}

/** Whether it has all that is used of a signal: what fails on the way to a slot would keep it. */
function isSignal(value: unknown): boolean {
  const signal = value as Partial<AbortSignal> | null;
  return (
    typeof signal?.aborted === "boolean" &&
    typeof signal.addEventListener === "function" &&
    typeof signal.removeEventListener === "function"
  );
}
