import type { PolicyOptions } from "spillway";

/**
 * How the callers of a key are spread over the processes: evenly, as 1, 1/2, 1/3 ... (Zipf), or all in one.
 */
export type ShapeName = "uniform" | "zipf" | "one-hot";

export const SHAPES: readonly ShapeName[] = ["uniform", "zipf", "one-hot"];

/** What is asked for of a key with each shape, in multiples of its rate. */
const OFFERED: Readonly<Record<ShapeName, number>> = { uniform: 2, zipf: 1.5, "one-hot": 1.5 };

/** Policies that are charged together, and how many keys of each shape live under them. */
export interface Tier {
  /** 1 or more letters. */
  readonly name: string;
  readonly policies: readonly PolicyOptions[];
  readonly keysPerShape: number;
  /** The one process that has all callers of all keys. The shapes other than one-hot are left out. */
  readonly only?: number;
  /** A policy over one key that all keys of the tier are charged to besides their own: each request is about two keys. */
  readonly common?: PolicyOptions;
}

/** A key under load. */
export interface ChaosKey {
  readonly key: string;
  readonly shape: ShapeName;
  readonly policies: readonly PolicyOptions[];
  /** The bucket of another key that each request is charged to, too. */
  readonly common: { readonly key: string; readonly policy: PolicyOptions } | undefined;
  /** How many decisions each process asks for in a second, in the order of the processes. */
  readonly perSecond: readonly number[];
}

/** All keys of a run. A key's name begins with that of its tier. */
export function keysUnderLoad(tiers: readonly Tier[], processes: number): ChaosKey[] {
  return tiers.flatMap(({ name, policies, keysPerShape, common, only }) =>
    SHAPES.filter((shape) => only === undefined || shape === "one-hot").flatMap((shape) =>
      Array.from({ length: keysPerShape }, (_value, index) => ({
        key: `${name}/${shape}/${index}`,
        shape,
        policies,
        common: common && { key: `${name}/common`, policy: common },
        perSecond: Array.from(
          { length: processes },
          (_, process) => OFFERED[shape] * rateOf(policies) * partOf(shape, process, only ?? index, processes),
        ),
      })),
    ),
  );
}

/** Tokens a second of the policy that allows least. */
export function rateOf(policies: readonly PolicyOptions[]): number {
  return Math.min(...policies.map(({ limit, period }) => (limit * 1000) / periodMs(period)));
}

/** The periods of these policies are written as whole seconds or milliseconds. */
export function periodMs(period: PolicyOptions["period"]): number {
  if (typeof period === "number") return period;
  const seconds = /^(\d+)s$/.exec(period)?.[1];
  if (seconds === undefined) throw new Error(`A period such as "1s" is wanted here, got ${period}.`);
  return Number(seconds) * 1000;
}

/** The part of a key's callers that one process has. Each key has its favourite process, so that all have as much to do. */
function partOf(shape: ShapeName, process: number, favourite: number, processes: number): number {
  const rank = (process - (favourite % processes) + processes) % processes;
  if (shape === "uniform") return 1 / processes;
  if (shape === "one-hot") return rank === 0 ? 1 : 0;
  let total = 0;
  for (let each = 1; each <= processes; each++) total += 1 / each;
  return 1 / (rank + 1) / total;
}
