import { type DemoStore, freshName, openDemoStore } from "./demo-store.ts";
import type { DemoDocument, DemoRun } from "./document.ts";
import { GeneratorProcess } from "./generator-process.ts";
import { type Mode, modeNamed } from "./modes.ts";
import type { DemoOptions } from "./options.ts";
import type { ProgressLine } from "./progress.ts";
import { RedisCallCounter } from "./redis-calls.ts";
import { type RunParts, runMode, warmMode } from "./run-mode.ts";
import { WorkerFleet } from "./worker-fleet.ts";

/** What was opened, to be closed in the reverse order. */
type Closers = (() => Promise<void>)[];

/**
 * Runs every mode of the options, one after another, on the same workers. Whatever happens, all processes that it started
 * have ended when it returns or throws.
 * @throws the signal's reason when aborted; an Error when something could not start, or ended too early.
 */
export async function runDemo(options: DemoOptions, progress: ProgressLine, outer: AbortSignal): Promise<DemoDocument> {
  const closers: Closers = [];
  const lost = new AbortController();
  const signal = AbortSignal.any([outer, lost.signal]);
  try {
    const modes = options.modes.map(modeNamed);
    const store = modes.some((mode) => mode.needsRedis) ? await openStore(progress, closers) : undefined;
    signal.throwIfAborted();
    const parts = await startParts(options, store, progress, closers, signal, (error) => lost.abort(error));
    const startedAt = new Date().toISOString();
    const runs: DemoRun[] = [];
    for (const mode of modes) {
      progress.say(`${mode.name}: warming ${options.workers} workers`);
      await warmMode(mode, parts);
      runs.push(await runMode(mode, options, { ...parts, onProgress: progressOf(mode, options, progress) }));
    }
    return documentOf(options, store, startedAt, runs);
  } finally {
    progress.clear();
    for (const close of closers.reverse()) await close();
  }
}

async function openStore(progress: ProgressLine, closers: Closers): Promise<DemoStore> {
  progress.say("opening Redis");
  const store = await openDemoStore((line) => progress.note(line));
  closers.push(() => store.close());
  return store;
}

async function startParts(
  options: DemoOptions,
  store: DemoStore | undefined,
  progress: ProgressLine,
  closers: Closers,
  signal: AbortSignal,
  onLost: (error: Error) => void,
): Promise<Omit<RunParts, "onProgress">> {
  const counter = store === undefined ? undefined : await RedisCallCounter.connect(store.url, onLost);
  if (counter !== undefined) closers.push(async () => counter.close());
  const generator = new GeneratorProcess(signal, onLost);
  closers.push(() => generator.stop());
  progress.say(`starting ${options.workers} workers`);
  const settings = {
    modes: options.modes,
    policy: { name: "demo", limit: options.limit, period: options.periodMs, burst: options.burst },
    workers: options.workers,
    prefix: `spillway-demo:${freshName()}`,
    redisUrl: store?.url,
  };
  const fleet = await WorkerFleet.start(settings, signal, onLost);
  closers.push(() => fleet.stop());
  return { fleet, generator, counter };
}

function progressOf(mode: Mode, options: DemoOptions, progress: ProgressLine): RunParts["onProgress"] {
  return ({ elapsedMs, offered, admitted }) => {
    const elapsed = Math.min(options.seconds, elapsedMs / 1000).toFixed(1);
    progress.update(`${mode.name}: ${elapsed} of ${options.seconds} s, ${offered} sent, ${admitted} admitted`);
  };
}

function documentOf(
  options: DemoOptions,
  store: DemoStore | undefined,
  startedAt: string,
  runs: readonly DemoRun[],
): DemoDocument {
  const { limit, period, periodMs, burst, seconds, workers, offeredPerSecond, seed } = options;
  return {
    limit,
    period,
    periodMs,
    burst,
    seconds,
    workers,
    offeredPerSecond,
    seed,
    connection: "one per request",
    store: store === undefined ? null : { kind: store.kind, version: store.version, from: store.from },
    node: process.version,
    startedAt,
    runs,
  };
}
