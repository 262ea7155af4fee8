import { invalidKey } from "./argument-error.ts";

/**
 * Joins parts to one key, so that two different lists of parts never give the same key: `joinKey("user", "42")` is
 * `user:42`. A `:` or `%` inside a part is escaped as `%3A` or `%25`.
 * @throws TypeError for no parts, or a part that is not a string: `undefined` must not become a caller.
 */
export function joinKey(...parts: readonly string[]): string {
  if (parts.length === 0) throw invalidKey("A key needs at least one part, got none.");
  let key = "";
  for (let index = 0; index < parts.length; index++) {
    const part: unknown = parts[index];
    if (typeof part !== "string")
      throw invalidKey(`Part ${index} of a key must be a string, got ${part === null ? "null" : typeof part}.`);
    key += index === 0 ? escaped(part) : `:${escaped(part)}`;
  }
  return key;
}

function escaped(part: string): string {
  return part.replace(/[%:]/g, (sign) => (sign === ":" ? "%3A" : "%25"));
}
