import { readHttpDate } from "./http-date.ts";
import { waitOf } from "./wait-time.ts";

const NUMBER = /^\d+(?:\.\d+)?$/;
const DURATION = /^(?:\d+(?:\.\d+)?(?:ns|us|µs|μs|ms|s|m|h))+$/;
const DURATION_PART = /(\d+(?:\.\d+)?)(ns|us|µs|μs|ms|s|m|h)/g;
const INSTANT = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** No form of a time is longer. */
const MOST_CHARACTERS = 64;
/** Numbers from here on are seconds, or milliseconds, since 1970; smaller ones are seconds from now. */
const LEAST_EPOCH_SECONDS = 1e9;
const LEAST_EPOCH_MS = 1e12;

/**
 * Reads when a limit resets, in whichever way a server writes it: seconds from now, seconds or milliseconds since 1970, a
 * duration such as `6m0s`, an instant of RFC 3339, or an HTTP date.
 * @param serverNowMs the server's clock at the response, milliseconds since 1970.
 * @returns the wait in ms, finite and at least 0, or `undefined` for anything else.
 */
export function readReset(text: string, serverNowMs: number): number | undefined {
  if (text.length > MOST_CHARACTERS) return undefined;
  if (NUMBER.test(text)) return readNumber(Number(text), serverNowMs);
  const durationMs = readDuration(text);
  if (durationMs !== undefined) return waitOf(durationMs);
  const at = readInstant(text) ?? readHttpDate(text, serverNowMs);
  return at === undefined ? undefined : waitOf(at - serverNowMs);
}

function readNumber(value: number, serverNowMs: number): number | undefined {
  if (value >= LEAST_EPOCH_MS) return waitOf(value - serverNowMs);
  if (value >= LEAST_EPOCH_SECONDS) return waitOf(value * 1000 - serverNowMs);
  return waitOf(value * 1000);
}

/** Milliseconds of a duration as Go writes it: `12ms`, `1s`, `6m0s`, `1h2m3.5s`. `undefined` for anything else. */
function readDuration(text: string): number | undefined {
  if (!DURATION.test(text)) return undefined;
  let sumMs = 0;
  for (const [, amount, unit] of text.matchAll(DURATION_PART)) sumMs += Number(amount) * (UNIT_MS[unit as string] ?? 0);
  return sumMs;
}

/** Milliseconds since 1970 of an RFC 3339 instant; seconds may be missing. `undefined` for anything else. */
function readInstant(text: string): number | undefined {
  const found = INSTANT.exec(text);
  if (found === null) return undefined;
  const [year, month, day, hour, minute, second] = found.slice(1, 7).map((part) => Number(part ?? 0)) as SixNumbers;
  const [, , , , , , , fraction = "", sign, offsetHours, offsetMinutes] = found;
  // A leap second, :60, is the next second.
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  const localMs = date.setUTCHours(hour, minute, second) + Number(`0.${fraction}0`) * 1000;
  const offsetMs = (Number(offsetHours ?? 0) * 60 + Number(offsetMinutes ?? 0)) * 60_000;
  return sign === "-" ? localMs + offsetMs : localMs - offsetMs;
}

type SixNumbers = [number, number, number, number, number, number];
