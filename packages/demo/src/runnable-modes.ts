import type { DemoStore } from "./demo-store.ts";
import type { Mode } from "./modes.ts";

/** A mode that was asked for and does not run. */
export interface SkippedMode {
  readonly mode: string;
  readonly reason: string;
}

/** Which modes can run with a store, and why the others cannot. */
export interface ModeChoice {
  readonly modes: readonly Mode[];
  readonly skipped: readonly SkippedMode[];
}

/** @param store `undefined` when no mode shares one. @throws Error when no mode is left. */
export function runnableModes(
  wanted: readonly Mode[],
  store: Pick<DemoStore, "kind" | "isOwn"> | undefined,
): ModeChoice {
  const reason = whyNoOutage(store);
  const isSkipped = (mode: Mode): boolean => mode.outage !== undefined && reason !== undefined;
  const modes = wanted.filter((mode) => !isSkipped(mode));
  const skipped = wanted.filter(isSkipped).map(({ name }) => ({ mode: name, reason: reason ?? "" }));
  if (modes.length === 0) throw new Error(`Nothing is left to run: ${skipped.map(describeSkipped).join(" ")}`);
  return { modes, skipped };
}

/** In words for the user. */
export function describeSkipped({ mode, reason }: SkippedMode): string {
  return `${mode} is left out: ${reason}.`;
}

function whyNoOutage(store: Pick<DemoStore, "kind" | "isOwn"> | undefined): string | undefined {
  if (store === undefined) return undefined;
  if (store.kind === "embedded")
    return "the embedded store is reached through the workers' own channel, which cannot be cut";
  return store.isOwn
    ? undefined
    : "it cuts the way to Redis, and the demo does that only with one that it started itself";
}
