import type { FastifyInstance } from "fastify";
import type { Cost, PolicyView, RateLimiter } from "spillway";
import { invalidOption } from "./option-error.ts";
import { setupWarning, type WarningListener } from "./setup-warning.ts";

/** @throws SpillwayError where a name is none of the limiter's policies. Where those depend on the key, nothing can be told. */
export function requirePolicies(names: readonly string[], limiter: RateLimiter, option: string): void {
  if (limiter.policies === undefined) return;
  const known = limiter.policies.map(({ name }) => name);
  for (const name of names)
    if (!known.includes(name)) throw invalidOption(option, `a policy of its limiter (${known.join(", ")})`, name);
}

/** Warns of a fixed cost by which a limit is never reached, or always exceeded. */
export function checkCost(cost: Cost, policies: readonly PolicyView[], at: string, warn: WarningListener): void {
  const costs = policies.map(({ name }) => (typeof cost === "number" ? cost : (cost[name] ?? 0)));
  if (costs.every((one) => one === 0)) warn(setupWarning("SPILLWAY_WARN_COST_ZERO", `${at} costs 0.`));
  for (const [i, { name, capacity }] of policies.entries())
    if ((costs[i] as number) > capacity) {
      const message = `${at} costs ${costs[i]}, and policy "${name}" never has more than ${capacity}.`;
      warn(setupWarning("SPILLWAY_WARN_COST_NEVER_FITS", message));
    }
}

interface PoliciesInUse {
  readonly limiters: WeakSet<RateLimiter>;
  readonly views: Map<string, PolicyView>;
}

/** By the server, which nested scopes share. */
const inUse = new WeakMap<object, PoliciesInUse>();

/** Warns of policies that have the name of another limiter's, and other numbers. */
export function checkClashes(app: FastifyInstance, limiter: RateLimiter, warn: WarningListener): void {
  const known = inUse.get(app.server) ?? { limiters: new WeakSet(), views: new Map() };
  inUse.set(app.server, known);
  if (known.limiters.has(limiter)) return;
  known.limiters.add(limiter);
  for (const view of limiter.policies ?? []) {
    const other = known.views.get(view.name) ?? view;
    known.views.set(view.name, other);
    if (textOf(other) === textOf(view)) continue;
    const message = `Two limiters have a policy "${view.name}": ${textOf(other)}, and ${textOf(view)}.`;
    warn(setupWarning("SPILLWAY_WARN_POLICY_CLASH", message));
  }
}

function textOf({ algorithm, limit, periodMs, capacity }: PolicyView): string {
  return `${algorithm} of ${limit} per ${periodMs} ms, at most ${capacity} at once`;
}
