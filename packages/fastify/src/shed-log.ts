import type { Shed } from "@spillway/admission";
import type { FastifyRequest } from "fastify";

/** Between two log lines about refusals. */
const LOG_EVERY_MS = 1000;

/**
 * Counts refusals and writes one line a second at most: while a service sheds load, each line is more of it. The first refusal
 * is written at once, those that follow it within a second in one line at its end, and so on: each is in the number of one line.
 */
export class ShedLog {
  #count = 0;
  #log: FastifyRequest["log"] | undefined;
  #reason: Shed["reason"] | undefined;
  #timer: NodeJS.Timeout | undefined;

  note({ log }: Pick<FastifyRequest, "log">, { reason }: Pick<Shed, "reason">): void {
    this.#count++;
    this.#log = log;
    this.#reason = reason;
    if (this.#timer !== undefined) return;
    this.#write();
    this.#wait();
  }

  /** Writes what would be written later. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#write();
  }

  #wait(): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#count === 0) return;
      this.#write();
      this.#wait();
    }, LOG_EVERY_MS).unref();
  }

  #write(): void {
    if (this.#count === 0) return;
    const line = { shed: this.#count, reason: this.#reason };
    this.#count = 0;
    this.#log?.warn(line, "Requests are turned away: the service is full.");
    this.#log = undefined;
  }
}
