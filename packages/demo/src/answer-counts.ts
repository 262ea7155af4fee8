/** Answers of one worker in one mode during one second. */
export interface AnswerCounts {
  readonly admitted: number;
  readonly refused: number;
  /** Of both: decided without the store. */
  readonly degraded: number;
}

/** The answers of one worker during one second. */
export interface SecondOfAnswers {
  /** Whole seconds since 1970: all processes of a machine agree on it. */
  readonly second: number;
  readonly modes: Readonly<Record<string, AnswerCounts>>;
}

/** Counts a worker's answers, second by second. */
export class AnswerCounter {
  readonly #seconds = new Map<number, Record<string, AnswerCounts>>();

  note(mode: string, admitted: boolean, degraded: boolean, wallMs: number): void {
    const second = Math.floor(wallMs / 1000);
    const modes = this.#seconds.get(second) ?? {};
    this.#seconds.set(second, modes);
    const before = modes[mode] ?? { admitted: 0, refused: 0, degraded: 0 };
    modes[mode] = {
      admitted: before.admitted + Number(admitted),
      refused: before.refused + Number(!admitted),
      degraded: before.degraded + Number(degraded),
    };
  }

  /** Takes the seconds that are over. */
  takeFinished(wallMs: number): SecondOfAnswers[] {
    const now = Math.floor(wallMs / 1000);
    const finished: SecondOfAnswers[] = [];
    for (const [second, modes] of this.#seconds) {
      if (second >= now) continue;
      finished.push({ second, modes });
      this.#seconds.delete(second);
    }
    return finished;
  }
}
