import type { DecisionSource } from "spillway";
import type { DecisionColumns, JournalLine } from "./load-fleet.ts";

/** From when to when; milliseconds of the clock that all processes of this machine share. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** One admission; it took place somewhere in its span: a call was on its way before and its reply after. */
export type Admission = Span;

const WITHOUT_STORE: ReadonlySet<DecisionSource> = new Set(["backstop", "open", "closed"]);
/** Decisions without the store that are no further apart belong to one absence. */
const PAUSE_MS = 250;

/** The admissions of all processes, by key. */
export function admissionsByKey(
  decisions: readonly DecisionColumns[],
  journal: readonly JournalLine[],
): Map<string, Admission[]> {
  const byKey = new Map<string, Admission[]>();
  const add = (key: string, fromMs: number, tookMs: number): void => {
    const known = byKey.get(key);
    const admission = { fromMs, toMs: fromMs + tookMs };
    if (known === undefined) byKey.set(key, [admission]);
    else known.push(admission);
  };
  for (const { keys, keyOf, startedMs, tookMs, allowed } of decisions)
    for (const [i, from] of startedMs.entries())
      if (allowed[i] === 1) add(keys[keyOf[i] as number] as string, from, tookMs[i] as number);
  for (const { key, startedMs, tookMs } of journal) add(key, startedMs, tookMs);
  return byKey;
}

/** Indices of the decisions that were made without the store. */
export function degradedIndices({ sources }: DecisionColumns): number[] {
  return sources.flatMap((source, i) => (WITHOUT_STORE.has(source) ? i : []));
}

/** When one process decided without the store. */
export function spansAlone(decisions: DecisionColumns): Span[] {
  const spans: { fromMs: number; toMs: number }[] = [];
  const each = degradedIndices(decisions).map((i) => {
    const fromMs = decisions.startedMs[i] as number;
    return { fromMs, toMs: fromMs + (decisions.tookMs[i] as number) };
  });
  each.sort((a, b) => a.fromMs - b.fromMs);
  for (const span of each) {
    const last = spans.at(-1);
    if (last === undefined || span.fromMs > last.toMs + PAUSE_MS) spans.push({ ...span });
    else last.toMs = Math.max(last.toMs, span.toMs);
  }
  return spans;
}
