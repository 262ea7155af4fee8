import { type Admission, type AdmissionOptions, createAdmission, type Permit } from "@spillway/admission";
import { exponentialMs, seededRandom } from "../../simulator/random.ts";
import { virtualClock } from "../../simulator/virtual-clock.ts";
import { VirtualLoop } from "../../simulator/virtual-loop.ts";
import type { Series } from "../experiment.ts";

/** What callers do when they are turned away or give up. */
export interface FloodRetries {
  /** Attempts after the first one, at most. They are made at once. */
  readonly limit: number;
  /** Whether retries are at most a tenth of first attempts, and ten, and wait for what they are told. Defaults to false. */
  readonly isPolite?: boolean;
}

/** A flood on a service that works for a fixed time on each request. Time is virtual, the admission control is the real one. */
export interface FloodPlan {
  readonly admission: AdmissionOptions;
  /** Offered load by second of the flood, open loop: arrivals keep to their schedule, whatever becomes of earlier ones. */
  readonly perSecond: number | ((second: number) => number);
  readonly seconds: number;
  /** Poisson arrivals by this seed, in place of evenly spread ones. */
  readonly seed?: number;
  /** What work takes that starts at an instant. */
  readonly workMs: (nowMs: number) => number;
  readonly patienceMs: number;
  /** Whether a caller who gives up hangs up, so that the service knows. */
  readonly hangsUp?: boolean;
  /** Whether requests carry their caller's patience as their deadline. */
  readonly tellsDeadline?: boolean;
  readonly retries?: FloodRetries;
}

export interface FloodResult {
  offered: number;
  attempts: number;
  ok: number;
  shed: number;
  timedOut: number;
  /** Work that was finished for callers who had given up. */
  wasted: number;
  /** Work that was begun for callers who had given up. */
  begunForNobody: number;
  /** Requests in the line when the last arrival came, and when the last caller had given up. */
  left: number;
  leftAfterPatience: number;
  /** How long callers waited for their answer, sorted. */
  readonly okMs: number[];
  /** Answers in time, by quarter of a second of their arrival. */
  readonly okByQuarter: number[];
  /** Answers in time, by quarter of a second in which they came. */
  readonly okNowByQuarter: number[];
  readonly attemptsByQuarter: number[];
  longestLineWaitMs: number;
  peakWaiting: number;
}

const BUDGET_SHARE = 0.1;
const BUDGET_BURST = 10;

/** @throws Error when slots or places are not given back in the end. */
export async function flood(plan: FloodPlan): Promise<FloodResult> {
  const run = new FloodRun(plan);
  return await run.run();
}

/** Answers in time per second that came from `fromSecond` to the end of the flood. */
export function steadyGoodput({ okNowByQuarter }: FloodResult, fromSecond: number, toSecond: number): number {
  let sum = 0;
  for (let quarter = fromSecond * 4; quarter < toSecond * 4; quarter++) sum += okNowByQuarter[quarter] ?? 0;
  return sum / (toSecond - fromSecond);
}

/** Answers in time per second, by the second in which their callers came. */
export function bySecond(name: string, { okByQuarter }: Pick<FloodResult, "okByQuarter">, seconds: number): Series {
  const points = Array.from({ length: seconds }, (_, second): [number, number] => [
    second,
    okByQuarter.slice(second * 4, second * 4 + 4).reduce((sum, count) => sum + (count ?? 0), 0),
  ]);
  return { name, points };
}

class FloodRun {
  readonly #plan: FloodPlan;
  readonly #loop = new VirtualLoop();
  readonly #admission: Admission;
  readonly #random = seededRandom(7);
  readonly #result: FloodResult = noResult();
  #budget = BUDGET_BURST;

  constructor(plan: FloodPlan) {
    this.#plan = plan;
    this.#admission = createAdmission({ ...plan.admission, clock: virtualClock(this.#loop, 0), random: () => 0.5 });
  }

  async run(): Promise<FloodResult> {
    const { seconds, patienceMs } = this.#plan;
    const result = this.#result;
    for (const atMs of arrivals(this.#plan)) this.#loop.at(atMs, () => this.#arrive());
    await this.#loop.runUntil(seconds * 1000);
    result.left = this.#admission.stats().waiting;
    await this.#loop.runUntil(seconds * 1000 + patienceMs);
    result.leftAfterPatience = this.#admission.stats().waiting;
    await this.#loop.runUntil(seconds * 1000 + 600_000);
    const { active, waiting, peakWaiting } = this.#admission.stats();
    if (active !== 0 || waiting !== 0) throw new Error(`${active} slots and ${waiting} places are lost.`);
    result.peakWaiting = peakWaiting;
    result.okMs.sort((a, b) => a - b);
    return result;
  }

  #arrive(): void {
    this.#result.offered++;
    this.#budget = Math.min(BUDGET_BURST, this.#budget + BUDGET_SHARE);
    this.#attempt(1, this.#loop.nowMs);
  }

  /** @param dueMs when the caller came. */
  #attempt(attempt: number, dueMs: number): void {
    const { patienceMs, tellsDeadline, hangsUp } = this.#plan;
    const result = this.#result;
    const caller = { isWaiting: true };
    result.attempts++;
    count(result.attemptsByQuarter, this.#loop.nowMs);
    const place = this.#admission.enter(
      (answer) => {
        if (answer.admitted) this.#work(answer, dueMs, caller);
        else if (caller.isWaiting) {
          caller.isWaiting = false;
          if (!this.#retry(attempt, dueMs, answer.retryAfterMs)) result.shed++;
        }
      },
      tellsDeadline ? { deadlineMs: patienceMs } : undefined,
    );
    this.#loop.after(patienceMs, () => {
      if (!caller.isWaiting) return;
      caller.isWaiting = false;
      if (hangsUp) place.leave();
      if (!this.#retry(attempt, dueMs, undefined)) result.timedOut++;
    });
  }

  #work(permit: Permit, dueMs: number, caller: { isWaiting: boolean }): void {
    const result = this.#result;
    result.longestLineWaitMs = Math.max(result.longestLineWaitMs, permit.waitedMs);
    if (!caller.isWaiting) result.begunForNobody++;
    this.#loop.after(this.#plan.workMs(this.#loop.nowMs), () => {
      permit.release();
      if (!caller.isWaiting) {
        result.wasted++;
        return;
      }
      caller.isWaiting = false;
      result.ok++;
      result.okMs.push(this.#loop.nowMs - dueMs);
      count(result.okByQuarter, dueMs);
      count(result.okNowByQuarter, this.#loop.nowMs);
    });
  }

  #retry(attempt: number, dueMs: number, toldMs: number | undefined): boolean {
    const { retries } = this.#plan;
    if (retries === undefined || attempt > retries.limit) return false;
    if (retries.isPolite) {
      if (this.#budget < 1) return false;
      this.#budget--;
    }
    const waitMs = retries.isPolite ? (toldMs ?? 0) * (1 + this.#random()) : 0;
    this.#loop.after(waitMs, () => this.#attempt(attempt + 1, dueMs));
    return true;
  }
}

function count(byQuarter: number[], atMs: number): void {
  const quarter = Math.floor(atMs / 250);
  byQuarter[quarter] = (byQuarter[quarter] ?? 0) + 1;
}

function arrivals({ perSecond, seconds, seed }: FloodPlan): number[] {
  const times: number[] = [];
  for (let second = 0; second < seconds; second++) {
    const count = typeof perSecond === "number" ? perSecond : perSecond(second);
    const random = seed === undefined ? undefined : seededRandom(seed * 10_000 + second);
    let atMs = 0;
    for (let i = 0; random === undefined ? i < count : atMs < 1000; i++) {
      if (random === undefined) atMs = (i * 1000) / count;
      else atMs += exponentialMs(random, count / 1000);
      if (atMs < 1000) times.push(second * 1000 + atMs);
    }
  }
  return times;
}

function noResult(): FloodResult {
  return {
    ...{ offered: 0, attempts: 0, ok: 0, shed: 0, timedOut: 0, wasted: 0, begunForNobody: 0 },
    ...{ left: 0, leftAfterPatience: 0, okMs: [], okByQuarter: [], okNowByQuarter: [], attemptsByQuarter: [] },
    ...{ longestLineWaitMs: 0, peakWaiting: 0 },
  };
}
