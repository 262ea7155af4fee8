import type { Verdict } from "./retry-decision.ts";

/** What an answer's status says of the one that sent it. */
export type Health =
  /** It took the request and dealt with it. */
  | "working"
  /** It works, and refused this caller by a limit. */
  | "limiting"
  /** It turns requests away. */
  | "overloaded"
  /** It took the request and failed. */
  | "broken";

export function healthOf(status: number): Health {
  if (status === 429) return "limiting";
  if (status === 503 || status === 529) return "overloaded";
  // What a server does not implement is no sign of its state.
  return status >= 500 && status !== 501 && status !== 505 ? "broken" : "working";
}

/** Codes of errors that come before the request could have been seen by anyone. */
const UNSENT = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ENETUNREACH",
  "EHOSTUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** `code` and `type` values, in a JSON body, of answers that say that money or a quota of a month is spent. */
const SPENT = new Set([
  "insufficient_quota",
  "credit_balance_exhausted",
  "organization_spend_limit_exceeded",
  "project_spend_limit_exceeded",
  "organization_usage_limit_exceeded",
  "enforced_spend_limit_reached",
  "billing_error",
]);
/** Of answers that say that the request can never be served. */
const NEVER = new Set(["SPILLWAY_NEVER"]);

const MOST_CAUSES = 5;
/** As a URL has them: no name ends in a number, or has a colon. */
const IP_ADDRESS = /^[0-9.]+$|:/;
const SHOULD_RETRY = ["x-should-retry", "stripe-should-retry"];

/** @param body the JSON of the answer, where it was read. */
export function verdictOfAnswer(
  status: number,
  headers: Headers,
  body: unknown,
  statusCodes: ReadonlySet<number>,
): Verdict {
  if (!statusCodes.has(status)) return { kind: "done" };
  if (SHOULD_RETRY.some((name) => headers.get(name)?.trim().toLowerCase() === "false"))
    return { kind: "hopeless", reason: "told-not-to" };
  const codes = codesIn(body);
  if (codes.some((code) => SPENT.has(code))) return { kind: "hopeless", reason: "quota-spent" };
  if (codes.some((code) => NEVER.has(code))) return { kind: "hopeless", reason: "told-not-to" };
  return { kind: "transient", unsent: false };
}

/** Whether an error with this code comes before the request could have been seen by anyone. */
export function isUnsent(code: string | undefined): boolean {
  return code !== undefined && UNSENT.has(code);
}

/** @param url what was called. */
export function verdictOfError(error: unknown, url: string, errorCodes: ReadonlySet<string>): Verdict {
  const code = errorCodeOf(error);
  if (code === undefined || !errorCodes.has(code)) return { kind: "hopeless", reason: "not-transient" };
  return { kind: "transient", unsent: isUnsent(code) && !isAboutAnother(error, url) };
}

/** The code of an error as fetch throws it: its own, its cause's, or the first among those of all addresses tried. */
export function errorCodeOf(error: unknown): string | undefined {
  const code = chainOf(error)
    .map((one) => memberOf(one, "code"))
    .find((one) => typeof one === "string");
  return code as string | undefined;
}

/**
 * Whether an error of connecting tells that it is about another place than the one that was called: `fetch` follows redirects
 * by itself, and then the place that was called has seen the request.
 */
function isAboutAnother(error: unknown, url: string): boolean {
  const target = URL.canParse(url) ? new URL(url) : undefined;
  if (target === undefined) return false;
  const host = target.hostname.replace(/^\[|\]$/g, "");
  const port = Number(target.port || (target.protocol === "https:" ? 443 : 80));
  const told = (name: string): unknown =>
    chainOf(error)
      .map((one) => memberOf(one, name))
      .find((one) => one !== undefined);
  const differs = (name: string, from: unknown): boolean => told(name) !== undefined && told(name) !== from;
  return differs("hostname", host) || differs("port", port) || (IP_ADDRESS.test(host) && differs("address", host));
}

/** An error, its causes, and the first of several under each. */
function chainOf(error: unknown): object[] {
  const chain: object[] = [];
  for (let one = error; chain.length < MOST_CAUSES && typeof one === "object" && one !== null; ) {
    chain.push(one);
    const { cause, errors } = one as { cause?: unknown; errors?: unknown };
    one = cause ?? (Array.isArray(errors) ? errors[0] : undefined);
  }
  return chain;
}

/** Every `code`, `type` and `error_code` of a body: its own, of its `error`, and of that one's `details`. */
function codesIn(body: unknown): string[] {
  const error = memberOf(body, "error");
  return [body, error, memberOf(error, "details")].flatMap((part) =>
    ["code", "type", "error_code"].map((name) => memberOf(part, name)).filter((value) => typeof value === "string"),
  );
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
