import { SpillwayError } from "spillway";

/** A bad option: names it, what was expected and what came. */
export function invalidOption(option: string, expected: string, got: unknown, cause?: unknown): SpillwayError {
  const message = `Option ${option} must be ${expected}, got ${show(got)}.`;
  return new SpillwayError("ERR_SPILLWAY_INVALID_OPTION", message, cause === undefined ? undefined : { cause });
}

/** @throws SpillwayError unless `value` is an object without members other than `known`. */
export function requireMembers(value: unknown, option: string, known: readonly string[]): void {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw invalidOption(option, "an object", value);
  for (const name of Object.keys(value))
    if (!known.includes(name)) throw invalidOption(`${option}.${name}`, `one of ${known.join(", ")}`, name);
}

/** @throws SpillwayError unless `value` is `undefined` or of the type. */
export function requireType(value: unknown, option: string, type: "boolean" | "function"): void {
  if (value !== undefined && typeof value !== type) throw invalidOption(option, `a ${type}`, value);
}

/** A value as an error message shows it, never long. */
export function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (typeof value === "function") return `function ${value.name || "(anonymous)"}`;
  if (typeof value !== "object" || value === null) return String(value);
  return Array.isArray(value) ? `an array of ${value.length}` : `an object of ${value.constructor?.name ?? "no class"}`;
}
