import { invalidOption } from "./argument-error.ts";
import type { QuotaStatus } from "./rate-limit-fields.ts";

/** How `X-RateLimit-Reset` tells its time: whole seconds from now, or since 1970. */
export type LegacyReset = "delta" | "epoch";

/** The three fields that came before the Internet-Draft, by name. They have room for one policy. */
export interface LegacyFields {
  readonly "X-RateLimit-Limit": string;
  readonly "X-RateLimit-Remaining": string;
  /** Left out where no wait helps. */
  readonly "X-RateLimit-Reset"?: string;
}

/**
 * `X-RateLimit-Limit`, `-Remaining` and `-Reset` for the policy that binds: of those that refuse the one that does so
 * longest, else the one with the least left. While something is left, the reset is when the policy is as if unused; then,
 * when more appears; for a policy that refuses, when the same request fits. All are rounded so that they never promise too much.
 * @param nowMs the server's clock, milliseconds since 1970; only `"epoch"` uses it.
 * @returns `undefined` for no policies: send no field then.
 * @throws TypeError for another `reset`.
 */
export function writeLegacyFields(
  statuses: readonly QuotaStatus[],
  reset: LegacyReset,
  nowMs: number,
): LegacyFields | undefined {
  if (reset !== "delta" && reset !== "epoch") throw invalidOption("reset", '"delta" or "epoch"', reset);
  const status = bindingStatus(statuses);
  if (status === undefined) return undefined;
  const fields = { "X-RateLimit-Limit": digits(status.limit), "X-RateLimit-Remaining": digits(status.remaining) };
  const seconds = Math.ceil((waitMs(status) + (reset === "epoch" ? nowMs : 0)) / 1000);
  return Number.isSafeInteger(seconds) ? { ...fields, "X-RateLimit-Reset": digits(seconds) } : fields;
}

/** The policy that one number would have to speak of; the first of several alike. */
export function bindingStatus(statuses: readonly QuotaStatus[]): QuotaStatus | undefined {
  let binding = statuses[0];
  for (const status of statuses) if (binding !== undefined && bindsMore(status, binding)) binding = status;
  return binding;
}

function bindsMore(status: QuotaStatus, than: QuotaStatus): boolean {
  if (status.retryAfterMs !== than.retryAfterMs) return status.retryAfterMs > than.retryAfterMs;
  return status.remaining < than.remaining;
}

function waitMs({ remaining, refillAfterMs, resetAfterMs = refillAfterMs, retryAfterMs }: QuotaStatus): number {
  if (retryAfterMs > 0) return retryAfterMs < Number.POSITIVE_INFINITY ? retryAfterMs : refillAfterMs;
  return remaining >= 1 ? resetAfterMs : refillAfterMs;
}

function digits(value: number): string {
  return String(value > 0 ? Math.min(Math.floor(value), Number.MAX_SAFE_INTEGER) : 0);
}
