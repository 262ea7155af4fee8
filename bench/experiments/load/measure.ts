import type { Lab, LabMark, Series } from "../experiment.ts";
import { type Capacity, measureCapacity } from "./capacity.ts";
import { type LoadBin, type PhaseResult, percentile } from "./load-tally.ts";
import { type LoadPlan, type LoadResult, offerLoad } from "./open-loop.ts";
import type { ServicePlan, ServiceStats, Work } from "./plan.ts";
import { Service } from "./service.ts";

/** Requests that are sent this much later than they were due, at the 99th percentile, say more of the machine than of the service. */
const RESTLESS_MS = 5;
/** So does a service that is not called on time for this part of the run. */
const RESTLESS_SHARE = 0.005;
const TRIES = 3;
const QUICK_TRIES = 2;
const STALL_MS = 8;
const CALM_MS = 500;
const MOST_WAITING_MS = 6000;
/** A service that computes and is given this much less than a processor is disturbed. */
const MISSING_SHARE = 0.12;
const WARM_UP_SECONDS = 0.5;

/** What a service did under a load. */
export interface Measured {
  readonly load: LoadResult;
  /** Of the load's first phase. */
  readonly phase: PhaseResult;
  /** Work that was finished and not answered in time. */
  readonly wasted: number;
  readonly finished: number;
  /** Requests in its line when the last caller had an answer or had given up. */
  readonly left: number;
  readonly before: ServiceStats;
  readonly after: ServiceStats;
  readonly capacity: Capacity | undefined;
  readonly health: PhaseResult | undefined;
  /** Where work computes: answers in time per second of CPU, as a part of what is answered per second of CPU at capacity. */
  readonly cpuEfficiency: number;
  /** Above 1 where the machine had its part in what was measured. */
  readonly restlessness: number;
}

export interface MeasureOptions {
  /** Measures the capacity first, by so many callers and in so many seconds. */
  readonly capacity?: { readonly callers: number; readonly slots: number; readonly seconds: number };
  /** Asks for `/health` ten times a second beside the load. */
  readonly asksHealth?: boolean;
  /** That no mark hangs on it, so that a disturbed run need not be repeated. */
  readonly once?: boolean;
  /** Is called with the service when the load begins, to change it meanwhile. */
  readonly beside?: (service: Service) => Promise<void>;
}

type Load = (capacityPerSecond: number) => Omit<LoadPlan, "url">;

/**
 * Offers a load to a new service of its own. On a machine that others use too a run may say little: it waits for a calm moment,
 * repeats a run whose requests were sent late, and gives the one that was sent best.
 */
export async function measure(
  lab: Lab,
  label: string,
  plan: ServicePlan,
  load: Load | Omit<LoadPlan, "url">,
  options: MeasureOptions = {},
): Promise<Measured> {
  const loadOf = typeof load === "function" ? load : () => load;
  let best: Measured | undefined;
  const tries = options.once === true ? 1 : lab.quick ? QUICK_TRIES : TRIES;
  for (let tried = 0; tried < tries && (best === undefined || isRestless(best)); tried++) {
    await calm();
    const measured = await Service.with(plan, (service) => measureOnce(service, plan.work, loadOf, options));
    lab.say(`   ${label}: ${summaryOf(measured)}`);
    if (best === undefined || measured.restlessness < best.restlessness) best = measured;
  }
  return best as Measured;
}

/** The median of several rounds by the requests that were served. */
export async function measureRounds(rounds: number, one: () => Promise<Measured>): Promise<Measured> {
  const all: Measured[] = [];
  for (let round = 0; round < rounds; round++) all.push(await one());
  all.sort((a, b) => a.phase.served - b.phase.served);
  return all[rounds >> 1] as Measured;
}

function isRestless({ restlessness }: Measured): boolean {
  return restlessness > 1;
}

/** A mark that a run on the clock of this machine decides; a run that was disturbed decides nothing against it. */
export function onThisMachine(mark: LabMark, ...measured: readonly Measured[]): LabMark {
  return measured.some(isRestless) && !mark.met ? { ...mark, isUnsure: true } : mark;
}

/** Answers in time that came from `fromSecond` to `toSecond`, per second. */
export function steadyRate(bins: readonly LoadBin[], fromSecond: number, toSecond: number): number {
  const inside = bins.filter(({ fromMs }) => fromMs >= fromSecond * 1000 && fromMs < toSecond * 1000);
  return inside.reduce((sum, { servedNow }) => sum + servedNow, 0) / (toSecond - fromSecond);
}

/** Answers in time per second, by the second in which they came. */
export function servedSeries(name: string, bins: readonly LoadBin[]): Series {
  const points: [number, number][] = [];
  for (let second = 0; second * 4 < bins.length; second++)
    points.push([second, bins.slice(second * 4, second * 4 + 4).reduce((sum, bin) => sum + bin.servedNow, 0)]);
  return { name, points };
}

async function measureOnce(service: Service, work: Work, loadOf: Load, options: MeasureOptions): Promise<Measured> {
  const { url } = service;
  const probe = options.capacity;
  await measureCapacity(url, Math.min(8, probe?.callers ?? 8), 1, WARM_UP_SECONDS);
  const idle = await service.stats();
  const capacity =
    probe === undefined ? undefined : await measureCapacity(url, probe.callers, probe.slots, probe.seconds);
  const probed = await service.stats();
  await service.collectGarbage();
  const before = await service.stats();
  const plan = { ...loadOf(capacity?.perSecond ?? Number.NaN), url };
  const [load, health] = await Promise.all([
    offerLoad(plan),
    options.asksHealth === true ? askHealth(plan) : undefined,
    options.beside?.(service),
  ]);
  const after = await service.stats();
  const phase = load.phases[0] as PhaseResult;
  const served = load.phases.reduce((sum, one) => sum + one.served, 0);
  const finished = after.finished - before.finished;
  return {
    ...{ load, phase, finished, before, after, capacity, health },
    left: after.waiting + (after.admission?.waiting ?? 0),
    wasted: Math.max(0, finished - served),
    cpuEfficiency: perCpu(before, after, served) / perCpu(idle, probed, probed.finished - idle.finished),
    restlessness: restlessnessOf(work, load, before, after, capacity),
  };
}

function perCpu(before: ServiceStats, after: ServiceStats, count: number): number {
  return count / (after.cpuMs - before.cpuMs);
}

function restlessnessOf(
  work: Work,
  load: LoadResult,
  before: ServiceStats,
  after: ServiceStats,
  capacity: Capacity | undefined,
): number {
  const stalledShare = (after.stalledMs - before.stalledMs) / (load.seconds * 1000);
  const missing = work.kind === "compute" && capacity !== undefined ? 1 - (capacity.perSecond * work.ms) / 1000 : 0;
  return Math.max(load.lateSendP99Ms / RESTLESS_MS, stalledShare / RESTLESS_SHARE, missing / MISSING_SHARE);
}

async function askHealth({ url, phases, patienceMs, signal }: LoadPlan): Promise<PhaseResult> {
  const seconds = phases.reduce((sum, phase) => sum + phase.seconds, 0);
  const { phases: health } = await offerLoad({
    ...{ url: `${url}health`, phases: [{ name: "health", perSecond: 10, seconds }], patienceMs },
    ...(signal === undefined ? {} : { signal }),
  });
  return health[0] as PhaseResult;
}

/** Waits until this process has been called on time for a while, but not for ever. */
async function calm(): Promise<void> {
  const giveUpMs = performance.now() + MOST_WAITING_MS;
  let lastMs = performance.now();
  for (let sinceMs = lastMs; lastMs - sinceMs < CALM_MS && lastMs < giveUpMs; ) {
    await new Promise((resolve) => setTimeout(resolve, 2));
    const nowMs = performance.now();
    if (nowMs - lastMs > STALL_MS) sinceMs = nowMs;
    lastMs = nowMs;
  }
}

function summaryOf(measured: Measured): string {
  const { phase, wasted } = measured;
  const { served, shed, timedOut, failed } = phase;
  const p99 = percentile(phase.servedMs, 0.99).toFixed(0);
  return `${served} served, ${shed} shed, ${timedOut} timed out, ${failed} failed, ${wasted} wasted, p99 ${p99} ms, ${isRestless(measured) ? "a restless machine" : "undisturbed"}`;
}
