import { dropRejection, isThenable } from "spillway/kit";
import { invalidArgument, invalidOption } from "../option-error.ts";
import type { Permit } from "../permit.ts";

/** The field in which a request carries how many ms its caller still waits. */
export const DEADLINE_HEADER = "x-request-deadline-ms";
const GRPC_HEADER = "grpc-timeout";

/** How the deadline of a request of type `R` is found. */
export interface DeadlineOptions<R> {
  /** How long the answer is of use where the request says nothing, in ms: above 0. Defaults to no deadline. */
  readonly deadlineMs?: number;
  /**
   * Whether `x-request-deadline-ms` and `grpc-timeout` are read, or of which requests, which is to be said at once. They can
   * shorten `deadlineMs`, never lengthen it. Defaults to true.
   */
  readonly readDeadline?: boolean | ((request: R) => boolean);
  /** The longest that a request may ask for, in ms: above 0. More is cut to it. Defaults to 60,000. */
  readonly maxDeadlineMs?: number;
}

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

const GRPC_UNIT_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1000,
  m: 1,
  u: 0.001,
  n: 0.000_001,
};

/**
 * What a request's own fields say, in ms from its arrival, or `undefined` when they say nothing that can be read: an absent, repeated,
 * negative, fractional or otherwise malformed value counts as absent. 0 is a deadline that is past.
 */
export function readDeadlineMs(headers: Headers): number | undefined {
  const plain = headers[DEADLINE_HEADER];
  if (typeof plain === "string" && /^[0-9]+$/.test(plain)) return Number(plain);
  const grpc = headers[GRPC_HEADER];
  const [, digits, unit] = typeof grpc === "string" ? (/^([0-9]{1,8})([HMSmun])$/.exec(grpc) ?? []) : [];
  return digits === undefined ? undefined : Number(digits) * (GRPC_UNIT_MS[unit as string] as number);
}

/**
 * Makes the function that gives a request its deadline in ms, `Infinity` for none. It throws a TypeError where `readDeadline` gives a
 * promise.
 * @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION`.
 */
export function deadlineReader<R extends { readonly headers: Headers }>(
  options: DeadlineOptions<R>,
): (request: R) => number {
  const { deadlineMs = Number.POSITIVE_INFINITY, readDeadline = true, maxDeadlineMs = 60_000 } = options;
  requirePositive(deadlineMs, "deadlineMs");
  requirePositive(maxDeadlineMs, "maxDeadlineMs");
  if (typeof readDeadline !== "boolean" && typeof readDeadline !== "function")
    throw invalidOption("readDeadline", "a boolean or a function", readDeadline);
  if (readDeadline === false) return () => deadlineMs;
  return (request) => {
    const asked = readDeadlineMs(request.headers);
    if (asked === undefined || (readDeadline !== true && !isTrusted(readDeadline(request)))) return deadlineMs;
    return Math.min(deadlineMs, asked, maxDeadlineMs);
  };
}

/** A promise would be no for everybody, whatever it says. */
function isTrusted(answer: unknown): boolean {
  if (!isThenable(answer)) return answer === true;
  dropRejection(answer);
  throw invalidArgument("answer of readDeadline", "true or false, at once", answer);
}

/** The deadline for the next hop, to be sent with each request that serves this one: what is left of it, in whole ms. */
export function deadlineHeaders(permit: Pick<Permit, "remainingMs"> | null | undefined): Record<string, string> {
  const leftMs = permit?.remainingMs() ?? Number.POSITIVE_INFINITY;
  return leftMs === Number.POSITIVE_INFINITY ? {} : { [DEADLINE_HEADER]: String(Math.floor(leftMs)) };
}

function requirePositive(value: unknown, option: string): void {
  if (typeof value !== "number" || !(value > 0)) throw invalidOption(option, "a number of ms above 0", value);
}
