import type { Redis } from "ioredis";

/** How a server's clock stands against the clock that the processes of this machine share. */
export interface ClockReading {
  /** Server time less machine time. */
  readonly offsetMs: number;
  /** By how much the offset may be wrong, either way. */
  readonly errorMs: number;
}

const TRIES = 200;

/** Milliseconds of a clock that all processes of this machine share and that nobody sets. */
export function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Asks the server for its time, which lies between question and answer: the quickest answer leaves the least doubt. */
export async function readServerClock(client: Redis): Promise<ClockReading> {
  let best: ClockReading = { offsetMs: 0, errorMs: Number.POSITIVE_INFINITY };
  for (let i = 0; i < TRIES; i++) {
    const askedMs = machineMs();
    const [seconds, microseconds] = await client.time();
    const errorMs = (machineMs() - askedMs) / 2;
    const serverMs = Number(seconds) * 1000 + Number(microseconds) / 1000;
    if (errorMs < best.errorMs) best = { offsetMs: serverMs - askedMs - errorMs, errorMs };
  }
  return best;
}

/** One reading for the time between two: what the offset moved by meanwhile is part of the error. */
export function between(before: ClockReading, after: ClockReading): ClockReading {
  const movedMs = Math.abs(after.offsetMs - before.offsetMs) / 2;
  return {
    offsetMs: (before.offsetMs + after.offsetMs) / 2,
    errorMs: movedMs + Math.max(before.errorMs, after.errorMs),
  };
}
