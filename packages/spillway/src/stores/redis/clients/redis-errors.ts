import { isSpillwayError, SpillwayError, thrownText } from "../../../errors.ts";

/** Error replies of a server that can serve nobody for now, by their first word. */
const SERVES_NOBODY = new Set([
  "READONLY",
  "LOADING",
  "CLUSTERDOWN",
  "MASTERDOWN",
  "OOM",
  "MISCONF",
  "NOREPLICAS",
  "NOPERM",
  "NOAUTH",
  "WRONGPASS",
  "BUSY",
  "DENIED",
]);
/** How Redis refuses a command inside a script, by versions: words other than those outside. */
const NO_PERMISSION_INSIDE =
  /can't run this command or subcommand|can't access at least one of the keys|ACL failure in script/;
/** What operating systems say when nobody is there. */
const NOBODY_THERE = new Set(["ECONNREFUSED", "ENOTFOUND", "EHOSTUNREACH", "ENETUNREACH", "ENOENT", "EAI_AGAIN"]);
/** What drivers say of a call that they have not sent. */
const NOT_SENT = /^(?:The client is (?:closed|offline)|Stream isn't writeable|Cluster isn't ready)/;
/** Before Redis 7, an error that a command inside a script gave comes last, after where in the script it was. */
const WRAPPED = /^(?:ERR )?Error running script .*?: -/;

/** Whether the server said that it does not know a script, and so did not run it. */
export function isUnknownScript(cause: unknown): boolean {
  return messageOf(cause).startsWith("NOSCRIPT");
}

/** Whether the server said that it is a replica now: another connection may lead to its successor. */
export function isReadOnlyReply(cause: unknown): boolean {
  return firstWordOf(messageOf(cause)) === "READONLY";
}

/**
 * What a Redis client rejected with, as an error of ours: `ERR_SPILLWAY_STORE_UNAVAILABLE` when nobody can be served for now,
 * so that there is no use in asking again at once; else `ERR_SPILLWAY_STORE_FAILED`.
 */
export function redisError(cause: unknown): SpillwayError {
  if (isSpillwayError(cause)) return cause;
  const message = messageOf(cause);
  const permission = missingPermission(message);
  if (permission !== undefined) return unavailable(permission, cause);
  if (SERVES_NOBODY.has(firstWordOf(message)) || NOBODY_THERE.has(systemCodeOf(cause)) || NOT_SENT.test(message))
    return unavailable(`Redis cannot serve: ${message}`, cause);
  return new SpillwayError("ERR_SPILLWAY_STORE_FAILED", `Redis failed: ${message}`, { cause });
}

/** Why there is no connection: nothing was sent, whatever the reason. */
export function unreachable(cause: unknown): SpillwayError {
  const error = redisError(cause);
  if (error.code !== "ERR_SPILLWAY_STORE_FAILED") return error;
  return unavailable(`Redis cannot be reached: ${messageOf(cause)}`, cause);
}

/** Redis refuses a command inside a script in other words than one outside. */
function missingPermission(message: string): string | undefined {
  if (!NO_PERMISSION_INSIDE.test(message) && firstWordOf(message) !== "NOPERM") return undefined;
  return `The Redis user lacks a permission (docs/operations.md lists the ACL that Spillway needs): ${message}`;
}

/** The first word of an error reply, also of one that an older server wraps when it comes from inside a script. */
function firstWordOf(message: string): string {
  return /^[A-Z]+/.exec(message.replace(WRAPPED, ""))?.[0] ?? "";
}

/** Node tries every address of a name, and says what became of each in an error that has no message of its own. */
function messageOf(cause: unknown): string {
  if (!(cause instanceof Error)) return thrownText(cause);
  const first: unknown = cause instanceof AggregateError ? cause.errors[0] : undefined;
  return cause.message === "" && first !== undefined ? messageOf(first) : cause.message;
}

function systemCodeOf(cause: unknown): string {
  return String((cause as { code?: unknown } | null)?.code ?? "");
}

function unavailable(message: string, cause: unknown): SpillwayError {
  return new SpillwayError("ERR_SPILLWAY_STORE_UNAVAILABLE", message, { cause });
}
