import type { StoreCalls } from "./measure.ts";

const SECOND_MS = 1000;

/** Counts the calls that a store serves, where it serves them. */
export interface CallCounter {
  /** Calls since some start. */
  look(): Promise<number>;
  close(): void;
}

/** One look at a counter. */
export interface CallSample {
  readonly atMs: number;
  readonly calls: number;
}

/** Looks at a counter during a run, once a second. */
export class CallSampler {
  readonly #counter: CallCounter;
  #samples: CallSample[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(counter: CallCounter) {
    this.#counter = counter;
  }

  /** Begins a run. */
  async begin(): Promise<void> {
    this.#samples = [await this.#look()];
    this.#timer = setInterval(() => {
      this.#look().then(
        (sample) => this.#samples.push(sample),
        () => {},
      );
    }, SECOND_MS);
  }

  /** Ends a run of so many seconds, with a last look. */
  async end(seconds: number): Promise<StoreCalls> {
    clearInterval(this.#timer);
    this.#samples.push(await this.#look());
    return storeCallsOf(this.#samples, seconds);
  }

  /** Calls since some start. */
  total(): Promise<number> {
    return this.#counter.look();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#counter.close();
  }

  async #look(): Promise<CallSample> {
    const calls = await this.#counter.look();
    return { atMs: performance.now(), calls };
  }
}

/** Calls in all, and per second for each whole second since the first sample; between two samples they are spread evenly. */
export function storeCallsOf(samples: readonly CallSample[], seconds: number): StoreCalls {
  const first = samples[0];
  const last = samples.at(-1);
  if (first === undefined || last === undefined) return { total: 0, perSecond: [] };
  const perSecond: number[] = [];
  for (let second = 0; second < seconds; second++) {
    const fromMs = first.atMs + second * SECOND_MS;
    perSecond.push(callsAt(samples, fromMs + SECOND_MS) - callsAt(samples, fromMs));
  }
  return { total: last.calls - first.calls, perSecond };
}

function callsAt(samples: readonly CallSample[], atMs: number): number {
  let before = samples[0]!;
  for (const sample of samples) {
    if (sample.atMs >= atMs) {
      const span = sample.atMs - before.atMs;
      return span === 0 ? sample.calls : before.calls + ((sample.calls - before.calls) * (atMs - before.atMs)) / span;
    }
    before = sample;
  }
  return before.calls;
}
