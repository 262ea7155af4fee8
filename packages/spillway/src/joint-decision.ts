import { allowed, bindingOf, refused } from "./decide.ts";
import type { Decision, DecisionSource, PolicyStatus } from "./decision.ts";
import type { JointAsk, JointAsks } from "./joint-ask.ts";

/** The parts of a request that live in one slot, and which of the whole they are. */
export interface SlotPart {
  readonly ask: JointAsk;
  readonly indices: readonly number[];
}

/** The parts by slot; `undefined` when one step can decide for all. */
export function splitBySlot(
  ask: JointAsk,
  asks: JointAsks,
  groupOf: (key: string) => number,
): readonly SlotPart[] | undefined {
  const groups = new Map<number, number[]>();
  for (const [i, key] of ask.keys.entries()) {
    const group = groupOf(key);
    const together = groups.get(group);
    if (together === undefined) groups.set(group, [i]);
    else together.push(i);
  }
  if (groups.size === 1) return undefined;
  return [...groups.values()].map((indices) => ({ ask: asks.pick(ask, indices), indices }));
}

/**
 * Decides in two steps: asks every slot, and gives back what was taken where another one refuses. Between the two steps others
 * may be refused for want of what comes back; when the giving back is lost, so are the tokens. Never does more go in.
 */
export async function consumeApart(
  whole: JointAsk,
  parts: readonly SlotPart[],
  decide: (ask: JointAsk) => Promise<Decision>,
  giveBack: (decision: Decision) => Promise<void>,
): Promise<Decision> {
  const settled = await Promise.allSettled(parts.map(({ ask }) => decide(ask)));
  const decisions: Decision[] = [];
  for (const outcome of settled) if (outcome.status === "fulfilled") decisions.push(outcome.value);
  const failed = settled.find((outcome) => outcome.status === "rejected");
  if (failed === undefined && decisions.every(isCharged)) return merged(whole, parts, decisions);
  // Nobody waits for it: the deadline is over, or a refusal is all that there is to tell.
  for (const decision of decisions) void giveBack(decision).catch(() => {});
  if (failed !== undefined) throw failed.reason;
  return merged(whole, parts, decisions);
}

/** In a dry run, who is let in all the same is not charged. */
function isCharged(decision: Decision): boolean {
  return decision.allowed && decision.waived === undefined;
}

function merged(whole: JointAsk, parts: readonly SlotPart[], decisions: readonly Decision[]): Decision {
  const admitted = decisions.every((decision) => decision.allowed);
  const waived = decisions.find((decision) => decision.allowed && decision.waived !== undefined);
  const statuses: PolicyStatus[] = new Array(whole.keys.length);
  for (const [p, { indices }] of parts.entries()) {
    const decision = decisions[p] as Decision;
    for (const [i, index] of indices.entries()) {
      const status = decision.policies[i] as PolicyStatus;
      const cost = whole.costs[index] as number;
      // What a slot took comes back when another one refuses.
      statuses[index] = decision.allowed && !admitted ? { ...status, remaining: status.remaining + cost } : status;
    }
  }
  const source = sourceOf(admitted ? decisions : decisions.filter((decision) => !decision.allowed));
  const decision = admitted ? allowed("", whole.costs, statuses, source) : refused("", whole.costs, statuses, source);
  if (waived !== undefined) return { ...decision, ...waived, costs: whole.costs, policies: statuses, keys: whole.keys };
  return { ...decision, key: whole.keys[bindingOf(decision)] as string, keys: whole.keys };
}

/** The least certain source of all. */
function sourceOf(decisions: readonly Decision[]): DecisionSource {
  const degraded = decisions.find((decision) => decision.degraded);
  const asked = decisions.find(({ source }) => source === "store");
  return (degraded ?? asked ?? (decisions[0] as Decision)).source;
}
