import { LRUCache } from "lru-cache";
import { invalidArgument, unknownPolicy } from "./errors.ts";
import type { Policy } from "./policy.ts";
import { type PolicyResolver, type PolicySet, requireCost } from "./policy-set.ts";

/** One bucket of a request that is about several keys: a policy of that key, by its name, and what it costs there. */
export interface AskPart {
  readonly policy: string;
  readonly key: string;
  /** Defaults to 1. */
  readonly cost?: number;
}

/** Parts checked: policies with a key and a cost each, in the order given. */
export interface JointAsk {
  /** The same for the same policies and keys in the same order. */
  readonly id: string;
  readonly set: PolicySet;
  readonly keys: readonly string[];
  readonly costs: readonly number[];
}

const MOST_PARTS = 16;
const PART_NAMES = ["policy", "key", "cost"];
/** How many combinations of policies are remembered. */
const MOST_SETS = 1000;

/** Reads what `consume` is given for several keys at once. */
export class JointAsks {
  readonly #policiesOf: PolicyResolver;
  readonly #requireKey: (key: unknown) => asserts key is string;
  readonly #sets = new LRUCache<string, PolicySet>({ max: MOST_SETS });
  readonly #numbers = new WeakMap<Policy, number>();
  #policies = 0;

  constructor(policiesOf: PolicyResolver, requireKey: (key: unknown) => asserts key is string) {
    this.#policiesOf = policiesOf;
    this.#requireKey = requireKey;
  }

  /** @throws TypeError | RangeError that names the part and what is wrong with it. */
  read(parts: readonly AskPart[]): JointAsk {
    if (parts.length < 1 || parts.length > MOST_PARTS)
      throw invalidArgument("ask", `a key, or 1 to ${MOST_PARTS} parts`, parts);
    // A list may have holes, which `map` leaves out.
    const policies = Array.from(parts, (part: unknown, i) => this.#policyOf(part, i));
    const keys = parts.map(({ key }: AskPart) => key);
    const id = JSON.stringify(parts.map(({ policy, key }: AskPart) => [policy, key]));
    for (let i = 0; i < parts.length; i++)
      for (let j = 0; j < i; j++)
        if (keys[i] === keys[j] && policies[i]?.name === policies[j]?.name)
          throw invalidArgument("ask", "of parts that differ in policy or key", keys[i]);
    return { id, set: this.#setOf(policies), keys, costs: parts.map(costOf) };
  }

  /** Some of the parts as an ask of their own. */
  pick({ set, keys, costs }: JointAsk, indices: readonly number[]): JointAsk {
    const policies = indices.map((i) => set.policies[i] as Policy);
    const picked = indices.map((i) => keys[i] as string);
    const id = JSON.stringify(policies.map(({ name }, i) => [name, picked[i]]));
    return { id, set: this.#setOf(policies), keys: picked, costs: indices.map((i) => costs[i] as number) };
  }

  #policyOf(part: unknown, index: number): Policy {
    if (typeof part !== "object" || part === null)
      throw invalidArgument(`ask[${index}]`, "an object such as { policy, key, cost }", part);
    for (const name in part)
      if (!PART_NAMES.includes(name)) throw invalidArgument(`ask[${index}]`, `of ${PART_NAMES.join(", ")} only`, name);
    const { key, policy: name } = part as Partial<AskPart>;
    this.#requireKey(key);
    const policy = this.#policiesOf(key).policies.find((one) => one.name === name);
    if (policy === undefined) throw unknownPolicy(name);
    return policy;
  }

  #setOf(policies: readonly Policy[]): PolicySet {
    const content = policies.map((policy) => this.#numberOf(policy)).join();
    let set = this.#sets.get(content);
    if (set === undefined) {
      set = Object.freeze({ policies: Object.freeze(policies), unitCosts: Object.freeze(policies.map(() => 1)) });
      this.#sets.set(content, set);
    }
    return set;
  }

  #numberOf(policy: Policy): number {
    let number = this.#numbers.get(policy);
    if (number === undefined) {
      number = ++this.#policies;
      this.#numbers.set(policy, number);
    }
    return number;
  }
}

/** A cost that is there and says nothing is not taken for 1. */
function costOf(part: AskPart, index: number): number {
  return "cost" in part ? requireCost(part.cost, `cost of ask[${index}]`) : 1;
}
