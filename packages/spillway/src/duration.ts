import { invalidOption } from "./errors.ts";

/** A length of time: milliseconds as a number, or a number with a unit: `"250ms"`, `"1.5s"`, `"1m"`, `"12h"`, `"30d"`. */
export type Duration = number | `${number}${"ms" | "s" | "m" | "h" | "d"}`;

const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const FORM = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;

/**
 * A duration in whole microseconds.
 * @param option the name that an error gives it.
 * @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION` when it is no duration, finer than a microsecond, or out of range.
 */
export function durationUs(value: unknown, option: string, leastMs: number, mostMs: number): number {
  const expected = `a duration from ${leastMs} ms to ${mostMs} ms (milliseconds, or text such as "1s", "15m", "30d")`;
  const ms = typeof value === "string" ? parseMs(value) : value;
  if (typeof ms !== "number" || !(ms >= leastMs && ms <= mostMs)) throw invalidOption(option, expected, value);
  const us = Math.round(ms * 1000);
  // A float is off by a few of its last bits at most: "1.1s" is 1,100,000.0000000002 us.
  if (Math.abs(us - ms * 1000) > 4 * Number.EPSILON * us)
    throw invalidOption(option, `${expected}, in whole microseconds`, value);
  return us;
}

function parseMs(text: string): number {
  const match = FORM.exec(text);
  if (match === null) return Number.NaN;
  return Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS];
}
