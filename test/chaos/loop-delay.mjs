import { monitorEventLoopDelay } from "node:perf_hooks";

const RESOLUTION_MS = 1;
const SLICE_MS = 20;

/** Milliseconds of a clock that all processes of this machine share. */
export const nowMs = () => Number(process.hrtime.bigint()) / 1e6;

/** By how much the event loop of this process is late, in slices of time. */
export class LoopDelay {
  #slices = [];
  #histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  #slicer;

  start() {
    this.#histogram.enable();
    this.#slicer = setInterval(() => this.#slice(), SLICE_MS);
  }

  stop() {
    clearInterval(this.#slicer);
    this.#slice();
    this.#histogram.disable();
  }

  get mostMs() {
    return Math.max(0, ...this.#slices.map(({ lateMs }) => lateMs));
  }

  /** By how much it was late when a decision was asked for, and when it was made. */
  lateWithin(fromMs, toMs) {
    const [from, to] = [this.#sliceOf(fromMs), this.#sliceOf(toMs)];
    return to - from < 2 ? this.#lateAt(from, to + 1) : this.#lateAt(from, from + 1) + this.#lateAt(to, to + 1);
  }

  /** What the loop was late by since the last slice: as Node says, and by this timer, which may run before Node's has. */
  #slice() {
    const untilMs = nowMs();
    const ownMs = untilMs - (this.#slices.at(-1)?.untilMs ?? untilMs) - SLICE_MS;
    const nodesMs = this.#histogram.max / 1e6 - RESOLUTION_MS;
    this.#slices.push({ untilMs, lateMs: Math.max(0, ownMs, Number.isFinite(nodesMs) ? nodesMs : 0) });
    this.#histogram.reset();
  }

  /** The slice in which a time lies. A delay may be counted in the slice after the one in which it ended. */
  #sliceOf(ms) {
    let low = 0;
    let high = this.#slices.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#slices[middle].untilMs < ms) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #lateAt(first, last) {
    return Math.max(0, ...this.#slices.slice(first, last + 1).map(({ lateMs }) => lateMs));
  }
}
