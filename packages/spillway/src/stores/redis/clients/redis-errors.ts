import { isSpillwayError, SpillwayError } from "../../../errors.ts";

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
]);
/** What operating systems say when nobody is there. */
const NOBODY_THERE = new Set(["ECONNREFUSED", "ENOTFOUND", "EHOSTUNREACH", "ENETUNREACH", "ENOENT", "EAI_AGAIN"]);
const WRAPPED = /^(?:ERR )?Error running script[^:]*: (?:[^:]*: )*?@?\S*: ?\d+: -?/;

/** Whether the server said that it does not know a script, and so did not run it. */
export function isUnknownScript(cause: unknown): boolean {
  return cause instanceof Error && cause.message.startsWith("NOSCRIPT");
}

/**
 * What a Redis client rejected with, as an error of ours: `ERR_SPILLWAY_STORE_UNAVAILABLE` when nobody can be served for now,
 * so that there is no use in asking again at once; else `ERR_SPILLWAY_STORE_FAILED`.
 */
export function redisError(cause: unknown): SpillwayError {
  if (isSpillwayError(cause)) return cause;
  const message = cause instanceof Error ? cause.message : String(cause);
  const permission = missingPermission(message);
  if (permission !== undefined) return unavailable(permission, cause);
  const word = /^[A-Z]+/.exec(message.replace(WRAPPED, ""))?.[0] ?? "";
  const systemCode = String((cause as { code?: unknown } | null)?.code ?? "");
  if (SERVES_NOBODY.has(word) || NOBODY_THERE.has(systemCode))
    return unavailable(`Redis cannot serve: ${message}`, cause);
  return new SpillwayError("ERR_SPILLWAY_STORE_FAILED", `Redis failed: ${message}`, { cause });
}

/** Redis refuses a command inside a script in other words than one outside. */
function missingPermission(message: string): string | undefined {
  const inside = message.includes("can't run this command or subcommand");
  if (!inside && !message.startsWith("NOPERM")) return undefined;
  return `The Redis user lacks a permission (docs/operations.md lists the ACL that Spillway needs): ${message}`;
}

function unavailable(message: string, cause: unknown): SpillwayError {
  return new SpillwayError("ERR_SPILLWAY_STORE_UNAVAILABLE", message, { cause });
}
