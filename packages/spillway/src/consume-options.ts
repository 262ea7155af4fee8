import { invalidArgument, invalidKey } from "./errors.ts";
import { type Cost, type PolicySet, resolveCosts } from "./policy-set.ts";
import type { ConsumeOptions } from "./rate-limiter.ts";

/** The longest key, in UTF-16 code units. */
const LONGEST_KEY = 65_536;

/** @throws TypeError | RangeError for what is no key. */
export function requireKey(key: unknown): asserts key is string {
  if (typeof key !== "string") throw invalidKey("a string", key);
  if (key.length < 1 || key.length > LONGEST_KEY) throw invalidKey(`1 to ${LONGEST_KEY} characters long`, key);
}

/**
 * The costs that a caller asks for, one per policy.
 * @throws TypeError | RangeError for options that say nothing, so that a misspelt cost is not taken for 1.
 */
export function costsOf(options: ConsumeOptions | undefined, set: PolicySet): readonly number[] {
  if (options === undefined) return set.unitCosts;
  checkOptions(options);
  return "cost" in options ? resolveCosts(options.cost as Cost, set) : set.unitCosts;
}

function checkOptions(options: ConsumeOptions): void {
  if (typeof options !== "object" || options === null)
    throw invalidArgument("options", "an object such as { cost: 5 }", options);
  for (const name in options)
    if (name !== "cost" && name !== "signal") throw invalidArgument("options", "cost and signal only", name);
  const { signal } = options;
  if (signal !== undefined && !isSignal(signal)) throw invalidArgument("signal", "an AbortSignal", signal);
  signal?.throwIfAborted();
}

/** Whether it has all that is used of a signal: what fails once a caller stands in line would leave it there. */
function isSignal(value: unknown): boolean {
  const { throwIfAborted, addEventListener, removeEventListener } = (value ?? {}) as Partial<AbortSignal>;
  return [throwIfAborted, addEventListener, removeEventListener].every((method) => typeof method === "function");
}

/** The signal of a request that is about several keys: the costs are those of its parts. */
export function signalOf(options: ConsumeOptions | undefined): AbortSignal | undefined {
  if (options === undefined) return undefined;
  if (typeof options === "object" && options !== null && "cost" in options)
    throw invalidArgument("options", "without a cost, since each part has its own", options.cost);
  checkOptions(options);
  return options.signal;
}
