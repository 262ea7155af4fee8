import { parseArgs } from "node:util";
import { outageRuns, stallRuns } from "./outages.ts";
import { newShareModel } from "./share-model.ts";
import { type SimulationOptions, type SimulationResult, simulate } from "./simulation.ts";
import { WORKLOADS, type Workload } from "./workloads.ts";

const USAGE = `npm run simulate -- [--quick] [--json] [--seed N] [--workload NAME]

Runs the real client code of N replicas on a virtual clock against one simulated store, and shows by how many tokens the worst
window was over burst + rate x length, how much of what an ideal bucket would admit was used, and what it cost.

  --workload NAME  only runs whose name in the table holds NAME, such as uniform, zipf, random, faults, outage, fixed-window
  --seed N         of the arrivals and the faults (1)
  --quick          shorter and fewer runs
  --json           one JSON document as the last line of stdout, the table on stderr

Exits with 1 when a run was over the limit, with 2 when no run has such a name.`;

const LEASE = { maxDrainMs: 50 };
const FAULTS = { lostRequest: 0.02, lostReply: 0.05, doubled: 0.02 };
const ACCIDENTS = { crashes: 0.3, sleeps: 0.3, clockSteps: 0.3, stalls: 0.2 };

/** The runs of the table: eight replicas under every load, and fewer and many more under some. */
function plan(quick: boolean, seed: number): SimulationOptions[] {
  const base = {
    limitPerSecond: 1000,
    burst: 200,
    seconds: quick ? 5 : 20,
    seed,
    roundTripMs: 1,
    lease: LEASE,
  } as const;
  const find = (name: string): Workload => WORKLOADS.find((workload) => workload.name === name) as Workload;
  const runs: SimulationOptions[] = WORKLOADS.map((workload) => ({ ...base, workload, replicas: 8 }));
  for (const replicas of [1, 2, 32]) {
    for (const name of ["uniform 2r", "uniform 0.8r", "one hot"])
      runs.push({ ...base, workload: find(name), replicas });
  }
  runs.push({ ...base, workload: find("uniform 0.8r"), replicas: 32, lease: false });
  runs.push({ ...base, workload: find("uniform 2r"), replicas: 8, lease: false });
  const many = { ...base, limitPerSecond: 20_000, burst: 4000, seconds: quick ? 2 : 5 };
  for (const name of ["uniform 2r", "one hot"]) runs.push({ ...many, workload: find(name), replicas: 1000 });
  if (!quick)
    for (const name of ["uniform 2r", "one hot"])
      runs.push({ ...many, seconds: 2, workload: find(name), replicas: 10_000 });
  runs.push(...windowRuns(base, quick));
  runs.push(...outageRuns(base, quick), ...stallRuns(base, quick));
  for (let i = 0; i < (quick ? 2 : 10); i++)
    runs.push({ ...base, workload: find("random"), replicas: 2 + (i % 7), seed: seed + i, roundTripMs: 1 + (i % 5) });
  for (let i = 0; i < (quick ? 3 : 20); i++) {
    const workload = WORKLOADS[i % WORKLOADS.length] as Workload;
    const hurt = { ...workload, name: `${workload.name}, faults` };
    runs.push({ ...base, workload: hurt, replicas: 2 + (i % 7), seed: seed + i, faults: FAULTS, accidents: ACCIDENTS });
  }
  return runs;
}

/** Windows of a second: with leases and without, large and small, and with calls that are lost. */
function windowRuns(base: Omit<SimulationOptions, "workload" | "replicas">, quick: boolean): SimulationOptions[] {
  const runs: SimulationOptions[] = [];
  for (const algorithm of ["fixed-window", "sliding-window-counter"] as const) {
    const run = (name: string, more: Partial<SimulationOptions> = {}): void => {
      const workload = WORKLOADS.find((one) => one.name === name) as Workload;
      const title = `${algorithm}, ${workload.name}${more.faults === undefined ? "" : ", faults"}`;
      runs.push({ ...base, algorithm, replicas: 8, ...more, workload: { ...workload, name: title } });
    };
    for (const name of ["uniform 2r", "uniform 0.8r", "one hot", "moving hot spot", "bursts 0.2 s", "random"])
      run(name);
    for (const lease of [false, base.lease] as const) run("uniform 2r", { lease, replicas: 4 });
    run("uniform 2r", { limitPerSecond: 100 });
    run("one hot", { limitPerSecond: 100, replicas: 4 });
    if (quick) continue;
    run("uniform 0.8r", { lease: false });
    run("random", { faults: FAULTS, accidents: { ...ACCIDENTS, clockSteps: 0 }, replicas: 4 });
  }
  return runs;
}

export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      json: { type: "boolean", default: false },
      quick: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
      seed: { type: "string", default: "1" },
      workload: { type: "string" },
    },
  });
  if (values.help) {
    process.stdout.write(`${USAGE}\n`);
    return 0;
  }
  const seed = Number(values.seed);
  if (!Number.isSafeInteger(seed)) throw new Error(`--seed must be a whole number, got ${values.seed}`);
  const chosen = plan(values.quick, seed).filter(({ workload }) => workload.name.includes(values.workload ?? ""));
  if (chosen.length === 0) {
    process.stderr.write(`No run has "${values.workload}" in its name: --help has some that do.\n`);
    return 2;
  }
  const out = values.json ? process.stderr : process.stdout;
  out.write(`${HEAD}\n`);
  const runs: SimulationResult[] = [];
  for (const options of chosen) {
    const result = await simulate(options, await newShareModel());
    runs.push(result);
    out.write(`${rowOf(result)}\n`);
  }
  const over = runs.filter((run) => run.over > 0);
  out.write(`${runs.length} runs, ${over.length === 0 ? "none" : over.length} over the limit\n`);
  if (values.json) process.stdout.write(`${JSON.stringify({ runs })}\n`);
  return over.length === 0 ? 0 : 1;
}

const HEAD =
  "workload                                      replicas  mode   over    used %   calls/decision  wait p99 ms  Jain   degraded  seed";

function rowOf(r: SimulationResult): string {
  return [
    r.workload.padEnd(46),
    String(r.replicas).padStart(7),
    `  ${r.mode}`,
    r.over.toFixed(2).padStart(7),
    (100 * r.utilisation).toFixed(2).padStart(9),
    r.callsPerDecision.toFixed(4).padStart(15),
    r.waitP99Ms.toFixed(2).padStart(13),
    r.jain.toFixed(3).padStart(8),
    String(r.degraded).padStart(9),
    String(r.seed).padStart(6),
    ...(r.outage === undefined ? [] : [outageOf(r.outage)]),
    ...(r.probesPerStall === undefined ? [] : [`  ${r.probesPerStall.toFixed(1)} probes a stall`]),
  ].join(" ");
}

function outageOf({ used, usedAfter, backMs }: NonNullable<SimulationResult["outage"]>): string {
  const [during, after] = [used, usedAfter].map((part) => (100 * part).toFixed(1));
  return `  used ${during} % while away, ${after} % after, back in ${(backMs / 1000).toFixed(2)} s`;
}
