import type { FastifyRequest } from "fastify";
import { type ConsumeOptions, type Cost, SpillwayError } from "spillway";
import { dropRejection, isThenable } from "spillway/kit";
import { invalidOption, show } from "./option-error.ts";

/** What a request costs, synchronously: one number for every policy, or one for each by name. */
export type CostFunction = (request: FastifyRequest) => Cost;

/** A cost for each of some policies. */
export type PolicyCosts = Readonly<Record<string, number>>;

/** Makes the function that gives a request its cost. A fixed cost is checked here, once; that of a function by the limiter. */
export function requestCost(
  cost: Cost | CostFunction | undefined,
  option: string,
): (request: FastifyRequest) => ConsumeOptions | undefined {
  if (cost === undefined) return () => undefined;
  if (typeof cost === "function") return (request) => ({ cost: askCost(cost, request, option) });
  requireCost(cost, option);
  const fixed: ConsumeOptions = Object.freeze({ cost });
  return () => fixed;
}

/**
 * The same for a request that counts under `names` alone: a number is the cost of each, and a record must not name another one.
 */
export function costWithin(
  names: readonly string[],
  cost: Cost | CostFunction | undefined,
  option: string,
): (request: FastifyRequest) => PolicyCosts {
  if (typeof cost === "function") return (request) => costsFor(names, askCost(cost, request, option), option);
  const given = cost ?? 1;
  requireCost(given, option);
  const fixed = Object.freeze(costsFor(names, given, option));
  return () => fixed;
}

function costsFor(names: readonly string[], cost: Cost, option: string): PolicyCosts {
  if (typeof cost !== "object" || cost === null) {
    if (!isCost(cost)) throw badCost(option, cost);
    return Object.fromEntries(names.map((name) => [name, cost]));
  }
  for (const [name, part] of Object.entries(cost))
    if (!names.includes(name) || !isCost(part)) throw badCost(`${option}.${name}`, names.includes(name) ? part : name);
  return Object.fromEntries(names.map((name) => [name, cost[name] ?? 0]));
}

function askCost(cost: CostFunction, request: FastifyRequest, option: string): Cost {
  const asked = cost(request);
  // A record that names no policy costs nothing; an async function's promise is not meant as one.
  if (isThenable(asked)) {
    dropRejection(asked);
    throw badCost(option, asked);
  }
  return asked;
}

function badCost(option: string, got: unknown): SpillwayError {
  const message = `Option ${option} must return a whole number from 0, or one for each policy, at once, got ${show(got)}.`;
  return new SpillwayError("ERR_SPILLWAY_INVALID_COST", message);
}

/** @throws SpillwayError unless it is a whole number from 0, or a record of them. */
function requireCost(cost: unknown, option: string): void {
  const parts = typeof cost === "object" && cost !== null ? Object.entries(cost) : [["", cost] as const];
  for (const [policy, part] of parts)
    if (!isCost(part))
      throw invalidOption(policy === "" ? option : `${option}.${policy}`, "a whole number from 0", part);
}

function isCost(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
