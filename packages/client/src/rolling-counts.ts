const SLICES = 10;

/** Two running sums over the last `windowMs`, kept in ten slices: between nine and ten tenths of the window are counted. */
export class RollingCounts {
  readonly #sliceMs: number;
  readonly #all = new Float64Array(SLICES);
  readonly #some = new Float64Array(SLICES);
  #slice = 0;
  #allSum = 0;
  #someSum = 0;

  constructor(windowMs: number) {
    this.#sliceMs = windowMs / SLICES;
  }

  /** Counts one event, and whether it is among those that are counted apart. */
  add(nowMs: number, apart: boolean): void {
    const at = this.#turn(nowMs);
    this.#all[at] = (this.#all[at] as number) + 1;
    this.#allSum++;
    if (!apart) return;
    this.#some[at] = (this.#some[at] as number) + 1;
    this.#someSum++;
  }

  all(nowMs: number): number {
    this.#turn(nowMs);
    return this.#allSum;
  }

  apart(nowMs: number): number {
    this.#turn(nowMs);
    return this.#someSum;
  }

  /** Empties the slices that have grown too old. @returns the index of the present one. */
  #turn(nowMs: number): number {
    const slice = Math.floor(nowMs / this.#sliceMs);
    const steps = Math.min(SLICES, Math.max(0, slice - this.#slice));
    for (let i = 1; i <= steps; i++) {
      const at = (((this.#slice + i) % SLICES) + SLICES) % SLICES;
      this.#allSum -= this.#all[at] as number;
      this.#someSum -= this.#some[at] as number;
      this.#all[at] = 0;
      this.#some[at] = 0;
    }
    if (steps > 0) this.#slice = slice;
    return ((this.#slice % SLICES) + SLICES) % SLICES;
  }
}
