import { exponentialMs, seededRandom } from "../../simulator/random.ts";

/** A stretch of time with one offered load. */
export interface Phase {
  readonly name: string;
  readonly perSecond: number;
  readonly seconds: number;
}

/** When each request is due, and in which phase, in order of time. */
export interface Arrivals {
  readonly dueMs: Float64Array;
  readonly phaseOf: Uint16Array;
  readonly endMs: number;
}

/** @param seed for arrivals at random (Poisson); without one they are evenly spread. */
export function arrivalsOf(phases: readonly Phase[], seed?: number): Arrivals {
  const dueMs: number[] = [];
  const phaseOf: number[] = [];
  let startMs = 0;
  phases.forEach(({ perSecond, seconds }, phase) => {
    const endMs = startMs + seconds * 1000;
    for (const atMs of seed === undefined ? even(perSecond, seconds) : random(perSecond, seconds, seed + phase)) {
      dueMs.push(startMs + atMs);
      phaseOf.push(phase);
    }
    startMs = endMs;
  });
  return { dueMs: Float64Array.from(dueMs), phaseOf: Uint16Array.from(phaseOf), endMs: startMs };
}

function even(perSecond: number, seconds: number): number[] {
  return Array.from({ length: Math.floor(perSecond * seconds + 1e-9) }, (_, i) => (i * 1000) / perSecond);
}

function random(perSecond: number, seconds: number, seed: number): number[] {
  const next = seededRandom(seed);
  const times: number[] = [];
  if (perSecond <= 0) return times;
  for (let atMs = 0; ; ) {
    atMs += exponentialMs(next, perSecond / 1000);
    if (atMs >= seconds * 1000) return times;
    times.push(atMs);
  }
}
