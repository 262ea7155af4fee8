import type { Admission } from "./admissions.ts";
import type { FaultRun } from "./fault.ts";
import { type ChaosKey, rateOf, SHAPES, type ShapeName } from "./load-shapes.ts";

/** Admitted while the fault lasted as a part of r x T, by how the callers were spread; empty where that is too short a time. */
export type Usage = Partial<Record<ShapeName, number>>;

/** Until then processes find out. */
const SETTLED_AFTER_MS = 500;
/** A shorter time shows no share. */
const SHORTEST_MS = 1_000;

/** Of the keys that the fault touches. */
export function usageOf(
  { keys, touches, beganMs, endingMs }: FaultRun,
  byKey: ReadonlyMap<string, readonly Admission[]>,
): Usage {
  const fromMs = beganMs + SETTLED_AFTER_MS;
  if (endingMs - fromMs < SHORTEST_MS) return {};
  const usage: Usage = {};
  for (const each of SHAPES) {
    // What is charged to a second bucket may be refused for want of that.
    const isSeen = ({ key, shape, common }: ChaosKey): boolean =>
      shape === each && touches(key) && common === undefined;
    let admitted = 0;
    let most = 0;
    for (const { key, policies } of keys.filter(isSeen)) {
      admitted += (byKey.get(key) ?? []).filter(({ toMs }) => toMs > fromMs && toMs <= endingMs).length;
      most += (rateOf(policies) * (endingMs - fromMs)) / 1000;
    }
    if (most > 0) usage[each] = admitted / most;
  }
  return usage;
}
