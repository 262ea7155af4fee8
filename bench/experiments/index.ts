import { collapse } from "./collapse.ts";
import { counting } from "./counting.ts";
import type { Experiment } from "./experiment.ts";
import { shedding } from "./shedding.ts";

/** All experiments, in the order in which they run. */
export const EXPERIMENTS: readonly Experiment[] = [counting, collapse, shedding];
