import fc from "fast-check";
import { type PlanOptions, stepPlan } from "./plans.ts";
import type { Setup } from "./setups.ts";
import { Step } from "./steps.ts";
import { type Driver, World } from "./world.ts";

/** Random steps of each suite; `SPILLWAY_MODEL_STEPS=20000` is the full measure. */
export const STEPS: number = positive("SPILLWAY_MODEL_STEPS", 4000);
const SEED: number = positive("SPILLWAY_MODEL_SEED", Date.now() % 2 ** 31);
const STEPS_PER_RUN = 80;

export interface ModelRun {
  readonly name: string;
  readonly setups: fc.Arbitrary<Setup>;
  readonly plans: PlanOptions;
  /** A store without buckets, for one run. */
  open(): Promise<Driver> | Driver;
  readonly steps?: number;
  readonly seed?: number;
  /** Stops at the first difference instead of looking for the shortest run that shows one. */
  readonly endOnFailure?: boolean;
}

/** How many steps agreed, and the report of the first run that did not. */
export interface ModelOutcome {
  readonly steps: number;
  readonly failure: string | undefined;
}

/** Runs random steps on a store and its model until enough have agreed, or one did not. */
export async function runModel({ setups, plans, open, ...options }: ModelRun): Promise<ModelOutcome> {
  const wanted = options.steps ?? STEPS;
  const seed = options.seed ?? SEED;
  let steps = 0;
  const properties = plans.moods.map((mood) => {
    const step = stepPlan(plans.leases, mood).map((plan) => new Step(plan, () => steps++));
    const commands = fc.commands([step], { maxCommands: STEPS_PER_RUN, size: "max" });
    return fc.asyncProperty(setups, commands, async (setup, run) => {
      const world = new World(await open(), setup);
      await fc.asyncModelRun(() => ({ model: world, real: world }), run);
    });
  });
  for (let round = 0; steps < wanted; round++) {
    const details = await fc.check(properties[round % properties.length] as (typeof properties)[number], {
      seed: seed + round,
      numRuns: 10,
      endOnFailure: options.endOnFailure ?? false,
      interruptAfterTimeLimit: 60_000,
    });
    if (details.failed) return { steps, failure: await describeFailure(details) };
  }
  return { steps, failure: undefined };
}

/** The run, and the first difference in it. */
async function describeFailure(
  details: fc.RunDetails<[Setup, Iterable<fc.AsyncCommand<World, World>>]>,
): Promise<string> {
  const { errorInstance } = details;
  const difference = errorInstance instanceof Error ? `${errorInstance.name}: ${errorInstance.message}` : errorInstance;
  return `${await fc.asyncDefaultReportMessage(details)}\n${difference}`;
}

/** Fails with the shortest run that shows a difference, and the seed that finds it again. */
export async function requireModel(run: ModelRun): Promise<void> {
  const started = performance.now();
  const { steps, failure } = await runModel(run);
  if (failure !== undefined)
    throw new Error(
      `${run.name} differs from the model (SPILLWAY_MODEL_SEED=${run.seed ?? SEED} finds it again).\n${failure}`,
    );
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  process.stdout.write(`model: ${run.name}: ${steps} random steps agree, seed ${run.seed ?? SEED}, ${seconds} s\n`);
}

function positive(variable: string, otherwise: number): number {
  const text = process.env[variable];
  if (text === undefined) return otherwise;
  if (!/^[1-9]\d{0,9}$/.test(text)) throw new Error(`${variable} must be a whole number above 0, got "${text}".`);
  return Number(text);
}
