import { availableParallelism, loadavg } from "node:os";
import { expect, it } from "vitest";
import { type ChaosRow, type Expectation, rowOf } from "./chaos-row.ts";
import { type Fault, type FaultRun, playFault } from "./fault.ts";

declare module "vitest" {
  interface TaskMeta {
    chaos?: ChaosRow;
  }
}

const MOST_ATTEMPTS = 3;
/** A machine on which a process that wants to run is kept from it for so long gives no fair reading of a 50 ms deadline. */
const BUSY_LATE_MS = 20;

/**
 * A test that plays one fault and holds it to the marks. A run that falls short is played again when the machine was busy with
 * other things, and the row says how often.
 */
export function faultTest(
  title: string,
  fault: Fault,
  expectation: Expectation,
  check?: (run: FaultRun) => void,
): void {
  it(title, async ({ task }) => {
    for (let attempt = 1; ; attempt++) {
      const run = await playFault(fault);
      const row = rowOf(run, expectation, attempt);
      task.meta.chaos = row;
      if (row.shortfalls.length > 0 && attempt < MOST_ATTEMPTS && wasBusy(run)) continue;
      expect(row.shortfalls).toEqual([]);
      check?.(run);
      return;
    }
  });
}

function wasBusy({ machineLateMs }: FaultRun): boolean {
  return machineLateMs > BUSY_LATE_MS || (loadavg()[0] ?? 0) > availableParallelism();
}
