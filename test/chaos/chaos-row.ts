import type { PolicyOptions } from "spillway";
import { type Admission, admissionsByKey, type Span, spansAlone } from "./admissions.ts";
import { ApartTime } from "./apart-time.ts";
import { type Reading, readBound } from "./bounds.ts";
import type { FaultRun } from "./fault.ts";
import { rateOf } from "./load-shapes.ts";
import { noiseOf } from "./machine-watch.ts";
import type { Expectation } from "./marks.ts";
import { missedTooOften, tooLate, tooLittleUsed, wrongAbsences, wrongOutcomes } from "./shortfalls.ts";
import { type Times, timesOf } from "./times.ts";
import { type Usage, usageOf } from "./usage.ts";

/** One line of the table. */
export interface ChaosRow extends Times {
  readonly fault: string;
  /** Calls without a reply in time, of the process that has most. */
  readonly missed: number;
  readonly wrong: number;
  /** Of the key that was over most. */
  readonly bound: Reading;
  /** All that was admitted, as a part of b + r x T from the first decision to the last. */
  readonly admitted: number;
  readonly used: Usage;
  /** Why times were not judged. */
  readonly noise: string | undefined;
  /** What it misses of what it is held to, in words. */
  readonly shortfalls: readonly string[];
}

/** A line for a fault that this machine cannot have. */
export interface SkippedRow {
  readonly fault: string;
  readonly reason: string;
}

type ByKey = ReturnType<typeof admissionsByKey>;
const MOST_WRONG_TOLD = 5;
/** What a process may use moves a little with what is asked of it, and is told at the end of a run. */
const SHARE_SLACK = 1.1;

/** Reads a run. */
export function rowOf(run: FaultRun, expectation: Expectation): ChaosRow {
  const byKey = admissionsByKey(
    run.reports.map(({ decisions }) => decisions),
    run.lastWords,
  );
  const noise = noiseOf(run.machine);
  const wrong = wrongOutcomes(run);
  const { bound, excesses } = boundOf(run, byKey, expectation);
  const used = usageOf(run, byKey);
  const times = timesOf(run);
  const counted = [...wrong.slice(0, MOST_WRONG_TOLD), ...excesses];
  const timed = [
    ...missedTooOften(run, expectation),
    ...wrongAbsences(run, expectation),
    ...tooLate(times),
    ...tooLittleUsed(used, expectation),
  ];
  return {
    fault: run.name,
    missed: Math.max(...run.reports.map(({ missed }) => missed)),
    wrong: wrong.length,
    admitted: admittedOf(run, byKey),
    ...{ bound, used, noise },
    ...times,
    shortfalls: noise === undefined ? [...counted, ...timed] : counted,
  };
}

function boundOf(
  { reports, keys, beganMs, endedMs }: FaultRun,
  byKey: ByKey,
  { forgets = 0, jumps = 0, silent = false }: Expectation,
): { bound: Reading; excesses: string[] } {
  // Where the store answers nobody, all together stay at the limit, however one after another they leave it and return.
  const isApart = ({ fromMs, toMs }: Span): boolean => !silent || toMs < beganMs || fromMs > endedMs;
  const apart = new ApartTime(
    reports.map(({ decisions }) => spansAlone(decisions).filter(isApart)),
    reports.map(({ stats }) => SHARE_SLACK * stats.share),
  );
  let bound: Reading = { most: 0, stated: 0 };
  const excesses: string[] = [];
  for (const { key, policy, admissions } of bucketsOf(keys, byKey)) {
    const { most, stated, within } = readBound(admissions, policy, apart, { forgets, jumps });
    if (most > bound.most) bound = { most, stated };
    if (!within) excesses.push(`${key}, ${policy.name}: ${most.toFixed(2)} b above r x T; ${stated.toFixed(2)} stated`);
  }
  return { bound, excesses };
}

interface Bucket {
  readonly key: string;
  readonly policy: PolicyOptions;
  readonly admissions: readonly Admission[];
}

/** Each bucket with what went in on it. */
function bucketsOf(keys: FaultRun["keys"], byKey: ByKey): Bucket[] {
  const buckets: Bucket[] = [];
  const common = new Map<string, { policy: PolicyOptions; admissions: Admission[] }>();
  for (const { key, policies, common: second } of keys) {
    const admissions = byKey.get(key) ?? [];
    for (const policy of policies) buckets.push({ key, policy, admissions });
    if (second === undefined) continue;
    const known = common.get(second.key) ?? { policy: second.policy, admissions: [] };
    known.admissions.push(...admissions);
    common.set(second.key, known);
  }
  for (const [key, bucket] of common) buckets.push({ key, ...bucket });
  return buckets;
}

function admittedOf({ reports, keys }: FaultRun, byKey: ByKey): number {
  const starts = reports.flatMap(({ decisions }) => decisions.startedMs[0] ?? []);
  const ends = reports.flatMap(({ decisions }) => decisions.startedMs.at(-1) ?? []);
  const seconds = (Math.max(...ends) - Math.min(...starts)) / 1000;
  let most = 0;
  for (const { policies } of keys)
    most += Math.min(...policies.map((policy) => (policy.burst ?? policy.limit) + rateOf([policy]) * seconds));
  return [...byKey.values()].reduce((sum, { length }) => sum + length, 0) / most;
}
