import { readFileSync } from "node:fs";
import { machineMs } from "./load-fleet.ts";

/** How quiet the machine was: by how long processes were kept from running, and what a hypervisor gave to other machines. */
export interface MachineReading {
  /** By how much one of a hundred timers of this process was late. */
  readonly lateMs: number;
  /** By how much the latest of all was, of any process that was not meant to stand still. */
  readonly mostLateMs: number;
  /** The part of the processors' time that went elsewhere, from 0 to 1; 0 where nobody tells. */
  readonly stolen: number;
}

/** A machine that keeps those waiting who want to run gives no fair reading of a deadline of 50 ms. */
const OFTEN_LATE_MS = 10;
const MOST_LATE_MS = 30;
const MOST_STOLEN = 0.05;
const EVERY_MS = 5;
const CALM_MS = 250;

/** Why times are not judged, or undefined on a quiet machine. */
export function noiseOf({ lateMs, mostLateMs, stolen }: MachineReading): string | undefined {
  if (stolen > MOST_STOLEN) return `${Math.round(100 * stolen)} % of the processors' time went to other machines`;
  if (lateMs > OFTEN_LATE_MS) return `timers often ${Math.round(lateMs)} ms late`;
  if (mostLateMs > MOST_LATE_MS) return `a timer ${Math.round(mostLateMs)} ms late`;
  return undefined;
}

/** Waits for a moment in which nobody is kept from running, and not for long. */
export async function calm(withinMs: number): Promise<void> {
  for (const untilMs = machineMs() + withinMs; machineMs() < untilMs; ) {
    const watch = watchMachine();
    await new Promise((resolve) => setTimeout(resolve, CALM_MS));
    if (watch.stop().mostLateMs < OFTEN_LATE_MS) return;
  }
}

/** Watches until stopped. */
export function watchMachine(): { stop(): MachineReading } {
  const before = processorTimes();
  const lateness: number[] = [];
  let dueMs = machineMs() + EVERY_MS;
  const timer = setInterval(() => {
    const nowMs = machineMs();
    lateness.push(nowMs - dueMs);
    dueMs = nowMs + EVERY_MS;
  }, EVERY_MS);
  return {
    stop() {
      clearInterval(timer);
      const after = processorTimes();
      lateness.sort((a, b) => a - b);
      const all = after.all - before.all;
      return {
        lateMs: Math.max(0, lateness[Math.floor(lateness.length * 0.99)] ?? 0),
        mostLateMs: Math.max(0, lateness.at(-1) ?? 0),
        stolen: all > 0 ? (after.stolen - before.stolen) / all : 0,
      };
    },
  };
}

/** Ticks of all processors since the start of the machine, as Linux counts them. */
function processorTimes(): { all: number; stolen: number } {
  try {
    const ticks = (/^cpu +(.*)$/m.exec(readFileSync("/proc/stat", "utf8"))?.[1] ?? "").split(" ").map(Number);
    // user, nice, system, idle, iowait, irq, softirq, steal; guests are counted in the first two.
    return { all: ticks.slice(0, 8).reduce((sum, each) => sum + each, 0), stolen: ticks[7] ?? 0 };
  } catch {
    return { all: 0, stolen: 0 };
  }
}
