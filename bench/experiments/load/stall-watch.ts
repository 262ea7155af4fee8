const EVERY_MS = 5;
/** A timer may be this much late on a machine at rest. */
const USUAL_MS = 3;

/** Adds up for how long this process was not called on time. Of use where its own work does not keep it busy. */
export class StallWatch {
  stalledMs = 0;
  #lastMs: number = performance.now();

  constructor() {
    setInterval(() => this.#look(), EVERY_MS).unref();
  }

  #look(): void {
    const nowMs = performance.now();
    const lateMs = nowMs - this.#lastMs - EVERY_MS;
    if (lateMs > USUAL_MS) this.stalledMs += lateMs;
    this.#lastMs = nowMs;
  }
}
