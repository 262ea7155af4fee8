/** Where a progress line goes: stderr, or a stand-in for it. */
export interface ProgressOutput {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const QUIET_MS = 2500;

/** Tells how far the work is: one line, rewritten on a terminal; elsewhere a line now and then. */
export class ProgressLine {
  readonly #output: ProgressOutput;
  readonly #nowMs: () => number;
  #lastMs = Number.NEGATIVE_INFINITY;
  #shown = false;

  constructor(output: ProgressOutput, nowMs: () => number) {
    this.#output = output;
    this.#nowMs = nowMs;
  }

  /** Something begins: always shown, and on a terminal rewritten by what follows. */
  say(text: string): void {
    if (this.#output.isTTY === true) this.#rewrite(text);
    else this.#print(text);
  }

  /** How far it is: on a terminal always shown, elsewhere only after some silence. */
  update(text: string): void {
    if (this.#output.isTTY === true) this.#rewrite(text);
    else if (this.#nowMs() - this.#lastMs >= QUIET_MS) this.#print(text);
  }

  /** Something that stays to be read. */
  note(text: string): void {
    this.clear();
    this.#print(text);
  }

  /** Takes the line away, so that something else can be printed. */
  clear(): void {
    if (this.#shown) this.#output.write("\r\u001b[K");
    this.#shown = false;
  }

  #rewrite(text: string): void {
    const width = (this.#output.columns ?? 80) - 1;
    this.#output.write(`\r${text.slice(0, width)}\u001b[K`);
    this.#shown = true;
  }

  #print(text: string): void {
    this.#output.write(`${text}\n`);
    this.#lastMs = this.#nowMs();
  }
}
