import type { FastifyRequest } from "fastify";
import type { AskPart, ConsumeOptions, Cost, Decision, PolicyStatus } from "spillway";
import { type CostFunction, costWithin, requestCost } from "./request-cost.ts";

/** How a request is put to the limiter, and what is told of the answer. */
export interface RequestAsk {
  /** A key, or one for each policy. */
  readonly askedOf: (request: FastifyRequest) => string | readonly AskPart[];
  /** `undefined` where the parts say it. */
  readonly optionsOf: (request: FastifyRequest) => ConsumeOptions | undefined;
  /** The decision about the chosen policies alone. */
  readonly narrow: (decision: Decision) => Decision;
}

export interface RequestAskOptions {
  readonly keyOf: (request: FastifyRequest) => string;
  /** Keys of single policies, by name; the others have `keyOf`. */
  readonly keysOf: ReadonlyMap<string, (request: FastifyRequest) => string>;
  /** The policies that count; `undefined`: all of the limiter. */
  readonly chosen: readonly string[] | undefined;
  /** Where every policy of the limiter is known by name. */
  readonly all: readonly string[] | undefined;
  readonly cost: Cost | CostFunction | undefined;
  /** The name of `cost` in errors. */
  readonly option: string;
}

/** Chooses the cheapest form: a key alone, a key with a cost for each policy, or a key for each policy. */
export function createRequestAsk(options: RequestAskOptions): RequestAsk {
  const { keyOf, keysOf, chosen, cost, option } = options;
  if (keysOf.size > 0) return severalKeys(options);
  if (chosen === undefined) return { askedOf: keyOf, optionsOf: requestCost(cost, option), narrow: (it) => it };
  const costsOf = costWithin(chosen, cost, option);
  const wanted = new Set(chosen);
  return {
    askedOf: keyOf,
    optionsOf: (request) => ({ cost: costsOf(request) }),
    narrow: (decision) => narrowed(decision, wanted),
  };
}

function severalKeys({ keyOf, keysOf, chosen, all, cost, option }: RequestAskOptions): RequestAsk {
  const names = chosen ?? all ?? [];
  const costsOf = costWithin(names, cost, option);
  return {
    askedOf: (request) => {
      const costs = costsOf(request);
      const shared = names.every((name) => keysOf.has(name)) ? "" : keyOf(request);
      return names.map((policy) => {
        const key = keysOf.get(policy)?.(request) ?? shared;
        return { policy, key, cost: costs[policy] as number };
      });
    },
    optionsOf: () => undefined,
    narrow: (decision) => decision,
  };
}

/** Policies that a request does not count under cost it nothing; what is left of them is not its matter. */
function narrowed(decision: Decision, wanted: ReadonlySet<string>): Decision {
  const policies: PolicyStatus[] = [];
  const costs: number[] = [];
  for (const [i, status] of decision.policies.entries()) {
    if (!wanted.has(status.policy)) continue;
    policies.push(status);
    costs.push(decision.costs[i] as number);
  }
  if (policies.length === 0) return decision;
  const binding = policies.reduce((one, other) => (bindsMore(other, one) ? other : one));
  const { policy, limit, remaining, resetAfterMs } = binding;
  return { ...decision, policies, costs, policy, limit, remaining, resetAfterMs };
}

function bindsMore(status: PolicyStatus, than: PolicyStatus): boolean {
  if (status.retryAfterMs !== than.retryAfterMs) return status.retryAfterMs > than.retryAfterMs;
  return status.remaining < than.remaining;
}
