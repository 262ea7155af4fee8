import type { VirtualLoop } from "../../simulator/virtual-loop.ts";

/** What an experiment needs of a line: ours has more. */
export interface Answering {
  enter(answer: (answer: Verdict) => void): unknown;
  stats(): { readonly waiting: number };
}

type Verdict = { readonly admitted: true; release(): void } | { readonly admitted: false; readonly reason: string };

/**
 * One slot and a line whose count goes up when somebody joins and down when somebody is let in, and nowhere else: whoever gives up
 * is counted for ever. The mistake is easy to make, which is why it is kept here.
 */
export class LeakyCounter implements Answering {
  readonly #loop: VirtualLoop;
  readonly #most: number;
  readonly #waitMs: number;
  readonly #line: ((answer: Verdict) => void)[] = [];
  #waiting = 0;
  #isTaken = false;

  constructor(loop: VirtualLoop, most: number, waitMs: number) {
    this.#loop = loop;
    this.#most = most;
    this.#waitMs = waitMs;
  }

  stats(): { readonly waiting: number } {
    return { waiting: this.#waiting };
  }

  enter(answer: (answer: Verdict) => void): void {
    if (!this.#isTaken) this.#letIn(answer);
    else if (this.#waiting >= this.#most) answer({ admitted: false, reason: "line_full" });
    else {
      this.#waiting++;
      this.#line.push(answer);
      this.#loop.after(this.#waitMs, () => this.#giveUp(answer));
    }
  }

  #letIn(answer: (answer: Verdict) => void): void {
    this.#isTaken = true;
    answer({ admitted: true, release: () => this.#release() });
  }

  #release(): void {
    this.#isTaken = false;
    const next = this.#line.shift();
    if (next === undefined) return;
    this.#waiting--;
    this.#letIn(next);
  }

  #giveUp(answer: (answer: Verdict) => void): void {
    const place = this.#line.indexOf(answer);
    if (place < 0) return;
    this.#line.splice(place, 1);
    answer({ admitted: false, reason: "waited_too_long" });
  }
}
