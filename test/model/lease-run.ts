import { Broken } from "./broken.ts";
import { LeaseRandom } from "./lease-random.ts";
import { SHIPPED_RULES, type StoreRules } from "./lease-rules.ts";
import { drawSetup, type RunSetup, type SetupOptions, type StepKind } from "./lease-setups.ts";
import { type HolderTwins, LeaseSteps } from "./lease-steps.ts";
import type { LeaseStore, Operation } from "./lease-store.ts";
import { describeSetup } from "./lease-story.ts";
import { LeaseWorld } from "./lease-world.ts";

/** Runs of {@link STEPS_PER_RUN} steps; `SPILLWAY_LEASE_RUNS=20000` is the full measure. */
export const RUNS: number = positive("SPILLWAY_LEASE_RUNS", 2000);
/** The seed of the first run; the next has the next number. */
export const FIRST_SEED: number = positive("SPILLWAY_LEASE_SEED", Date.now() % 2 ** 31);
export const STEPS_PER_RUN = 300;

interface PlannedStep {
  readonly kind: StepKind;
  readonly seed: number;
}

/** What is run: how setups are drawn, and what of the shipped rules is replaced by a broken twin. */
export interface LeaseRunOptions {
  readonly setups?: SetupOptions;
  readonly rules?: StoreRules;
  readonly twins?: HolderTwins;
  readonly steps?: number;
  readonly onOperation?: (operation: Operation, store: LeaseStore) => void;
  /** Counts what was met, so that a search which met nothing is seen. */
  readonly tally?: LeaseTally;
}

/** What runs met, all together. */
export interface LeaseTally {
  /** Runs in which the bound was reached to the last unit. */
  full: number;
  /** Leased tokens that were spent. */
  spent: number;
  calls: number;
}

function tally(all: LeaseTally | undefined, { isFull, spent, calls }: LeaseWorld): void {
  if (all === undefined) return;
  all.full += isFull ? 1 : 0;
  all.spent += spent;
  all.calls += calls;
}

export interface Failure {
  readonly seed: number;
  /** What broke, and the shortest history found that breaks it. */
  readonly story: string;
}

/** Does one run; tells what broke, if anything did. */
export async function runOnce(seed: number, options: LeaseRunOptions = {}): Promise<Failure | undefined> {
  const random = new LeaseRandom(seed);
  const setup = drawSetup(random, options.setups);
  const kinds = random.weighted(setup.weights, options.steps ?? STEPS_PER_RUN);
  const plan = kinds.map((kind): PlannedStep => ({ kind, seed: random.whole(0, 2 ** 32 - 1) }));
  if ((await carryOut(seed, setup, plan, options)) === undefined) return undefined;
  return { seed, story: await shortestStory(seed, setup, plan, options) };
}

/** Runs seeds until one breaks. */
export async function findFailure(
  runs: number,
  options: LeaseRunOptions,
  firstSeed = FIRST_SEED,
): Promise<Failure | undefined> {
  for (let run = 0; run < runs; run++) {
    const failure = await runOnce(firstSeed + run, options);
    if (failure !== undefined) return failure;
  }
  return undefined;
}

interface Breakage {
  readonly message: string;
  /** How many steps it took. */
  readonly steps: number;
}

async function carryOut(
  seed: number,
  setup: RunSetup,
  plan: readonly PlannedStep[],
  options: LeaseRunOptions,
  tell?: (event: string) => void,
): Promise<Breakage | undefined> {
  const random = new LeaseRandom(seed);
  let steps = 0;
  const { random: systemRandom } = Math;
  // The breaker spreads its probes by chance; a seed must repeat that too.
  Math.random = () => random.next();
  try {
    const { rules = SHIPPED_RULES, onOperation } = options;
    const timed = tell && ((event: string): void => tell(`${String(world.nowUs).padStart(8)} us: ${event}`));
    const world: LeaseWorld = new LeaseWorld(setup, random, { rules, tell: timed, onOperation });
    const run = new LeaseSteps(world, options.twins ?? {});
    for (const step of plan) {
      random.restart(step.seed);
      steps++;
      await run.run(step.kind);
    }
    await run.end();
    tally(options.tally, world);
    return undefined;
  } catch (error) {
    const message = error instanceof Broken ? error.message : String((error as Error)?.stack ?? error);
    return { message, steps };
  } finally {
    Math.random = systemRandom;
  }
}

/** Leaves steps out as long as what is left still breaks. */
async function shortestStory(
  seed: number,
  setup: RunSetup,
  plan: readonly PlannedStep[],
  options: LeaseRunOptions,
): Promise<string> {
  const { onOperation: _, ...quiet } = options;
  const breaks = (steps: readonly PlannedStep[]): Promise<Breakage | undefined> => carryOut(seed, setup, steps, quiet);
  let shortest = [...plan];
  let last = await breaks(shortest);
  shortest = shortest.slice(0, last?.steps ?? shortest.length);
  for (let size = Math.ceil(shortest.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < shortest.length; ) {
      const shorter = [...shortest.slice(0, start), ...shortest.slice(start + size)];
      const breakage = await breaks(shorter);
      if (breakage === undefined) start += size;
      else [shortest, last] = [shorter.slice(0, breakage.steps), breakage];
    }
  }
  const story: string[] = [];
  await carryOut(seed, setup, shortest, quiet, (event) => story.push(event));
  return `${describeSetup(setup)}\n${story.join("\n")}\n  ${last?.message}`;
}

/** Fails with the seed that breaks and the shortest history of it. */
export async function requireNoFailure(name: string, runs: number, options: LeaseRunOptions = {}): Promise<void> {
  const started = performance.now();
  const met: LeaseTally = { full: 0, spent: 0, calls: 0 };
  const failure = await findFailure(runs, { ...options, tally: met });
  if (failure !== undefined)
    throw new Error(
      `${name}: run ${failure.seed} broke; SPILLWAY_LEASE_SEED=${failure.seed} SPILLWAY_LEASE_RUNS=1 finds it again.\n` +
        failure.story,
    );
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  process.stdout.write(
    `leases: ${name}: ${runs} runs of ${options.steps ?? STEPS_PER_RUN} steps within the bound (${met.calls} calls, ` +
      `${met.spent} leased tokens spent, bound reached in ${met.full} runs), seeds from ${FIRST_SEED}, ${seconds} s\n`,
  );
  if (runs >= 100 && (met.full < runs / 4 || met.spent < runs)) throw new Error(`${name}: the runs met too little.`);
}

/** A whole number from the environment. */
export function positive(variable: string, otherwise: number): number {
  const text = process.env[variable];
  if (text === undefined) return otherwise;
  if (!/^[1-9]\d{0,9}$/.test(text)) throw new Error(`${variable} must be a whole number above 0, got "${text}".`);
  return Number(text);
}
