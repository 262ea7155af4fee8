import { SpillwayError } from "spillway";

/** A bad option: names it, what was expected and what came. */
export function invalidOption(option: string, expected: string, got: unknown): SpillwayError {
  return new SpillwayError("ERR_SPILLWAY_INVALID_OPTION", `Option ${option} must be ${expected}, got ${show(got)}.`);
}

/** A bad argument of a call, other than a cost: a `TypeError` with the same code. */
export function invalidArgument(name: string, expected: string, got: unknown): TypeError {
  const error = new TypeError(`The ${name} must be ${expected}, got ${show(got)}.`);
  return Object.assign(error, { code: "ERR_SPILLWAY_INVALID_OPTION" });
}

/** A bad cost: a `TypeError` for what is no number, a `RangeError` for a number outside the range. */
export function invalidCost(got: unknown): TypeError | RangeError {
  const message = `A cost must be a whole number of slots from 1, got ${show(got)}.`;
  const error = typeof got === "number" ? new RangeError(message) : new TypeError(message);
  return Object.assign(error, { code: "ERR_SPILLWAY_INVALID_COST" });
}

/** @throws SpillwayError unless `value` is an object without members other than `known`. */
export function requireMembers(value: unknown, known: readonly string[]): void {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw invalidOption("options", "an object", value);
  for (const name of Object.keys(value))
    if (!known.includes(name)) throw invalidOption(`options.${name}`, `one of ${known.join(", ")}`, name);
}

/** @throws TypeError unless `value` is a function. */
export function requireFunction(value: unknown, name: string): void {
  if (typeof value !== "function") throw invalidArgument(name, "a function", value);
}

/** A value as an error message shows it, never long. */
export function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return `function ${value.name || "(anonymous)"}`;
  if (typeof value !== "object" || value === null) return String(value);
  return Array.isArray(value) ? `an array of ${value.length}` : `an object of ${value.constructor?.name ?? "no class"}`;
}
