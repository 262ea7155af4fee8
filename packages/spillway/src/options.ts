import { invalidOption } from "./errors.ts";

/** @throws SpillwayError unless `value` is a whole number from `least` to `most`. */
export function requireWhole(value: unknown, option: string, least: number, most: number): number {
  if (!Number.isInteger(value) || (value as number) < least || (value as number) > most)
    throw invalidOption(option, `a whole number from ${least} to ${most}`, value);
  return value as number;
}

/** @throws SpillwayError unless `value` is a number from `least` to `most`. */
export function requireNumber(value: unknown, option: string, least: number, most: number): number {
  if (typeof value !== "number" || !(value >= least && value <= most))
    throw invalidOption(option, `a number from ${least} to ${most}`, value);
  return value;
}

/** @throws SpillwayError unless `value` is an object without keys other than `known`. */
export function requireObject(value: unknown, option: string, known: readonly string[]): void {
  if (typeof value !== "object" || value === null) throw invalidOption(option, "an object", value);
  for (const name of Object.keys(value)) {
    if (!known.includes(name)) throw invalidOption(`${option}.${name}`, `one of ${known.join(", ")}`, name);
  }
}
