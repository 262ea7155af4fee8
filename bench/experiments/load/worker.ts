import type { Work } from "./plan.ts";
import { sleepUntil } from "./precise-sleep.ts";

/** Does the work of a service, and counts it. */
export class Worker {
  finished = 0;
  forNobody = 0;
  peakWaiting = 0;
  /** How many times as long as planned work takes. */
  slowness = 1;
  readonly #work: Work;
  #busy = 0;
  readonly #line: (() => void)[] = [];

  constructor(work: Work) {
    this.#work = work;
  }

  get waiting(): number {
    return this.#line.length;
  }

  /** Works on one request. @param isGone whether its caller has hung up, as looked at when the work is done. */
  async run(isGone: () => boolean): Promise<void> {
    if (this.#work.kind === "compute") this.#compute(this.#work.ms);
    else await this.#sleep(this.#work.ms, this.#work.slots);
    this.finished++;
    if (isGone()) this.forNobody++;
  }

  #compute(ms: number): void {
    const until = process.cpuUsage().user + process.cpuUsage().system + ms * this.slowness * 1000;
    for (let used = 0; used < until; ) {
      const { user, system } = process.cpuUsage();
      used = user + system;
    }
  }

  async #sleep(ms: number, slots: number): Promise<void> {
    if (this.#busy < slots) this.#busy++;
    else await this.#waitForSlot();
    await sleepUntil(performance.now() + ms * this.slowness);
    const next = this.#line.shift();
    if (next === undefined) this.#busy--;
    else next();
  }

  #waitForSlot(): Promise<void> {
    return new Promise((resolve) => {
      this.#line.push(resolve);
      this.peakWaiting = Math.max(this.peakWaiting, this.#line.length);
    });
  }
}
