import { LRUCache } from "lru-cache";
import { invalidCost, invalidOption, show, unknownPolicy } from "./errors.ts";
import { type Policy, type PolicyOptions, resolvePolicy } from "./policy.ts";
import { isThenable } from "./thenable.ts";

/** One policy, several that all must admit, or a synchronous function of the key that returns either (tiers). */
export type PoliciesOption =
  | PolicyOptions
  | readonly PolicyOptions[]
  | ((key: string) => PolicyOptions | readonly PolicyOptions[]);

/** One number for all policies, or one for each by name; policies not named cost 0. Whole numbers from 0. */
export type Cost = number | Readonly<Record<string, number>>;

/** The policies that one key lives under, checked. Every key of a tier has the same object. */
export interface PolicySet {
  readonly policies: readonly Policy[];
  /** Cost 1 for each policy, shared since it is asked for most. */
  readonly unitCosts: readonly number[];
}

/** Finds the policies of a key. Throws a `SpillwayError` when the user's function returns what is no policy. */
export type PolicyResolver = (key: string) => PolicySet;

const MOST_POLICIES = 16;
/** How many different policy sets of a function are remembered. */
const MOST_SETS = 1000;

/**
 * Reads the `policies` option. Objects are checked here; what a function returns is checked once for each object it returns,
 * and objects that say the same are one set, so that a function which makes them anew each time counts no key twice.
 * @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION`.
 */
export function policyResolver(option: PoliciesOption): PolicyResolver {
  if (typeof option !== "function") {
    const set = resolveSet(option, "policies");
    return () => set;
  }
  const known = new WeakMap<object, PolicySet>();
  const alike = new LRUCache<string, PolicySet>({ max: MOST_SETS });
  return (key) => {
    const returned: unknown = option(key);
    if (typeof returned !== "object" || returned === null)
      throw invalidOption("policies(key)", "a policy or an array of policies", returned);
    let set = known.get(returned);
    if (set === undefined) {
      const fresh = resolveSet(returned, "policies(key)");
      const content = JSON.stringify(fresh.policies);
      set = alike.get(content) ?? fresh;
      alike.set(content, set);
      known.set(returned, set);
    }
    return set;
  };
}

function resolveSet(option: unknown, at: string): PolicySet {
  requireSynchronous(option, at);
  if (typeof option !== "object" || option === null)
    throw invalidOption(at, "a policy, an array of policies, or a function of the key that returns either", option);
  const list: unknown[] = Array.isArray(option) ? [...option] : [option];
  if (list.length < 1 || list.length > MOST_POLICIES)
    throw invalidOption(at, `one policy, or an array of 1 to ${MOST_POLICIES}`, option);
  const policies = list.map((entry, index) => {
    const where = Array.isArray(option) ? `${at}[${index}]` : at;
    requireSynchronous(entry, where);
    return resolvePolicy(entry, where);
  });
  for (const [index, { name }] of policies.entries()) {
    if (policies.findIndex((other) => other.name === name) !== index)
      throw invalidOption(`${at}[${index}].name`, "different from the names before it", name);
  }
  return Object.freeze({ policies: Object.freeze(policies), unitCosts: Object.freeze(policies.map(() => 1)) });
}

function requireSynchronous(option: unknown, at: string): void {
  if (isThenable(option)) throw invalidOption(at, "synchronous: policies, not a promise of them", option);
}

/**
 * The costs of a request, one per policy of the set.
 * @throws TypeError | RangeError for what is no whole number from 0, or names no policy.
 */
export function resolveCosts(cost: Cost, { policies, unitCosts }: PolicySet): readonly number[] {
  if (cost === 1) return unitCosts;
  if (isRecord(cost)) {
    for (const name of Object.keys(cost))
      if (!policies.some((policy) => policy.name === name)) throw unknownPolicy(name);
    return policies.map(({ name }) =>
      Object.hasOwn(cost, name) ? requireCost(cost[name], `cost for policy ${show(name)}`) : 0,
    );
  }
  const checked = requireCost(cost, "cost");
  return policies.map(() => checked);
}

/** Not a promise, a map or a list: those have no names of policies, and would cost nothing. */
function isRecord(cost: Cost): cost is Readonly<Record<string, number>> {
  return Object.prototype.toString.call(cost) === "[object Object]";
}

/** @throws TypeError | RangeError unless `value` is a whole number from 0. */
export function requireCost(value: unknown, name: string): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0 || Object.is(value, -0)) throw invalidCost(value, name);
  return value as number;
}
