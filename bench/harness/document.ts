import type { HeatResult } from "./heat.ts";
import type { CaseDefinition, Mark, Sample } from "./question.ts";
import { type Summary, summaryOf } from "./statistics.ts";

/** What `--json` prints. */
export interface BenchDocument {
  readonly cases: readonly CaseResult[];
  readonly quick: boolean;
  readonly machine: Readonly<Record<string, string | number>>;
  readonly versions: Readonly<Record<string, string>>;
}

/** One figure of all its contestants. */
export interface CaseResult {
  readonly name: string;
  readonly question: string;
  readonly unit: string;
  readonly better: "more" | "less";
  /** Who stands under `ours`. */
  readonly contestant: string;
  /** Median over the rounds; `null` when disqualified. */
  readonly ours: number | null;
  readonly peers: Readonly<Record<string, number>>;
  /** Median over the rounds of ours / peer within one round, in the unit of the case. */
  readonly ratios: Readonly<Record<string, number>>;
  /** The middle half of the rounds, by contestant. */
  readonly spread: Readonly<Record<string, readonly [number, number]>>;
  /** Microseconds of CPU time of this process an operation, by contestant: median over the rounds. */
  readonly cpuUs: Readonly<Record<string, number>>;
  readonly rounds: number;
  readonly disqualified: Readonly<Record<string, string>>;
  readonly marks: readonly MarkResult[];
}

/** A promise and whether this run kept it. */
export interface MarkResult {
  readonly text: string;
  readonly met: boolean;
}

/** Reads a case out of a heat. */
export function caseResult(question: string, definition: CaseDefinition, heat: HeatResult): CaseResult {
  const { name, unit, better, ours, peers } = definition;
  const names = [ours, ...peers];
  const timed = names.filter((contestant) => (heat.samples.get(contestant)?.length ?? 0) > 0);
  const valuesOf = (contestant: string): number[] =>
    samplesOf(heat, contestant).map((sample) => definition.value(sample));
  const summaries = new Map(timed.map((contestant) => [contestant, summaryOf(valuesOf(contestant))]));
  const rivals = peers.filter((peer) => summaries.has(peer));
  const ratios = summaries.has(ours)
    ? Object.fromEntries(rivals.map((peer) => [peer, ratioOf(valuesOf(ours), valuesOf(peer))]))
    : {};
  const median = summaries.get(ours)?.median;
  // Who was disqualified is no measure; where Spillway was, every mark is missed.
  const isJudged = (mark: Mark): boolean => "oursBelow" in mark || summaries.has(mark.peer);
  return {
    name,
    question,
    unit,
    better,
    contestant: ours,
    ours: median === undefined ? null : rounded(median),
    peers: Object.fromEntries(rivals.map((peer) => [peer, rounded((summaries.get(peer) as Summary).median)])),
    ratios,
    spread: Object.fromEntries(
      [...summaries].map(([who, { spread }]) => [who, spread.map(rounded) as [number, number]]),
    ),
    cpuUs: Object.fromEntries(
      timed.map((who) => [who, rounded(summaryOf(samplesOf(heat, who).map(cpuUsEach)).median)]),
    ),
    rounds: Math.max(0, ...timed.map((who) => samplesOf(heat, who).length)),
    disqualified: Object.fromEntries([...heat.disqualified].filter(([who]) => names.includes(who))),
    marks: (definition.marks ?? []).filter(isJudged).map((mark) => judge(mark, median, ratios)),
  };
}

function samplesOf(heat: HeatResult, contestant: string): readonly Sample[] {
  return heat.samples.get(contestant) ?? [];
}

function cpuUsEach({ cpuMs, operations }: Sample): number {
  return (cpuMs * 1000) / operations;
}

/** Round by round, since the rounds of two contestants that stand side by side met the same machine. */
function ratioOf(ours: readonly number[], theirs: readonly number[]): number {
  const pairs = ours.slice(0, theirs.length).map((value, round) => value / (theirs[round] as number));
  return rounded(summaryOf(pairs).median);
}

function judge(mark: Mark, ours: number | undefined, ratios: Readonly<Record<string, number>>): MarkResult {
  if ("oursBelow" in mark) return { text: `below ${mark.oursBelow}`, met: ours !== undefined && ours < mark.oursBelow };
  const ratio = ratios[mark.peer];
  if ("atLeast" in mark)
    return {
      text: `at least ${rounded(mark.atLeast)} x ${mark.peer}`,
      met: ratio !== undefined && ratio >= mark.atLeast,
    };
  return { text: `at most ${rounded(mark.atMost)} x ${mark.peer}`, met: ratio !== undefined && ratio <= mark.atMost };
}

/** To five figures: more is noise. */
function rounded(value: number): number {
  return Number(value.toPrecision(5));
}
