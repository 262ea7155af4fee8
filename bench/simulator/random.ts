/** A stream of numbers from 0 up to 1 that a seed repeats (the mulberry32 generator). */
export type Random = () => number;

export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A time between Poisson arrivals of `perMs`. */
export function exponentialMs(random: Random, perMs: number): number {
  return -Math.log(1 - random()) / perMs;
}
