import { type AdmissionOptions, type AdmissionTuning, resolveAdmissionOptions } from "./admission-options.ts";
import type { AcquireOptions } from "./ask.ts";
import { Controller } from "./controller.ts";
import { requireFunction } from "./option-error.ts";
import type { Permit } from "./permit.ts";
import type { Shed } from "./shed.ts";
import type { AdmissionStats } from "./stats.ts";
import type { Answer, Place } from "./waiter.ts";

/** What came of work that was let in. */
export interface Ran<T> {
  readonly admitted: true;
  readonly value: T;
}

/**
 * Lets in as much as the service can do, keeps a short line, and turns the rest away at once. A refusal is a value, never an
 * error. What a call throws, or rejects with, is a `TypeError` or `RangeError` for a bad argument: a defect of the program.
 */
export interface Admission {
  /** Waits for a slot, at most `waitMs`. Whoever gets a permit has to release it. */
  acquire(options?: AcquireOptions): Promise<Permit | Shed>;
  /**
   * The same at once. `undefined` means that the request would have to wait, and that nothing was counted: call `acquire`. It
   * does not let the event loop read first, so use it for work that soon waits for something, not for work that computes.
   */
  acquireNow(options?: AcquireOptions): Permit | Shed | undefined;
  /**
   * Runs work within a slot and gives the slot back when it settles. What the work throws is passed on.
   * @param work gets the permit, for what is left of the deadline; it need not release it.
   */
  run<T>(work: (permit: Permit) => T | PromiseLike<T>, options?: AcquireOptions): Promise<Ran<T> | Shed>;
  /**
   * For frameworks: takes the answer by a call, which may come before this returns. `answer` starts the work right away, so that
   * the controller sees how long it computes; an error that it throws ends as an uncaught exception, with the slots given back.
   */
  enter(answer: Answer, options?: AcquireOptions): Place;
  /**
   * Changes settings while the service runs; what is left out stays. Fewer slots take effect as work ends.
   * @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION`; nothing is changed then.
   */
  tune(changes: AdmissionTuning): void;
  stats(): AdmissionStats;
  /** Turns away the line, and everybody who comes from now on. Work under way goes on. Further calls do nothing. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const NOWHERE: Place = Object.freeze({ leave: () => {} });

/**
 * Makes a controller. Nothing runs while nobody waits, and no timer keeps an idle process alive.
 * @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION`.
 */
export function createAdmission(options: AdmissionOptions = {}): Admission {
  return new ControlledAdmission(new Controller(resolveAdmissionOptions(options)));
}

class ControlledAdmission implements Admission {
  readonly #controller: Controller;

  constructor(controller: Controller) {
    this.#controller = controller;
  }

  acquire(options?: AcquireOptions): Promise<Permit | Shed> {
    return new Promise((resolve) => {
      this.#controller.enter(options, resolve);
    });
  }

  acquireNow(options?: AcquireOptions): Permit | Shed | undefined {
    return this.#controller.enterNow(options);
  }

  run<T>(work: (permit: Permit) => T | PromiseLike<T>, options?: AcquireOptions): Promise<Ran<T> | Shed> {
    return new Promise((resolve, reject) => {
      requireFunction(work, "work");
      this.#controller.enter(options, (answer) => {
        if (answer.admitted) within(answer, work).then((value) => resolve({ admitted: true, value }), reject);
        else resolve(answer);
      });
    });
  }

  enter(answer: Answer, options?: AcquireOptions): Place {
    requireFunction(answer, "answer");
    return this.#controller.enter(options, answer) ?? NOWHERE;
  }

  tune(changes: AdmissionTuning): void {
    this.#controller.tune(changes);
  }

  stats(): AdmissionStats {
    return this.#controller.stats();
  }

  async close(): Promise<void> {
    this.#controller.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#controller.close();
  }
}

/** Gives the slots back whatever becomes of the work. */
async function within<T>(permit: Permit, work: (permit: Permit) => T | PromiseLike<T>): Promise<T> {
  let isDone = false;
  try {
    const value = await work(permit);
    isDone = true;
    return value;
  } finally {
    permit.release(isDone ? "done" : "failed");
  }
}
