import { dropRejection } from "./thenable.ts";

/**
 * Every code that a {@link SpillwayError}, or a bad argument, carries. `docs/errors.md` says of each what to do.
 */
export type SpillwayErrorCode =
  | "ERR_SPILLWAY_INVALID_OPTION"
  | "ERR_SPILLWAY_INVALID_KEY"
  | "ERR_SPILLWAY_INVALID_COST"
  | "ERR_SPILLWAY_STORE_FAILED"
  | "ERR_SPILLWAY_STORE_TIMEOUT"
  | "ERR_SPILLWAY_STORE_UNAVAILABLE"
  | "ERR_SPILLWAY_STORE_REPLY"
  | "ERR_SPILLWAY_BUCKET_UNREADABLE"
  | "ERR_SPILLWAY_CLOSED"
  | "ERR_SPILLWAY_BREAKER_OPEN"
  | "ERR_SPILLWAY_CALL_TIMEOUT"
  | "ERR_SPILLWAY_PAUSED"
  | "ERR_SPILLWAY_THROTTLED";

/** A fault, never a refusal: a refused request is a value (`Decision`), not an error. */
export class SpillwayError extends Error {
  /** Stable across versions; the message is not. */
  readonly code: SpillwayErrorCode;

  constructor(code: SpillwayErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "SpillwayError";
    this.code = code;
  }
}

/**
 * Whether a value is a {@link SpillwayError}, of this copy of the package or of another one in the same process.
 */
export function isSpillwayError(value: unknown): value is SpillwayError {
  return value instanceof Error && value.name === "SpillwayError" && "code" in value;
}

/** A bad option: names the option, what was expected and what came. */
export function invalidOption(option: string, expected: string, got: unknown): SpillwayError {
  return new SpillwayError("ERR_SPILLWAY_INVALID_OPTION", `Option ${option} must be ${expected}, got ${shown(got)}.`);
}

/** A call of a limiter that is closed. */
export function limiterClosed(): SpillwayError {
  return new SpillwayError("ERR_SPILLWAY_CLOSED", "The limiter is closed.");
}

/** A bad key: a `TypeError`, since no caller can mend it by waiting. */
export function invalidKey(expected: string, got: unknown): TypeError {
  return withCode(new TypeError(`A key must be ${expected}, got ${shown(got)}.`), "ERR_SPILLWAY_INVALID_KEY");
}

/** A bad argument of a call, other than a key or a cost: a `TypeError`. */
export function invalidArgument(name: string, expected: string, got: unknown): TypeError {
  return withCode(new TypeError(`The ${name} must be ${expected}, got ${shown(got)}.`), "ERR_SPILLWAY_INVALID_OPTION");
}

/** A bad cost: `TypeError` for what is no number, `RangeError` for a number outside the range. */
export function invalidCost(got: unknown, name = "cost"): TypeError | RangeError {
  const message = `A ${name} must be a whole number from 0 to ${Number.MAX_SAFE_INTEGER}, got ${shown(got)}.`;
  const error = typeof got === "number" ? new RangeError(message) : new TypeError(message);
  return withCode(error, "ERR_SPILLWAY_INVALID_COST");
}

/** A cost for a policy that the key does not live under. */
export function unknownPolicy(name: unknown): TypeError {
  const message = `A cost must be for policies of its key, got one for ${show(name)}.`;
  return withCode(new TypeError(message), "ERR_SPILLWAY_INVALID_COST");
}

function withCode<E extends Error>(error: E, code: SpillwayErrorCode): E {
  return Object.assign(error, { code });
}

/** As `show`, of what was given in the place of something else: if it is a promise, nobody waits for it any more. */
function shown(got: unknown): string {
  dropRejection(got);
  return show(got);
}

/** What was thrown, or rejected with, in words: that can be anything, such as an object that cannot be made a string. */
export function thrownText(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return show(thrown);
  }
}

/** A value as an error message shows it: with its type where that is the point, and never long. */
export function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return `function ${value.name || "(anonymous)"}`;
  if (Object.is(value, -0)) return "-0";
  if (typeof value !== "object" || value === null) return String(value);
  if (Array.isArray(value)) return `an array of ${value.length}`;
  return `an object of ${value.constructor?.name ?? "no class"}`;
}
