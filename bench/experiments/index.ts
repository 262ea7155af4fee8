import { breaker } from "./breaker.ts";
import { collapse } from "./collapse.ts";
import { cost } from "./cost.ts";
import { counting } from "./counting.ts";
import type { Experiment } from "./experiment.ts";
import { hops } from "./hops.ts";
import { httpShedding } from "./http-shedding.ts";
import { leakyLine } from "./leaky-line.ts";
import { memory } from "./memory.ts";
import { policies } from "./policies.ts";
import { queue } from "./queue.ts";
import { retries } from "./retries.ts";
import { shedding } from "./shedding.ts";
import { slowdown } from "./slowdown.ts";
import { storm } from "./storm.ts";
import { sweep } from "./sweep.ts";
import { traps } from "./traps.ts";
import { waitSweep } from "./wait-sweep.ts";

/**
 * All experiments, in the order in which they run. `cost` is the first: what has worked through floods in this process before
 * takes a quarter longer.
 */
export const EXPERIMENTS: readonly Experiment[] = [
  ...[cost, counting, collapse, shedding, queue, slowdown],
  ...[httpShedding, sweep, waitSweep, leakyLine, traps, memory],
  ...[storm, retries, policies, hops, breaker],
];
