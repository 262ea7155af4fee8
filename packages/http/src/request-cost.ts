import { invalidCost, invalidOption, show } from "./argument-error.ts";
import type { LimiterCallOptions, RequestCost } from "./limiter-like.ts";
import { dropRejection, isThenable } from "./thenable.ts";

/**
 * Makes the function that gives a request its cost. A fixed one is checked here, once; that of a function by the limiter, but
 * for a promise, which would look like costs for no policy.
 * @throws TypeError `ERR_SPILLWAY_INVALID_OPTION` for a fixed cost that is not a whole number from 0, or one per policy.
 */
export function createRequestCost<Request>(
  cost: RequestCost | ((request: Request) => RequestCost) | undefined,
): (request: Request) => LimiterCallOptions | undefined {
  if (cost === undefined) return () => undefined;
  if (typeof cost !== "function") {
    requireCost(cost);
    const fixed: LimiterCallOptions = Object.freeze({ cost });
    return () => fixed;
  }
  return (request) => {
    const asked = cost(request);
    if (!isThenable(asked)) return { cost: asked };
    dropRejection(asked);
    throw invalidCost(
      `Option cost must return a whole number from 0, or one for each policy, at once, got ${show(asked)}.`,
    );
  };
}

function requireCost(cost: unknown): void {
  const parts = typeof cost === "object" && cost !== null ? Object.entries(cost) : [["", cost] as const];
  for (const [policy, part] of parts)
    if (!Number.isSafeInteger(part) || (part as number) < 0)
      throw invalidOption(policy === "" ? "cost" : `cost.${policy}`, "a whole number from 0", part);
}
