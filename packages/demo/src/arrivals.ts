/** Numbers from 0 (included) to 1 (excluded) that repeat for the same seed: a whole number from 0 to 2^32 - 1. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    mixed ^= mixed >>> 15;
    return (mixed >>> 0) / 2 ** 32;
  };
}

/**
 * When requests are due, in ms since the start, in order: Poisson arrivals, so gaps are exponential and independent. The
 * schedule is fixed before anything is sent; nothing that happens during the run moves it.
 */
export function poissonArrivals(seed: number, ratePerSecond: number, seconds: number): number[] {
  const random = seededRandom(seed);
  const endMs = seconds * 1000;
  const meanGapMs = 1000 / ratePerSecond;
  const arrivals: number[] = [];
  for (let atMs = gapMs(random, meanGapMs); atMs < endMs; atMs += gapMs(random, meanGapMs)) arrivals.push(atMs);
  return arrivals;
}

function gapMs(random: () => number, meanGapMs: number): number {
  return -Math.log(1 - random()) * meanGapMs;
}
