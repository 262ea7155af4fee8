import { expect, it } from "vitest";
import { type ChaosRow, rowOf, type SkippedRow } from "./chaos-row.ts";
import { type Fault, type FaultRun, playFault } from "./fault.ts";
import { calm } from "./machine-watch.ts";
import type { Expectation } from "./marks.ts";
import { openStandalone, type Stage, type Standalone, type StandaloneOptions } from "./stage.ts";

declare module "vitest" {
  interface TaskMeta {
    chaos?: ChaosRow;
    skipped?: SkippedRow;
  }
}

/** For a table that is to be kept, a machine that was busy is given more time. */
const [MOST_ATTEMPTS, CALM_WITHIN_MS] = process.env.SPILLWAY_CHAOS_WRITE === "1" ? [3, 30_000] : [1, 5_000];

const LONGEST_MS = 150_000;

/** What else a run must show. `quiet` is false on a busy machine, where nothing that needs time is to be judged. */
export type Check = (run: FaultRun, quiet: boolean) => void;

export type StandaloneFault = StandaloneOptions & Fault<Standalone>;

/** A test that plays one fault on one server and holds it to the marks. */
export function faultTest(title: string, fault: StandaloneFault, expectation: Expectation, check?: Check): void {
  faultTestOn(() => openStandalone(fault), title, fault, expectation, check);
}

/** The same on another stage. */
export function faultTestOn<S extends Stage>(
  open: () => Promise<S>,
  title: string,
  fault: Fault<S>,
  expectation: Expectation,
  check?: Check,
): void {
  it(`${fault.name}: ${title}`, { timeout: MOST_ATTEMPTS * LONGEST_MS }, async ({ task, skip }) => {
    if (fault.skip !== undefined) {
      task.meta.skipped = { fault: fault.name, reason: fault.skip };
      skip(fault.skip);
    }
    for (let attempt = 1; ; attempt++) {
      await calm(CALM_WITHIN_MS);
      await using stage = await open();
      const run = await playFault(stage, fault);
      const read = rowOf(run, expectation);
      const complaints = complaintOf(() => check?.(run, read.noise === undefined));
      const row = { ...read, shortfalls: [...read.shortfalls, ...complaints] };
      task.meta.chaos = row;
      expect(row.shortfalls).toEqual([]);
      if (row.noise === undefined || attempt >= MOST_ATTEMPTS) return;
    }
  });
}

/** What a failing check says, so that it is part of the row. */
function complaintOf(check: () => void): string[] {
  try {
    check();
    return [];
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}
