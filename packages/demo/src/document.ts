import type { ConnectionMode } from "./connection-mode.ts";
import type { StoreDescription } from "./demo-store.ts";
import type { Mark } from "./marks.ts";
import type { RunFigures } from "./measure.ts";
import type { SkippedMode } from "./runnable-modes.ts";

/** One mode's figures and what they had to show. */
export interface DemoRun extends RunFigures {
  readonly marks: readonly Mark[];
  /** How often it was measured; more than once when the machine was too busy, and then the last one counts. */
  readonly attempts: number;
}

/** What `--json` prints and the report shows. */
export interface DemoDocument {
  readonly limit: number;
  readonly period: string;
  readonly periodMs: number;
  readonly burst: number;
  readonly seconds: number;
  readonly workers: number;
  readonly offeredPerSecond: number;
  /** Of the arrival times; the same for every mode. */
  readonly seed: number;
  /** How requests travel. */
  readonly connection: ConnectionMode;
  /** `null` when no mode needed one. */
  readonly store: StoreDescription | null;
  readonly node: string;
  /** When the first mode started, as ISO 8601. */
  readonly startedAt: string;
  readonly runs: readonly DemoRun[];
  /** Modes that were asked for and could not run. */
  readonly skipped: readonly SkippedMode[];
}

/** What fell short: one line per mark that was missed, with the mode's name. Empty when all is well. */
export function missedMarks(document: DemoDocument): string[] {
  return document.runs.flatMap((run) =>
    run.marks.filter((mark) => !mark.held).map((mark) => `${run.mode}: ${mark.text}`),
  );
}
