import { availableParallelism, loadavg } from "node:os";
import { expect, it } from "vitest";
import { type ChaosRow, type Expectation, rowOf } from "./chaos-row.ts";
import { type Fault, type FaultRun, pause, playFault, watchLateness } from "./fault.ts";

declare module "vitest" {
  interface TaskMeta {
    chaos?: ChaosRow;
  }
}

const MOST_ATTEMPTS = 3;
/** A machine on which a process that wants to run is kept from it for so long gives no fair reading of a 50 ms deadline. */
const BUSY_LATE_MS = 20;
/** How long a next attempt waits at most for a calmer machine. */
const CALM_WITHIN_S = 15;

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
      const read = rowOf(run, expectation, attempt);
      const row = { ...read, shortfalls: [...read.shortfalls, ...complaintOf(() => check?.(run))] };
      task.meta.chaos = row;
      if (row.shortfalls.length > 0 && attempt < MOST_ATTEMPTS && wasBusy(run)) {
        await calm();
        continue;
      }
      expect(row.shortfalls).toEqual([]);
      return;
    }
  });
}

/** What a failing check says, so that it is part of the row and may be tried again as the marks are. */
function complaintOf(check: () => void): string[] {
  try {
    check();
    return [];
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}

/** Waits for a second in which nobody kept this process from running. */
async function calm(): Promise<void> {
  for (let second = 0; second < CALM_WITHIN_S; second++) {
    const lateness = watchLateness();
    await pause(1_000);
    if (lateness.stop() < BUSY_LATE_MS / 2) return;
  }
}

function wasBusy({ machineLateMs }: FaultRun): boolean {
  return machineLateMs > BUSY_LATE_MS || (loadavg()[0] ?? 0) > availableParallelism();
}
