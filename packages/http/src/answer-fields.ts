import { invalidOption } from "./argument-error.ts";
import { type LegacyReset, writeLegacyFields } from "./legacy-fields.ts";
import type { LimitedResponse } from "./limited-exchange.ts";
import { type QuotaStatus, type RateLimitWriter, writeRateLimit, writeRateLimitPolicy } from "./rate-limit-fields.ts";
import type { RequestNote } from "./request-note.ts";
import { dropRejection } from "./thenable.ts";

/** Which fields an answer carries. */
export interface AnswerFieldSettings {
  /** `undefined`: without the two `RateLimit` fields. */
  readonly writer: RateLimitWriter | undefined;
  readonly legacyHeaders: LegacyReset | false;
  /** Gives what stands for a key in `pk`. */
  readonly partitionOf: ((key: string) => string) | undefined;
}

/**
 * Tells how the policies of a decision stand. Where several middlewares guard one request, the `RateLimit` fields are lists
 * that name the policies of all, and the earlier fields speak of the one that binds.
 */
export function setAnswerFields(
  settings: AnswerFieldSettings,
  response: LimitedResponse,
  note: RequestNote,
  key: string,
): void {
  const { policies } = note.decision;
  if (policies.length === 0) return;
  if (settings.writer !== undefined) {
    const [policyField, limitField] = draftFields(settings, settings.writer, policies, key);
    setOrAppend(response, "RateLimit-Policy", policyField, note);
    setOrAppend(response, "RateLimit", limitField, note);
  }
  if (settings.legacyHeaders !== false) {
    const fields = writeLegacyFields(statusesOf(note), settings.legacyHeaders, Date.now());
    for (const [name, value] of Object.entries(fields ?? {})) response.setHeader(name, value);
  }
}

function draftFields(
  { partitionOf }: AnswerFieldSettings,
  writer: RateLimitWriter,
  policies: readonly QuotaStatus[],
  key: string,
): readonly [string, string] {
  if (partitionOf !== undefined) {
    const partitionKey = requirePartitionKey(partitionOf(key));
    return [writeRateLimitPolicy(policies, partitionKey), writeRateLimit(policies, partitionKey)];
  }
  const fields = writer.fieldsOf(policies);
  return [fields.rateLimitPolicy, fields.rateLimit(policies)];
}

/** @throws TypeError `ERR_SPILLWAY_INVALID_OPTION` for what is no text. */
function requirePartitionKey(given: unknown): string {
  if (typeof given === "string") return given;
  dropRejection(given);
  throw invalidOption("partitionKey", "a function that returns a string, at once", given);
}

function setOrAppend(response: LimitedResponse, name: string, value: string, note: RequestNote): void {
  const earlier = note.earlier === undefined ? undefined : response.getHeader(name);
  response.setHeader(name, earlier === undefined ? value : `${earlier},${value}`);
}

function statusesOf(note: RequestNote): readonly QuotaStatus[] {
  let statuses = note.decision.policies;
  for (let earlier = note.earlier; earlier !== undefined; earlier = earlier.earlier)
    if (earlier.isTold) statuses = [...earlier.decision.policies, ...statuses];
  return statuses;
}
