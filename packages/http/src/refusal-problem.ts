import type { RefusalLike } from "./limiter-like.ts";
import { abnormalUsageDetected, type ProblemDocument, quotaExceeded } from "./problem-document.ts";

const DETAILS: Readonly<Record<RefusalLike["reason"], string>> = {
  limited: "Over the limit, come back later.",
  never: "This request costs more than its limit ever allows.",
  blocked: "Shut out for now.",
};

/** The body of a 429 for a refusal: `abnormal-usage-detected` for a caller who is blocked, else `quota-exceeded`. */
export function refusalProblem(refusal: RefusalLike): ProblemDocument {
  const build = refusal.reason === "blocked" ? abnormalUsageDetected : quotaExceeded;
  const violatedPolicies = refusal.policies.filter((status) => status.retryAfterMs > 0).map(({ policy }) => policy);
  return build({ violatedPolicies, detail: DETAILS[refusal.reason] });
}
