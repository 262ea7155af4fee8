import { type DemoParts, type OpenParts, withParts } from "./demo-parts.ts";
import type { DemoDocument, DemoRun } from "./document.ts";
import type { Mode } from "./modes.ts";
import type { DemoOptions } from "./options.ts";
import type { ProgressLine } from "./progress.ts";
import { type RunParts, runMode, warmMode } from "./run-mode.ts";
import { describeSkipped } from "./runnable-modes.ts";

/**
 * Opens the parts, runs every mode of the options one after another, and closes the parts again, whatever happens.
 * @throws the signal's reason when aborted; an Error when something could not start, or ended too early.
 */
export function runDemo(
  options: DemoOptions,
  progress: ProgressLine,
  outer: AbortSignal,
  open: OpenParts,
): Promise<DemoDocument> {
  return withParts(options, progress, outer, open, (parts) => runModes(options, progress, parts));
}

async function runModes(options: DemoOptions, progress: ProgressLine, parts: DemoParts): Promise<DemoDocument> {
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
