// A herd of callers meets a service that can take few of them: how long until all are served, and for how many requests?
import type { ClientOptions } from "@spillway/client";
import { atMost, between, type Experiment, type Findings, type Lab, type LabPlot, type Series } from "./experiment.ts";
import { joined } from "./joined.ts";
import { stormOverSockets } from "./peers/storm-over-sockets.ts";
import { runStorm, STORM_SERVER, type StormOptions, type StormResult } from "./retries/storm.ts";

export const storm: Experiment = {
  name: "storm",
  asks: "what it takes to serve callers who all come at one instant, by what they are told and how they come back",
  run: async (lab) => joined([await stormInVirtualTime(lab), await stormOverSockets(lab)]),
};

/** Jitter and waits alone: nothing else of the client takes part. */
const bare = { budget: false, throttle: false, deadline: false } as const;
const LOCKSTEP: ClientOptions = { ...bare, retry: { limit: 100, jitter: "none" } };
const JITTER: ClientOptions = { ...bare, retry: { limit: 100 } };
const second = { ...STORM_SERVER, hint: "second" } as const;
const slots = { ...STORM_SERVER, hint: "slots" } as const;

interface Case {
  readonly told: string;
  readonly client: string;
  readonly run: Omit<StormOptions, "clients" | "seed">;
  /** What the seed printed for 400. */
  readonly seed?: string;
}

const CASES: readonly Case[] = [
  {
    told: "nothing",
    client: "no jitter",
    run: { server: STORM_SERVER, client: LOCKSTEP },
    seed: "3,323 to 3,516 in 52 to 57 s",
  },
  {
    told: "nothing",
    client: "full jitter",
    run: { server: STORM_SERVER, client: JITTER },
    seed: "about 2,370 in 7.2 to 7.5 s",
  },
  { told: "one second", client: "no jitter", run: { server: second, client: LOCKSTEP } },
  { told: "one second", client: "full jitter", run: { server: second, client: JITTER } },
  { told: "slots", client: "as it is", run: { server: slots, client: {} } },
  { told: "by our admission", client: "as it is", run: { server: STORM_SERVER, client: {}, admission: true } },
];
const SEEDS = 5;
const [LOCKED, JITTERED, , , SLOTTED, ADMITTED] = [0, 1, 2, 3, 4, 5] as const;

/** Without a socket: the real client on a virtual clock, before a model of the service and before our own admission. */
export async function stormInVirtualTime(lab: Lab): Promise<Findings> {
  const small = await runAll(CASES, 400, SEEDS, lab.seed);
  const large = await runAll(lab.quick ? CASES.slice(SLOTTED) : CASES, 2000, 1, lab.seed);
  const of = (results: Results, index: number): StormResult => results.get(CASES[index] as Case) as StormResult;
  const slotted = [small, large].flatMap((results) => [of(results, SLOTTED), of(results, ADMITTED)]);
  const worst = (pick: (result: StormResult) => number): number => Math.max(...slotted.map(pick));
  const best = of(small, SLOTTED);
  return {
    tables: [table(400, small), table(2000, large)],
    plots: [servedPlot(small), arrivalsPlot(small)],
    marks: [
      atMost(
        "callers with a slot who failed, of 400 and of 2,000",
        worst(({ failures }) => failures),
        0,
      ),
      atMost(
        "attempts per caller with a slot, of 400 and of 2,000",
        worst(({ attemptsPerClient: each }) => each),
        2,
      ),
      atMost("the last of them is served, in times of the ideal", worst(overIdeal), 1.03),
      atMost("attempts of 400 with full jitter", of(small, JITTERED).attempts, 2400),
      atMost("the last of them is served after, in s", of(small, JITTERED).lastDoneMs / 1000, 7.6),
      between("attempts of 400 in lockstep", of(small, LOCKED).attempts, 3323, 3950),
      between("the last of them is served after, in s", of(small, LOCKED).lastDoneMs / 1000, 52, 65),
    ],
    summary:
      `400 callers in lockstep need ${seconds(of(small, LOCKED))}, with full jitter ${seconds(of(small, JITTERED))}, and ` +
      `${seconds(best)} with ${best.attempts} requests when each is told its slot (ideal ${(best.idealMs / 1000).toFixed(1)} s).`,
  };
}

type Results = ReadonlyMap<Case, StormResult>;

/** Of several seeds the median number of attempts and the median time. */
async function runAll(cases: readonly Case[], clients: number, seeds: number, firstSeed: number): Promise<Results> {
  const results = new Map<Case, StormResult>();
  for (const one of cases) {
    const { run } = one;
    const patience = clients > 400 && run.client.deadline === undefined ? { deadline: "60s" as const } : {};
    const runs: StormResult[] = [];
    for (let seed = firstSeed; seed < firstSeed + (run.client === JITTER ? seeds : 1); seed++)
      runs.push(await runStorm({ ...run, client: { ...run.client, ...patience }, clients, seed }));
    const median = (pick: (result: StormResult) => number): StormResult =>
      runs.toSorted((a, b) => pick(a) - pick(b))[runs.length >> 1] as StormResult;
    const { attempts, attemptsPerClient } = median((result) => result.attempts);
    const failures = Math.max(...runs.map((result) => result.failures));
    results.set(one, { ...median((result) => result.lastDoneMs), attempts, attemptsPerClient, failures });
  }
  return results;
}

function table(clients: number, results: Results): Findings["tables"][number] {
  const rows = [...results].map(([{ told, client, seed }, result]) => {
    return [
      `${told}; ${client}`,
      result.attempts,
      result.attemptsPerClient,
      result.failures,
      result.lastDoneMs / 1000,
      overIdeal(result),
      result.densestAfterFirst,
      clients === 400 ? (seed ?? "") : "",
    ];
  });
  const patience = clients > 400 ? ", who give it 60 s" : `; median of ${SEEDS} seeds`;
  return {
    caption: `${clients.toLocaleString("en-US")} callers at once${patience}; 8 slots of 100 ms and a line of 16: 24 go in. Virtual time`,
    columns: [
      "told; client",
      "requests",
      "per caller",
      "failed",
      "last served, s",
      "of the ideal",
      "densest 50 ms",
      "the seed's",
    ],
    rows,
  };
}

function overIdeal({ lastDoneMs, idealMs }: StormResult): number {
  return lastDoneMs / idealMs;
}

function seconds({ lastDoneMs }: StormResult): string {
  return `${(lastDoneMs / 1000).toFixed(1)} s`;
}

const SHOWN_MS = 20_000;

function servedPlot(results: Results): LabPlot {
  return plotOf("400 callers at once: served so far", "served", results, ({ doneMs }) =>
    points(doneMs, (times, atMs) => times.filter((ms) => ms <= atMs).length),
  );
}

function arrivalsPlot(results: Results): LabPlot {
  return plotOf("400 callers at once: requests in each quarter of a second", "requests", results, ({ arrivalsMs }) =>
    points(arrivalsMs, (times, atMs) => times.filter((ms) => ms <= atMs && ms > atMs - STEP_MS).length),
  );
}

const STEP_MS = 250;

function points(times: readonly number[], count: (times: readonly number[], atMs: number) => number) {
  const all: [number, number][] = [];
  for (let atMs = 0; atMs <= SHOWN_MS; atMs += STEP_MS) all.push([atMs / 1000, count(times, atMs)]);
  return all;
}

function plotOf(
  title: string,
  yLabel: string,
  results: Results,
  pointsOf: (result: StormResult) => Series["points"],
): LabPlot {
  const series = [...results].map(([{ told, client }, result]) => ({
    name: `${told}; ${client}`,
    points: pointsOf(result),
  }));
  return { title, xLabel: "time in s", yLabel, series };
}
