import { cpus } from "node:os";
import { machineMs } from "./server-clock.ts";

/** How much a machine left over while it was watched. */
export interface MachineLoad {
  /** By how much this process, which has little to do, was kept from running at most. */
  readonly lateMs: number;
  /** Part of the time of all its processors in which nothing ran. */
  readonly idle: number;
}

const EVERY_MS = 5;

/** Watches until stopped. */
export function watchMachine(): { stop(): MachineLoad } {
  const before = processorTimes();
  let lateMs = 0;
  let dueMs = machineMs() + EVERY_MS;
  const timer = setInterval(() => {
    const nowMs = machineMs();
    lateMs = Math.max(lateMs, nowMs - dueMs);
    dueMs = nowMs + EVERY_MS;
  }, EVERY_MS);
  return {
    stop() {
      clearInterval(timer);
      const { idle, all } = processorTimes();
      return { lateMs, idle: (idle - before.idle) / Math.max(1, all - before.all) };
    },
  };
}

function processorTimes(): { idle: number; all: number } {
  const sum = { idle: 0, all: 0 };
  for (const { times } of cpus()) {
    sum.idle += times.idle;
    sum.all += Object.values(times).reduce((total, ms) => total + ms, 0);
  }
  return sum;
}
