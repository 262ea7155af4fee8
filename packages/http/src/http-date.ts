const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const SHORT_DAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)";
const LONG_DAY = "(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)";
const MONTH = `(?<month>${MONTHS.join("|")})`;
const TIME = "(?<hour>\\d\\d):(?<minute>\\d\\d):(?<second>\\d\\d)";

/** The three forms of RFC 9110 section 5.6.7: the one to write, RFC 850's, and that of C's `asctime`. */
const FORMS: readonly RegExp[] = [
  new RegExp(`^${SHORT_DAY}, (?<day>\\d\\d) ${MONTH} (?<year>\\d{4}) ${TIME} GMT$`),
  new RegExp(`^${LONG_DAY}, (?<day>\\d\\d)-${MONTH}-(?<year>\\d\\d) ${TIME} GMT$`),
  new RegExp(`^${SHORT_DAY} ${MONTH} (?<day>\\d\\d| \\d) ${TIME} (?<year>\\d{4})$`),
];

/**
 * Reads an HTTP date in any of the three forms of RFC 9110, and nothing else that `Date.parse` would take.
 * The name of the weekday is not compared with the date.
 * @param nowMs settles the century of RFC 850's two digits: a date that would be more than 50 years ahead is in the past.
 * @returns milliseconds since 1970, or `undefined` for anything that is no such date.
 */
export function readHttpDate(text: string, nowMs: number): number | undefined {
  for (const form of FORMS) {
    const parts = form.exec(text)?.groups;
    if (parts !== undefined) return instantOf(parts as unknown as DateParts, nowMs);
  }
  return undefined;
}

type DateParts = Readonly<Record<"day" | "month" | "year" | "hour" | "minute" | "second", string>>;

function instantOf(parts: DateParts, nowMs: number): number | undefined {
  const month = MONTHS.indexOf(parts.month);
  const [day, hour, minute, second] = [parts.day, parts.hour, parts.minute, parts.second].map(Number) as Four;
  // A leap second, :60, is the next second.
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  const timeMs = ((hour * 60 + minute) * 60 + second) * 1000;
  const midnightIn = (year: number): Date => new Date(new Date(0).setUTCFullYear(year, month, day));
  const instantIn = (year: number): number => midnightIn(year).getTime() + timeMs;
  const year = parts.year.length === 2 ? fullYear(Number(parts.year), nowMs, instantIn) : Number(parts.year);
  if (year === undefined || midnightIn(year).getUTCMonth() !== month || day === 0) return undefined;
  return instantIn(year);
}

type Four = [number, number, number, number];

/** The latest year with these two digits in which the date is at most 50 years ahead. */
function fullYear(twoDigits: number, nowMs: number, instantIn: (year: number) => number): number | undefined {
  const thisYear = new Date(nowMs).getUTCFullYear();
  if (Number.isNaN(thisYear)) return undefined;
  const latest = new Date(nowMs).setUTCFullYear(thisYear + 50);
  const lastYear = thisYear + 50;
  const year = lastYear - ((lastYear - twoDigits) % 100);
  return instantIn(year) > latest ? year - 100 : year;
}
