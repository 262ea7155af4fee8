import type { RefusalLike } from "./limiter-like.ts";
import {
  abnormalUsageDetected,
  type ProblemDocument,
  quotaExceeded,
  temporaryReducedCapacity,
} from "./problem-document.ts";

const DETAILS: Readonly<Record<RefusalLike["reason"], string>> = {
  limited: "Over the limit, come back later.",
  never: "This request costs more than its limit ever allows.",
  blocked: "Shut out for now.",
};

/**
 * The status of the answer to a refusal: 429, or 503 where nobody is let in because the limiter's store cannot answer
 * (`onStoreFailure: "closed"`), which is no fault of the caller.
 */
export function refusalStatus({ source, reason }: Pick<RefusalLike, "source" | "reason">): 429 | 503 {
  return source === "closed" && reason === "limited" ? 503 : 429;
}

/**
 * The body of the answer to a refusal: `temporary-reduced-capacity` where it is a 503, `abnormal-usage-detected` for a caller who is
 * blocked, else `quota-exceeded`.
 */
export function refusalProblem(refusal: RefusalLike): ProblemDocument {
  const violatedPolicies = refusal.policies.filter((status) => status.retryAfterMs > 0).map(({ policy }) => policy);
  if (refusalStatus(refusal) === 503)
    return temporaryReducedCapacity({ violatedPolicies, detail: "The limit cannot be told for now, come back later." });
  const build = refusal.reason === "blocked" ? abnormalUsageDetected : quotaExceeded;
  return build({ violatedPolicies, detail: DETAILS[refusal.reason] });
}
