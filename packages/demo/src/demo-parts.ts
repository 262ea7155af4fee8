import type { StoreDescription } from "./demo-store.ts";
import { type Mode, modeNamed } from "./modes.ts";
import type { DemoOptions } from "./options.ts";
import type { ProgressLine } from "./progress.ts";
import type { RunParts } from "./run-mode.ts";
import type { ModeChoice } from "./runnable-modes.ts";

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

/** Opens parts, and registers with the opening what has to be closed again. */
export type OpenParts = (opening: Opening) => Promise<DemoParts>;

/**
 * Opens the parts, uses them, and closes them again, whatever happens.
 * @param outer aborted to stop.
 * @param use gets a signal that is aborted when the demo has to stop, or has lost a part that it needs.
 * @throws the signal's reason when aborted; an Error when something could not start, or ended too early.
 */
export async function withParts<T>(
  options: DemoOptions,
  progress: ProgressLine,
  outer: AbortSignal,
  open: OpenParts,
  use: (parts: DemoParts, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const closers: (() => Promise<void>)[] = [];
  const lost = new AbortController();
  const signal = AbortSignal.any([outer, lost.signal]);
  try {
    const parts = await open({
      options,
      modes: options.modes.map(modeNamed),
      progress,
      signal,
      onClose: (close) => closers.push(close),
      onLost: (error) => lost.abort(error),
    });
    return await use(parts, signal);
  } finally {
    progress.clear();
    for (const close of closers.reverse()) await close();
  }
}
