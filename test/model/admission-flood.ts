import { type Admission, type AdmissionOptions, createAdmission, type Permit } from "@spillway/admission";
import { exponentialMs, seededRandom } from "../../bench/simulator/random.ts";
import { virtualClock } from "../../bench/simulator/virtual-clock.ts";
import { VirtualLoop } from "../../bench/simulator/virtual-loop.ts";

/** A flood on a service that works for a fixed time on each request. Time is virtual. */
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
}

export interface FloodResult {
  offered: number;
  ok: number;
  shed: number;
  timedOut: number;
  /** Work that was finished for callers who had given up. */
  wasted: number;
  /** Work that was begun for callers who had given up. */
  begunForNobody: number;
  /** Requests in the line when the flood ended. */
  left: number;
  /** How long callers waited for their answer, sorted. */
  readonly okMs: number[];
  /** Answers in time, by quarter of a second of their arrival. */
  readonly okByQuarter: number[];
  longestLineWaitMs: number;
  peakWaiting: number;
}

/** @throws Error when slots or places are not given back in the end. */
export async function flood(plan: FloodPlan): Promise<FloodResult> {
  const loop = new VirtualLoop();
  const admission = createAdmission({ ...plan.admission, clock: virtualClock(loop, 0), random: () => 0.5 });
  const result = noResult();
  for (const atMs of arrivals(plan)) loop.at(atMs, () => arrive(plan, loop, admission, result));
  await loop.runUntil(plan.seconds * 1000);
  result.left = admission.stats().waiting;
  await loop.runUntil(plan.seconds * 1000 + 600_000);
  const { active, waiting, peakWaiting } = admission.stats();
  if (active !== 0 || waiting !== 0) throw new Error(`${active} slots and ${waiting} places are lost.`);
  result.peakWaiting = peakWaiting;
  result.okMs.sort((a, b) => a - b);
  return result;
}

/** @param part 0 to 1. */
export function percentile(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN;
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

function arrive(plan: FloodPlan, loop: VirtualLoop, admission: Admission, result: FloodResult): void {
  const arrivedMs = loop.nowMs;
  let isWaitedFor = true;
  result.offered++;
  const answered = (permit: Permit): void => {
    result.longestLineWaitMs = Math.max(result.longestLineWaitMs, permit.waitedMs);
    if (!isWaitedFor) result.begunForNobody++;
    loop.after(plan.workMs(loop.nowMs), () => {
      permit.release();
      if (!isWaitedFor) {
        result.wasted++;
        return;
      }
      isWaitedFor = false;
      result.ok++;
      result.okMs.push(loop.nowMs - arrivedMs);
      const quarter = Math.floor(arrivedMs / 250);
      result.okByQuarter[quarter] = (result.okByQuarter[quarter] ?? 0) + 1;
    });
  };
  const place = admission.enter(
    (answer) => {
      if (answer.admitted) return answered(answer);
      if (isWaitedFor) result.shed++;
      isWaitedFor = false;
    },
    plan.tellsDeadline ? { deadlineMs: plan.patienceMs } : undefined,
  );
  loop.after(plan.patienceMs, () => {
    if (!isWaitedFor) return;
    isWaitedFor = false;
    result.timedOut++;
    if (plan.hangsUp) place.leave();
  });
}

function noResult(): FloodResult {
  return {
    ...{ offered: 0, ok: 0, shed: 0, timedOut: 0, wasted: 0, begunForNobody: 0, left: 0 },
    ...{ okMs: [], okByQuarter: [], longestLineWaitMs: 0, peakWaiting: 0 },
  };
}
