import { SpillwayError, show } from "../../errors.ts";

// What came from another process is checked value by value: a form that is not known is a fault, and never an admission.

/** A message between worker and primary that one of them cannot read. */
export function strange(what: string): SpillwayError {
  const message = `A message between worker and primary has an unknown form: ${what}. Do both run the same version?`;
  return new SpillwayError("ERR_SPILLWAY_STORE_REPLY", message);
}

/** @throws SpillwayError unless `value` is an array, of `length` entries if one is given. */
export function readList(value: unknown, what: string, length?: number): readonly unknown[] {
  if (!Array.isArray(value) || (length !== undefined && value.length !== length))
    throw strange(`${what} is ${show(value)}`);
  return value;
}

/** @throws SpillwayError unless `value` is a whole number from `least` to `most`. */
export function readWhole(value: unknown, what: string, least: number, most: number = Number.MAX_SAFE_INTEGER): number {
  if (!Number.isSafeInteger(value) || (value as number) < least || (value as number) > most)
    throw strange(`${what} is ${show(value)}`);
  return value as number;
}

/** @throws SpillwayError unless `value` is a finite number from `least`. */
export function readNumber(value: unknown, what: string, least: number): number {
  if (!Number.isFinite(value) || (value as number) < least) throw strange(`${what} is ${show(value)}`);
  return value as number;
}

/** @throws SpillwayError unless `value` is text that is not empty. */
export function readText(value: unknown, what: string): string {
  if (typeof value !== "string" || value === "") throw strange(`${what} is ${show(value)}`);
  return value;
}
