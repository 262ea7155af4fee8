/** The codes that this package's errors carry; `docs/errors.md` of the project says what to do about each. */
type ErrorCode = "ERR_SPILLWAY_INVALID_OPTION" | "ERR_SPILLWAY_INVALID_KEY" | "ERR_SPILLWAY_INVALID_COST";

/** A bad option or argument: names it, what was expected and what came. */
export function invalidOption(option: string, expected: string, got: unknown): TypeError {
  return withCode("ERR_SPILLWAY_INVALID_OPTION", new TypeError(optionMessage(option, expected, got)));
}

/** The same, for a number outside its range. */
export function optionOutOfRange(option: string, expected: string, got: unknown): RangeError {
  return withCode("ERR_SPILLWAY_INVALID_OPTION", new RangeError(optionMessage(option, expected, got)));
}

/** A key of a kind that names nobody. */
export function invalidKey(message: string): TypeError {
  return withCode("ERR_SPILLWAY_INVALID_KEY", new TypeError(message));
}

/** A cost that was not given at once. */
export function invalidCost(message: string): TypeError {
  return withCode("ERR_SPILLWAY_INVALID_COST", new TypeError(message));
}

function withCode<E extends Error>(code: ErrorCode, error: E): E {
  return Object.assign(error, { code });
}

function optionMessage(option: string, expected: string, got: unknown): string {
  return `Option ${option} must be ${expected}, got ${show(got)}.`;
}

/** What was thrown, or rejected with, in words: that can be anything, such as an object that cannot be made a string. */
export function thrownText(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return show(thrown);
  }
}

/** A value as an error message shows it, never long. */
export function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return `function ${value.name || "(anonymous)"}`;
  if (typeof value !== "object" || value === null) return String(value);
  return Array.isArray(value) ? `an array of ${value.length}` : `an object of ${value.constructor?.name ?? "no class"}`;
}
