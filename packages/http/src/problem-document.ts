import { invalidOption } from "./argument-error.ts";

/** The content type of a {@link ProblemDocument}. */
export const PROBLEM_CONTENT_TYPE = "application/problem+json";

/**
 * A body of RFC 9457, with the member that the rate limit fields' Internet-Draft adds. It holds texts as they were given;
 * `JSON.stringify` escapes them, once.
 */
export interface ProblemDocument {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail?: string;
  readonly instance?: string;
  /** Names of the policies that refuse, as in the `RateLimit` field. */
  readonly "violated-policies": readonly string[];
}

/** What a caller adds to a problem. */
export interface ProblemDetails {
  readonly violatedPolicies: readonly string[];
  /** One sentence on this occurrence, for people. */
  readonly detail?: string;
  /** A URI of this occurrence. */
  readonly instance?: string;
}

/** Where the Internet-Draft puts its problem types. */
const TYPES = "https://iana.org/assignments/http-problem-types#";

/**
 * 429: over a policy.
 * @throws TypeError for details of a wrong type.
 */
export function quotaExceeded(details: ProblemDetails): ProblemDocument {
  return problem("quota-exceeded", "Quota exceeded", 429, details);
}

/**
 * 503: the service sheds load.
 * @throws TypeError for details of a wrong type.
 */
export function temporaryReducedCapacity(details: ProblemDetails): ProblemDocument {
  return problem("temporary-reduced-capacity", "Temporary reduced capacity", 503, details);
}

/**
 * 429: the caller is shut out for how it behaves.
 * @throws TypeError for details of a wrong type.
 */
export function abnormalUsageDetected(details: ProblemDetails): ProblemDocument {
  return problem("abnormal-usage-detected", "Abnormal usage detected", 429, details);
}

function problem(type: string, title: string, status: number, details: ProblemDetails): ProblemDocument {
  const { detail, instance, violatedPolicies } = details;
  requireTexts(violatedPolicies);
  for (const [name, value] of Object.entries({ detail, instance }))
    if (value !== undefined && typeof value !== "string") throw invalidOption(name, "a string", value);
  return {
    type: TYPES + type,
    title,
    status,
    ...(detail === undefined ? {} : { detail }),
    ...(instance === undefined ? {} : { instance }),
    "violated-policies": [...violatedPolicies],
  };
}

function requireTexts(violatedPolicies: unknown): asserts violatedPolicies is readonly string[] {
  if (!Array.isArray(violatedPolicies)) throw invalidOption("violatedPolicies", "an array of names", violatedPolicies);
  for (const [index, name] of violatedPolicies.entries())
    if (typeof name !== "string") throw invalidOption(`violatedPolicies[${index}]`, "a string", name);
}
