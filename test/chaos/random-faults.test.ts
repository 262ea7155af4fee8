import { PROCESSES } from "./fault.ts";
import { playSequence, sequenceOf, storyOf, timesForgotten } from "./fault-sequence.ts";
import { faultTest } from "./fault-test.ts";

const SEQUENCES = 3;
const WITHIN_MS = 15_000;

const given = process.env.SPILLWAY_CHAOS_SEED;
if (given !== undefined && !/^\d{1,10}$/.test(given))
  throw new Error(`SPILLWAY_CHAOS_SEED must be a whole number such as those that the table shows, got "${given}".`);
const first = given === undefined ? Date.now() % 2 ** 31 : Number(given);

for (let i = 0; i < (given === undefined ? SEQUENCES : 1); i++) {
  const seed = first + i;
  const steps = sequenceOf(seed, WITHIN_MS);
  faultTest(
    `whatever comes after what, the marks hold (SPILLWAY_CHAOS_SEED=${seed} plays it again)`,
    {
      name: `random faults, seed ${seed}`,
      viaProxy: "all",
      stalled: Array.from({ length: PROCESSES }, (_value, index) => index),
      lastsMs: 0,
      begin: (scene) => playSequence(scene, steps),
      end() {},
    },
    { absences: "any", faults: steps.length, forgets: timesForgotten(steps) },
    () => process.stdout.write(`seed ${seed}: ${storyOf(steps)}\n`),
  );
}
