import type { FastifyRequest } from "fastify";
import { type ConsumeOptions, type Cost, SpillwayError } from "spillway";
import { invalidOption, show } from "./option-error.ts";

/** What a request costs, synchronously: one number for every policy, or one for each by name. */
export type CostFunction = (request: FastifyRequest) => Cost;

/** Makes the function that gives a request its cost. A fixed cost is checked here, once; that of a function by the limiter. */
export function requestCost(
  cost: Cost | CostFunction | undefined,
  option: string,
): (request: FastifyRequest) => ConsumeOptions | undefined {
  if (cost === undefined) return () => undefined;
  if (typeof cost === "function") {
    return (request) => {
      const asked = cost(request);
      // A record that names no policy costs nothing; an async function's promise is not meant as one.
      if (typeof asked === "object" && asked !== null && "then" in asked) throw badCost(option, asked);
      return { cost: asked };
    };
  }
  requireCost(cost, option);
  const fixed: ConsumeOptions = Object.freeze({ cost });
  return () => fixed;
}

function badCost(option: string, got: unknown): SpillwayError {
  const message = `Option ${option} must return a whole number from 0, or one for each policy, at once, got ${show(got)}.`;
  return new SpillwayError("ERR_SPILLWAY_INVALID_COST", message);
}

function requireCost(cost: unknown, option: string): void {
  const parts = typeof cost === "object" && cost !== null ? Object.entries(cost) : [["", cost] as const];
  for (const [policy, part] of parts)
    if (!Number.isSafeInteger(part) || (part as number) < 0)
      throw invalidOption(policy === "" ? option : `${option}.${policy}`, "a whole number from 0", part);
}
