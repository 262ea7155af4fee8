import type { Workbench } from "./workbench.ts";

/** What one round is given. */
export interface Round {
  /** From 0, the warm-up round. No two rounds of a heat share one. */
  readonly number: number;
  /** How long to work, for contestants that work by time. */
  readonly ms: number;
}

/** What one round did. */
export interface Work {
  /** Decisions, calls or keys: what the case counts. */
  readonly operations: number;
  /** The part of the round that counts, where a contestant has to pause in between; the whole round when left out. */
  readonly wallMs?: number;
  /** CPU time of that part. */
  readonly cpuMs?: number;
}

/** One way to answer a question. All contestants of a heat take turns in one process. */
export interface Contestant {
  readonly name: string;
  /** Tries whether the answers are right, before anything is timed. Returns what is wrong, which disqualifies. */
  check(): Promise<string | undefined>;
  /** Not timed. */
  prepare?(round: Round): Promise<void> | void;
  /** Timed. @throws Disqualified when an answer turns out wrong only under load. */
  run(round: Round): Promise<Work> | Work;
  close?(): Promise<void>;
}

/** An answer was wrong: what is fast and wrong is not timed. */
export class Disqualified extends Error {
  override readonly name = "Disqualified";
}

/** A round as it was measured. */
export interface Sample {
  readonly operations: number;
  readonly wallMs: number;
  /** CPU time of this process, all its threads included. */
  readonly cpuMs: number;
  /** How much each counter of the heat went up. */
  readonly counted: Readonly<Record<string, number>>;
}

/** A promise that a case is held to. The ratio is always ours / peer, in the unit of the case. */
export type Mark =
  | { readonly peer: string; readonly atLeast: number }
  | { readonly peer: string; readonly atMost: number }
  | { readonly oursBelow: number };

/** One figure in which contestants of a heat are compared. */
export interface CaseDefinition {
  /** The question's name, with `/` and the point on its axis where there are several. */
  readonly name: string;
  readonly unit: string;
  readonly better: "more" | "less";
  /** Names of contestants. */
  readonly ours: string;
  readonly peers: readonly string[];
  value(sample: Sample): number;
  readonly marks?: readonly Mark[];
}

/** Contestants that are timed in turns, and the figures that are read from it. */
export interface Heat {
  readonly contestants: readonly Contestant[];
  readonly cases: readonly CaseDefinition[];
  /** Rounds of this heat, where the usual number would be too slow or too few. */
  readonly rounds?: number;
  /** Read before and after each round, outside the timing; samples get the differences. */
  counters?(): Promise<Readonly<Record<string, number>>>;
}

/** Something worth measuring. */
export interface Question {
  readonly name: string;
  /** In words, as the report prints it. */
  readonly asks: string;
  /** The heats, opened one after another: each is closed before the next is asked for. */
  heats(bench: Workbench): readonly (() => Promise<Heat>)[];
}

/** `operations` a second. */
export function perSecond({ operations, wallMs }: Sample): number {
  return (operations / wallMs) * 1000;
}

/** Nanoseconds an operation. */
export function nsEach({ operations, wallMs }: Sample): number {
  return (wallMs / operations) * 1e6;
}
