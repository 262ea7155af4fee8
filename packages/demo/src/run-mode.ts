import type { CallSampler } from "./call-counter.ts";
import { freshName } from "./demo-store.ts";
import type { DemoRun } from "./document.ts";
import type { Fleet } from "./fleet.ts";
import type { LoadPlan, LoadProgress } from "./generator-messages.ts";
import type { GeneratorProcess } from "./generator-process.ts";
import type { LoadResult } from "./load-result.ts";
import { answeredMark, isUnfair } from "./marks.ts";
import { measure, type RunFigures } from "./measure.ts";
import type { Mode } from "./modes.ts";
import type { DemoOptions } from "./options.ts";
import type { StoreRoute } from "./store-route.ts";

/** Answers that each worker gives in each mode before it is measured. */
const WARM_ANSWERS = 40;
const WARM_ROUNDS = 20;
const ATTEMPTS = 3;

/** What a run works with. */
export interface RunParts {
  readonly fleet: Fleet;
  readonly generator: GeneratorProcess;
  /** `undefined` when the demo runs without a store. */
  readonly calls: CallSampler | undefined;
  /** The ways to the store that this demo made, by mode. */
  readonly routes: ReadonlyMap<string, StoreRoute>;
  onProgress(progress: LoadProgress): void;
  /** Something that the user should know. */
  note(text: string): void;
}

/**
 * Has every worker answer in this mode, so that no measured request pays for compiling code or opening connections.
 * @throws Error naming the workers that did not answer.
 */
export async function warmMode(mode: Mode, { fleet, generator }: Pick<RunParts, "fleet" | "generator">): Promise<void> {
  const answers = new Map(fleet.names.map((name) => [name, 0]));
  const cold = (): string[] => fleet.names.filter((name) => (answers.get(name) ?? 0) < WARM_ANSWERS);
  for (let round = 0; round < WARM_ROUNDS && cold().length > 0; round++) {
    const count = WARM_ANSWERS * cold().length;
    const perWorker = await generator.warm(fleet.urlOf(mode.name), `warm-up-${freshName()}`, count);
    for (const [name, more] of Object.entries(perWorker)) answers.set(name, (answers.get(name) ?? 0) + more);
  }
  if (cold().length > 0) throw new Error(`Workers ${cold().join(", ")} did not answer in mode ${mode.name}.`);
}

/** Measures one mode that is warm: again, a few times at most, when the machine was too busy for a fair measurement. */
export async function runMode(
  mode: Mode,
  options: DemoOptions,
  parts: RunParts,
  earlier: readonly RunFigures[],
): Promise<DemoRun> {
  for (let attempts = 1; ; attempts++) {
    const run = await runOnce(mode, options, parts);
    const marks = [answeredMark(run), ...mode.judge(run, { ...options, shape: options, earlier })];
    const unfair = isUnfair(run, marks);
    if (unfair) parts.note(busyNote(run, attempts < ATTEMPTS ? "measuring again" : "and it stays so"));
    if (!unfair || attempts === ATTEMPTS) return { ...run, marks, attempts };
  }
}

function busyNote({ mode, scheduleError, requestP99Ms }: RunFigures, then: string): string {
  const sent = scheduleError.p99Ms.toFixed(0);
  const answered = requestP99Ms.toFixed(0);
  return `${mode}: this machine is too busy (p99: sent ${sent} ms late, answered after ${answered} ms); ${then}.`;
}

/** One run, with an API key that nobody has used. */
async function runOnce(mode: Mode, options: DemoOptions, parts: RunParts): Promise<RunFigures> {
  const { fleet, calls } = parts;
  await calls?.begin();
  const load = await generateLoad(mode, options, parts);
  const storeCalls = (await calls?.end(options.seconds)) ?? { total: 0, perSecond: [] };
  return measure(mode.name, options, fleet.names, load, storeCalls);
}

async function generateLoad(mode: Mode, options: DemoOptions, parts: RunParts): Promise<LoadResult> {
  const { generator, routes, onProgress } = parts;
  let endRoute = async (): Promise<void> => {};
  const onStarted = (): void => {
    endRoute = routes.get(mode.name)?.begin(options.seconds) ?? endRoute;
  };
  try {
    return await generator.run(planOf(mode, options, parts), { onStarted, onProgress });
  } finally {
    await endRoute();
  }
}

function planOf({ name, outage }: Mode, options: DemoOptions, { fleet }: RunParts): LoadPlan {
  const { offeredPerSecond, seconds, seed, connections, workers } = options;
  const plan = {
    url: fleet.urlOf(name),
    apiKey: `demo-${freshName()}`,
    greetingKey: `greeting-${freshName()}`,
    ratePerSecond: offeredPerSecond,
    seconds,
    seed,
    connections,
    servers: workers,
  };
  if (outage === undefined) return plan;
  return { ...plan, outage: { fromMs: outage.from * seconds * 1000, toMs: outage.to * seconds * 1000 } };
}
