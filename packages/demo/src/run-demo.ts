import type { StoreDescription } from "./demo-store.ts";
import type { DemoDocument, DemoRun } from "./document.ts";
import { type Mode, modeNamed } from "./modes.ts";
import type { DemoOptions } from "./options.ts";
import type { ProgressLine } from "./progress.ts";
import { type RunParts, runMode, warmMode } from "./run-mode.ts";
import { describeSkipped, type ModeChoice } from "./runnable-modes.ts";

/** What the opening of the parts has at hand. */
export interface Opening {
  readonly options: DemoOptions;
  readonly modes: readonly Mode[];
  readonly progress: ProgressLine;
  /** Aborted when the demo has to stop. */
  readonly signal: AbortSignal;
  /** Registers what ends a part; the last one opened is closed first. */
  onClose(close: () => Promise<void>): void;
  /** Stops the demo: a part is gone that it needs. */
  onLost(error: Error): void;
}

/** What a demo runs on. */
export interface DemoParts extends Omit<RunParts, "onProgress" | "note"> {
  readonly store: StoreDescription | undefined;
  readonly choice: ModeChoice;
}

/**
 * Opens the parts, runs every mode of the options one after another, and closes the parts again, whatever happens.
 * @throws the signal's reason when aborted; an Error when something could not start, or ended too early.
 */
export async function runDemo(
  options: DemoOptions,
  progress: ProgressLine,
  outer: AbortSignal,
  open: (opening: Opening) => Promise<DemoParts>,
): Promise<DemoDocument> {
  const closers: (() => Promise<void>)[] = [];
  const lost = new AbortController();
  try {
    const parts = await open({
      options,
      modes: options.modes.map(modeNamed),
      progress,
      signal: AbortSignal.any([outer, lost.signal]),
      onClose: (close) => closers.push(close),
      onLost: (error) => lost.abort(error),
    });
    for (const skipped of parts.choice.skipped) progress.note(describeSkipped(skipped));
    const startedAt = new Date().toISOString();
    const runs: DemoRun[] = [];
    for (const mode of parts.choice.modes) {
      progress.say(`${mode.name}: warming ${options.workers} workers`);
      await warmMode(mode, parts);
      const onProgress = progressOf(mode, options, progress);
      runs.push(await runMode(mode, options, { ...parts, onProgress, note: (text) => progress.note(text) }, runs));
    }
    return documentOf(options, parts, startedAt, runs);
  } finally {
    progress.clear();
    for (const close of closers.reverse()) await close();
  }
}

function progressOf(mode: Mode, options: DemoOptions, progress: ProgressLine): RunParts["onProgress"] {
  return ({ elapsedMs, offered, admitted }) => {
    const elapsed = Math.min(options.seconds, elapsedMs / 1000).toFixed(1);
    progress.update(`${mode.name}: ${elapsed} of ${options.seconds} s, ${offered} sent, ${admitted} admitted`);
  };
}

function documentOf(
  options: DemoOptions,
  { store, choice }: DemoParts,
  startedAt: string,
  runs: readonly DemoRun[],
): DemoDocument {
  const { limit, period, periodMs, burst, seconds, workers, offeredPerSecond, seed, connections } = options;
  return {
    limit,
    period,
    periodMs,
    burst,
    seconds,
    workers,
    offeredPerSecond,
    seed,
    connection: connections,
    store: store === undefined ? null : { kind: store.kind, version: store.version, from: store.from },
    node: process.version,
    startedAt,
    runs,
    skipped: choice.skipped,
  };
}
